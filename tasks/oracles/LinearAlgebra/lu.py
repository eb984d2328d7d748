import torch
import triton
import triton.language as tl


@triton.jit
def lu_kernel(
    a_ptr, p_ptr, l_ptr, u_ptr, m, n,
    a_stride_batch, a_stride_row, a_stride_col, p_stride_batch, p_stride_row, p_stride_col,
    l_stride_batch, l_stride_row, l_stride_col, u_stride_batch, u_stride_row, u_stride_col,
    PIVOT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """One matrix a program, in registers. Rows stay where they are: `place` says which row of L and U each becomes."""
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    a = tl.load(a_ptr + batch * a_stride_batch + offs, mask=(rows < m)[:, None] & (cols < n)[None, :], other=0.0)

    steps = tl.minimum(m, n)
    place = tl.where(rows >= m, BLOCK_M + 1, BLOCK_M)
    for k in range(steps):
        col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
        free = place == BLOCK_M
        best = k
        if PIVOT:
            best = tl.argmax(tl.where(free, tl.abs(col), -1.0), axis=0)
        chosen = rows == best
        row = tl.sum(tl.where(chosen[:, None], a, 0.0), axis=0)
        pivot = tl.sum(tl.where(chosen, col, 0.0), axis=0)
        # a column of zeros has the pivot zero, and nothing to eliminate
        factor = tl.where(free & ~chosen & (col != 0.0), col / pivot, 0.0)
        left = (free & ~chosen)[:, None] & (cols == k)[None, :]
        a = tl.where(left, factor[:, None], a - factor[:, None] * tl.where(cols > k, row, 0.0)[None, :])
        place = tl.where(chosen, k, place)

    # rows that never held a pivot follow in their own order
    free = place == BLOCK_M
    place = tl.where(free, steps + tl.cumsum(free.to(tl.int32), axis=0) - 1, place)
    diagonal = cols[None, :] == place[:, None]
    lower = tl.where(cols[None, :] < place[:, None], a, tl.where(diagonal, 1.0, 0.0))
    upper = tl.where(cols[None, :] >= place[:, None], a, 0.0)
    l_offs = place[:, None] * l_stride_row + cols[None, :] * l_stride_col
    u_offs = place[:, None] * u_stride_row + cols[None, :] * u_stride_col
    inside = (rows < m)[:, None] & (cols < steps)[None, :]
    tl.store(l_ptr + batch * l_stride_batch + l_offs, lower, mask=inside)
    tl.store(u_ptr + batch * u_stride_batch + u_offs, upper, mask=(place < steps)[:, None] & (cols < n)[None, :])
    if PIVOT:
        spots = tl.arange(0, BLOCK_M)
        p_offs = rows[:, None] * p_stride_row + spots[None, :] * p_stride_col
        ones = tl.where(spots[None, :] == place[:, None], 1.0, 0.0)
        inside = (rows < m)[:, None] & (spots < m)[None, :]
        tl.store(p_ptr + batch * p_stride_batch + p_offs, ones, mask=inside)


def as_batch(x):
    """A view with one batch dimension, or a copy where the strides don't permit one."""
    shape = (-1, x.shape[-2], x.shape[-1])
    try:
        return x.view(shape)
    except RuntimeError:
        return x.contiguous().view(shape)


def lu(A, pivot=True, out=None):
    *batch, m, n = A.shape
    k = min(m, n)
    if out is None:
        P = torch.empty((*batch, m, m) if pivot else (0,), dtype=A.dtype, device=A.device)
        L = torch.empty((*batch, m, k), dtype=A.dtype, device=A.device)
        U = torch.empty((*batch, k, n), dtype=A.dtype, device=A.device)
    else:
        P, L, U = out
    a, lower, upper = as_batch(A), as_batch(L), as_batch(U)
    p = as_batch(P) if pivot else lower
    BLOCK_M, BLOCK_N = (max(16, triton.next_power_of_2(size)) for size in (m, n))
    lu_kernel[(a.shape[0],)](
        a, p, lower, upper, m, n,
        a.stride(0), a.stride(1), a.stride(2), p.stride(0), p.stride(1), p.stride(2),
        lower.stride(0), lower.stride(1), lower.stride(2), upper.stride(0), upper.stride(1), upper.stride(2),
        PIVOT=pivot, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, num_warps=2 if BLOCK_M * BLOCK_N <= 1024 else 8,
    )  # fmt: skip
    return P, L, U
