import torch
import triton
import triton.language as tl


@triton.jit
def qr_kernel(
    a_ptr, q_ptr, r_ptr, m, n, q_cols, r_rows,
    a_stride_batch, a_stride_row, a_stride_col,
    q_stride_batch, q_stride_row, q_stride_col, r_stride_batch, r_stride_row, r_stride_col,
    WITH_Q: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_Q: tl.constexpr,
):  # fmt: skip
    """Householder QR of one matrix a program, in registers; reflectors are kept below the diagonal."""
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    a = tl.load(a_ptr + batch * a_stride_batch + offs, mask=(rows < m)[:, None] & (cols < n)[None, :], other=0.0)

    steps = tl.minimum(m, n)
    scales = tl.zeros((BLOCK_N,), dtype=a_ptr.dtype.element_ty)
    for k in range(steps):
        col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
        top = tl.sum(tl.where(rows == k, col, 0.0), axis=0)
        below = tl.where(rows > k, col, 0.0)
        rest = tl.sum(below * below, axis=0)
        norm = tl.sqrt(top * top + rest)
        # away from zero, so that nothing cancels in top - head
        head = tl.where(top > 0.0, -norm, norm)
        zero = rest == 0.0
        head = tl.where(zero, top, head)
        reflector = tl.where(rows == k, 1.0, below / tl.where(zero, 1.0, top - head))
        scale = tl.where(zero, 0.0, (head - top) / tl.where(zero, 1.0, head))
        product = scale * tl.sum(reflector[:, None] * a, axis=0)
        a -= reflector[:, None] * tl.where(cols > k, product, 0.0)[None, :]
        done = tl.where(rows == k, head, tl.where(rows > k, reflector, col))
        a = tl.where(cols[None, :] == k, done[:, None], a)
        scales = tl.where(cols == k, scale, scales)

    upper = tl.where(cols[None, :] >= rows[:, None], a, 0.0)
    r_offs = rows[:, None] * r_stride_row + cols[None, :] * r_stride_col
    inside = (rows < r_rows)[:, None] & (cols < n)[None, :]
    tl.store(r_ptr + batch * r_stride_batch + r_offs, upper, mask=inside)
    if WITH_Q:
        q_span = tl.arange(0, BLOCK_Q)
        q = tl.where(rows[:, None] == q_span[None, :], 1.0, 0.0).to(a.dtype)
        for i in range(steps):
            k = steps - 1 - i
            col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
            scale = tl.sum(tl.where(cols == k, scales, 0.0), axis=0)
            reflector = tl.where(rows == k, 1.0, tl.where(rows > k, col, 0.0))
            product = scale * tl.sum(reflector[:, None] * q, axis=0)
            q -= reflector[:, None] * product[None, :]
        q_offs = rows[:, None] * q_stride_row + q_span[None, :] * q_stride_col
        inside = (rows < m)[:, None] & (q_span < q_cols)[None, :]
        tl.store(q_ptr + batch * q_stride_batch + q_offs, q, mask=inside)


def as_batch(x):
    """A view with one batch dimension, or a copy where the strides don't permit one."""
    shape = (-1, x.shape[-2], x.shape[-1])
    try:
        return x.view(shape)
    except RuntimeError:
        return x.contiguous().view(shape)


def qr(A, mode="reduced", out=None):
    *batch, m, n = A.shape
    k = min(m, n)
    q_cols, r_rows = (m, m) if mode == "complete" else (k, k)
    if out is None:
        Q = torch.empty((0,) if mode == "r" else (*batch, m, q_cols), dtype=A.dtype, device=A.device)
        R = torch.empty((*batch, r_rows, n), dtype=A.dtype, device=A.device)
    else:
        Q, R = out
    a, r = as_batch(A), as_batch(R)
    q = r if mode == "r" else as_batch(Q)
    BLOCK_M, BLOCK_N, BLOCK_Q = (max(16, triton.next_power_of_2(size)) for size in (m, n, q_cols))
    qr_kernel[(a.shape[0],)](
        a, q, r, m, n, q_cols, r_rows,
        a.stride(0), a.stride(1), a.stride(2),
        q.stride(0), q.stride(1), q.stride(2), r.stride(0), r.stride(1), r.stride(2),
        WITH_Q=mode != "r", BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_Q=BLOCK_Q,
        num_warps=2 if BLOCK_M * BLOCK_N <= 1024 else 8 if BLOCK_M * BLOCK_Q <= 4096 else 16,
    )  # fmt: skip
    return Q, R
