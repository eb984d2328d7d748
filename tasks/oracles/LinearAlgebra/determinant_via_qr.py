import torch
import triton
import triton.language as tl


@triton.jit
def determinant_kernel(a_ptr, d_ptr, n, a_stride_batch, a_stride_row, a_stride_col, BLOCK: tl.constexpr):
    """Householder reflections of one matrix a program, in registers."""
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    a = tl.load(a_ptr + batch * a_stride_batch + offs, mask=(rows < n)[:, None] & (cols < n)[None, :], other=0.0)

    det = tl.full((), 1.0, a_ptr.dtype.element_ty)
    for k in range(n):
        col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
        top = tl.sum(tl.where(rows == k, col, 0.0), axis=0)
        below = tl.where(rows > k, col, 0.0)
        rest = tl.sum(below * below, axis=0)
        norm = tl.sqrt(top * top + rest)
        # away from zero, so that nothing cancels in top - head
        head = tl.where(top > 0.0, -norm, norm)
        zero = rest == 0.0
        reflector = tl.where(rows == k, 1.0, below / tl.where(zero, 1.0, top - head))
        scale = tl.where(zero, 0.0, (head - top) / tl.where(zero, 1.0, head))
        # each reflection turns the sign; a column that is zero below the diagonal needs none
        det *= tl.where(zero, top, -head)
        product = scale * tl.sum(reflector[:, None] * a, axis=0)
        a -= reflector[:, None] * tl.where(cols > k, product, 0.0)[None, :]
    tl.store(d_ptr + batch, det)


def determinant_via_qr(A, *, mode="reduced", out=None):
    n = A.shape[-1]
    y = torch.empty(A.shape[:-2], dtype=A.dtype, device=A.device) if out is None else out
    try:
        a = A.view(-1, n, n)
    except RuntimeError:
        a = A.contiguous().view(-1, n, n)
    BLOCK = max(16, triton.next_power_of_2(n))
    grid = (a.shape[0],)
    determinant_kernel[grid](
        a, y, n, a.stride(0), a.stride(1), a.stride(2), BLOCK=BLOCK, num_warps=2 if BLOCK <= 32 else 8
    )  # fmt: skip
    return y
