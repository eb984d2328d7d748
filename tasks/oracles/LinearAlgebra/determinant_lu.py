import torch
import triton
import triton.language as tl


@triton.jit
def determinant_kernel(
    a_ptr, d_ptr, n, a_stride_batch, a_stride_row, a_stride_col, PIVOT: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Elimination of one matrix a program, in registers; rows stay where they are."""
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    a = tl.load(a_ptr + batch * a_stride_batch + offs, mask=(rows < n)[:, None] & (cols < n)[None, :], other=0.0)

    free = rows < n
    det = tl.full((), 1.0, a_ptr.dtype.element_ty)
    for k in range(n):
        col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
        best = k
        if PIVOT:
            best = tl.argmax(tl.where(free, tl.abs(col), -1.0), axis=0)
        chosen = rows == best
        row = tl.sum(tl.where(chosen[:, None], a, 0.0), axis=0)
        pivot = tl.sum(tl.where(chosen, col, 0.0), axis=0)
        # as many inversions of the row permutation as free rows stand above the chosen one
        above = tl.sum((free & (rows < best)).to(tl.int32), axis=0)
        det *= tl.where(above % 2 == 1, -pivot, pivot)
        free = free & ~chosen
        factor = tl.where(free, col / pivot, 0.0)
        if PIVOT:
            # the largest candidate is zero where all of them are, and there is nothing to eliminate
            factor = tl.where(pivot == 0.0, 0.0, factor)
        a -= factor[:, None] * tl.where(cols > k, row, 0.0)[None, :]
    tl.store(d_ptr + batch, det)


def determinant_lu(A, *, pivot=True, out=None):
    n = A.shape[-1]
    y = torch.empty(A.shape[:-2], dtype=A.dtype, device=A.device) if out is None else out
    try:
        a = A.view(-1, n, n)
    except RuntimeError:
        a = A.contiguous().view(-1, n, n)
    BLOCK = max(16, triton.next_power_of_2(n))
    grid = (a.shape[0],)
    determinant_kernel[grid](
        a, y, n, a.stride(0), a.stride(1), a.stride(2), PIVOT=pivot, BLOCK=BLOCK, num_warps=2 if BLOCK <= 32 else 8
    )  # fmt: skip
    return y
