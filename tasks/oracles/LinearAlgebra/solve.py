import torch
import triton
import triton.language as tl


@triton.jit
def solve_kernel(
    a_ptr, b_ptr, x_ptr, n, columns,
    a_stride_batch, a_stride_row, a_stride_col, b_stride_batch, b_stride_row, b_stride_col,
    BLOCK: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Eliminates one matrix with a block of right-hand sides, in registers. Rows stay where they are: `place` says as
    which pivot each served."""
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    sides = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    a = tl.load(a_ptr + batch * a_stride_batch + offs, mask=(rows < n)[:, None] & (cols < n)[None, :], other=0.0)
    offs = rows[:, None] * b_stride_row + sides[None, :] * b_stride_col
    b = tl.load(b_ptr + batch * b_stride_batch + offs, mask=(rows < n)[:, None] & (sides < columns)[None, :], other=0.0)

    place = tl.where(rows >= n, BLOCK + 1, BLOCK)
    for k in range(n):
        col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
        free = place == BLOCK
        best = tl.argmax(tl.where(free, tl.abs(col), -1.0), axis=0)
        chosen = rows == best
        pivot = tl.sum(tl.where(chosen, col, 0.0), axis=0)
        factor = tl.where(free & ~chosen, col / pivot, 0.0)
        a_row = tl.sum(tl.where(chosen[:, None], a, 0.0), axis=0)
        b_row = tl.sum(tl.where(chosen[:, None], b, 0.0), axis=0)
        a -= factor[:, None] * a_row[None, :]
        b -= factor[:, None] * b_row[None, :]
        place = tl.where(chosen, k, place)

    for i in range(n):
        k = n - 1 - i
        col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
        chosen = place == k
        pivot = tl.sum(tl.where(chosen, col, 0.0), axis=0)
        x = tl.sum(tl.where(chosen[:, None], b, 0.0), axis=0) / pivot
        factor = tl.where(place < k, col, 0.0)
        b = tl.where(chosen[:, None], x[None, :], b - factor[:, None] * x[None, :])

    offs = (batch * n + place[:, None]) * columns + sides[None, :]
    tl.store(x_ptr + offs, b, mask=(rows < n)[:, None] & (sides < columns)[None, :])


def as_batch(x):
    """A view with one batch dimension, or a copy where the strides don't permit one."""
    shape = (-1, x.shape[-2], x.shape[-1])
    try:
        return x.view(shape)
    except RuntimeError:
        return x.contiguous().view(shape)


def solve(A, B):
    vector = B.dim() == 1 or B.shape == A.shape[:-1]
    b = B.unsqueeze(-1) if vector else B
    n, columns = b.shape[-2:]
    batch = torch.broadcast_shapes(A.shape[:-2], b.shape[:-2])
    X = torch.empty(B.shape if vector else (*batch, n, columns), dtype=B.dtype, device=B.device)
    a, b = as_batch(A.expand(*batch, n, n)), as_batch(b.expand(*batch, n, columns))
    BLOCK = max(16, triton.next_power_of_2(n))
    BLOCK_K = min(32, max(2, triton.next_power_of_2(columns)))
    grid = (a.shape[0], triton.cdiv(columns, BLOCK_K))
    solve_kernel[grid](
        a, b, X, n, columns, a.stride(0), a.stride(1), a.stride(2), b.stride(0), b.stride(1), b.stride(2),
        BLOCK=BLOCK, BLOCK_K=BLOCK_K, num_warps=2 if BLOCK <= 32 else 8,
    )  # fmt: skip
    return X
