import torch
import triton
import triton.language as tl


@triton.jit
def invert_kernel(
    a_ptr, x_ptr, n, a_stride_batch, a_stride_row, a_stride_col, x_stride_batch, x_stride_row, x_stride_col,
    PIVOT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One matrix a program, in registers. Rows stay where they are: `place` says as which pivot each served."""
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    a = tl.load(a_ptr + batch * a_stride_batch + offs, mask=(rows < n)[:, None] & (cols < n)[None, :], other=0.0)
    x = tl.where(rows[:, None] == cols[None, :], 1.0, 0.0).to(a.dtype)

    place = tl.where(rows >= n, BLOCK + 1, BLOCK)
    for k in range(n):
        col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
        free = place == BLOCK
        best = k
        if PIVOT:
            best = tl.argmax(tl.where(free, tl.abs(col), -1.0), axis=0)
        chosen = rows == best
        pivot = tl.sum(tl.where(chosen, col, 0.0), axis=0)
        factor = tl.where(free & ~chosen, col / pivot, 0.0)
        a_row = tl.sum(tl.where(chosen[:, None], a, 0.0), axis=0)
        x_row = tl.sum(tl.where(chosen[:, None], x, 0.0), axis=0)
        a -= factor[:, None] * tl.where(cols > k, a_row, 0.0)[None, :]
        x -= factor[:, None] * x_row[None, :]
        place = tl.where(chosen, k, place)

    for i in range(n):
        k = n - 1 - i
        col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
        chosen = place == k
        pivot = tl.sum(tl.where(chosen, col, 0.0), axis=0)
        x_row = tl.sum(tl.where(chosen[:, None], x, 0.0), axis=0) / pivot
        factor = tl.where(place < k, col, 0.0)
        x = tl.where(chosen[:, None], x_row[None, :], x - factor[:, None] * x_row[None, :])

    offs = place[:, None] * x_stride_row + cols[None, :] * x_stride_col
    tl.store(x_ptr + batch * x_stride_batch + offs, x, mask=(rows < n)[:, None] & (cols < n)[None, :])


def as_batch(x):
    """A view with one batch dimension, or a copy where the strides don't permit one."""
    shape = (-1, x.shape[-2], x.shape[-1])
    try:
        return x.view(shape)
    except RuntimeError:
        return x.contiguous().view(shape)


def invert_matrix_lu(A, *, pivot=True, out=None):
    n = A.shape[-1]
    y = torch.empty(A.shape, dtype=A.dtype, device=A.device) if out is None else out
    a, x = as_batch(A), as_batch(y)
    BLOCK = max(16, triton.next_power_of_2(n))
    grid = (a.shape[0],)
    invert_kernel[grid](
        a, x, n, a.stride(0), a.stride(1), a.stride(2), x.stride(0), x.stride(1), x.stride(2),
        PIVOT=pivot, BLOCK=BLOCK, num_warps=4 if BLOCK <= 32 else BLOCK // 8,
    )  # fmt: skip
    return y
