import torch
import triton
import triton.language as tl


@triton.jit
def cholesky_solve_kernel(
    b_ptr, l_ptr, x_ptr, n, columns,
    b_stride_batch, b_stride_row, b_stride_col, l_stride_batch, l_stride_row, l_stride_col,
    x_stride_batch, x_stride_row, x_stride_col, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Substitutes forwards, then backwards, for a block of right-hand sides of one matrix, in registers."""
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    sides = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    offs = rows[:, None] * l_stride_row + cols[None, :] * l_stride_col
    triangle = (rows < n)[:, None] & (cols[None, :] <= rows[:, None])
    lower = tl.load(l_ptr + batch * l_stride_batch + offs, mask=triangle, other=0.0)
    offs = rows[:, None] * b_stride_row + sides[None, :] * b_stride_col
    b = tl.load(b_ptr + batch * b_stride_batch + offs, mask=(rows < n)[:, None] & (sides < columns)[None, :], other=0.0)

    for k in range(n):
        col = tl.sum(tl.where(cols[None, :] == k, lower, 0.0), axis=1)
        chosen = rows == k
        pivot = tl.sum(tl.where(chosen, col, 0.0), axis=0)
        x = tl.sum(tl.where(chosen[:, None], b, 0.0), axis=0) / pivot
        b = tl.where(chosen[:, None], x[None, :], b - tl.where(chosen, 0.0, col)[:, None] * x[None, :])

    # the factor with rows for columns, since a sum over rows would come out along the wrong dimension
    upper = tl.trans(lower)
    for i in range(n):
        k = n - 1 - i
        row = tl.sum(tl.where(cols[None, :] == k, upper, 0.0), axis=1)
        chosen = rows == k
        pivot = tl.sum(tl.where(chosen, row, 0.0), axis=0)
        x = tl.sum(tl.where(chosen[:, None], b, 0.0), axis=0) / pivot
        b = tl.where(chosen[:, None], x[None, :], b - tl.where(chosen, 0.0, row)[:, None] * x[None, :])

    offs = rows[:, None] * x_stride_row + sides[None, :] * x_stride_col
    tl.store(x_ptr + batch * x_stride_batch + offs, b, mask=(rows < n)[:, None] & (sides < columns)[None, :])


def as_batch(x):
    """A view with one batch dimension, or a copy where the strides don't permit one."""
    shape = (-1, x.shape[-2], x.shape[-1])
    try:
        return x.view(shape)
    except RuntimeError:
        return x.contiguous().view(shape)


def cholesky_solve(B, L, upper=False, out=None):
    y = torch.empty(B.shape, dtype=B.dtype, device=B.device) if out is None else out
    n, columns = B.shape[-2:]
    # the transpose of an upper factor is a lower one
    b, lower, x = as_batch(B), as_batch(L.mT if upper else L), as_batch(y)
    BLOCK = max(16, triton.next_power_of_2(n))
    BLOCK_K = min(32, max(2, triton.next_power_of_2(columns)))
    grid = (b.shape[0], triton.cdiv(columns, BLOCK_K))
    cholesky_solve_kernel[grid](
        b, lower, x, n, columns, b.stride(0), b.stride(1), b.stride(2),
        lower.stride(0), lower.stride(1), lower.stride(2), x.stride(0), x.stride(1), x.stride(2),
        BLOCK=BLOCK, BLOCK_K=BLOCK_K, num_warps=2 if BLOCK <= 32 else 8,
    )  # fmt: skip
    return y
