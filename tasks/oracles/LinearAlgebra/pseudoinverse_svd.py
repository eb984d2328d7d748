import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=range(2, 13))
def pseudoinverse_kernel(
    a_ptr, y_ptr, m, n, rounds, tolerance, rcond,
    a_stride_batch, a_stride_row, a_stride_col, y_stride_batch, y_stride_row, y_stride_col, BLOCK: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    w = tl.load(a_ptr + batch * a_stride_batch + offs, mask=mask, other=0.0)
    v = tl.where(rows[:, None] == cols[None, :], 1.0, 0.0).to(w.dtype)

    # one-sided Jacobi: w = a @ v; a round turns the disjoint pairs (j, j xor step) until all columns are orthogonal
    turns = 1
    sweep = 0
    while (turns > 0) & (sweep < 30):
        turned = cols < 0
        for step in range(1, rounds):
            partner = cols ^ step
            index = tl.broadcast_to(partner[None, :], (BLOCK, BLOCK))
            w_partner = tl.gather(w, index, 1)
            v_partner = tl.gather(v, index, 1)
            own = tl.sqrt(tl.sum(w * w, axis=0))
            other = tl.gather(own, partner, 0)
            inner = tl.sum(w * w_partner, axis=0)
            turn = tl.abs(inner) > tolerance * own * other
            turned |= turn
            zeta = 0.5 * (other - own) * (other + own) / tl.where(turn, inner, 1.0)
            up = (zeta > 0) | ((zeta == 0) & (cols < partner))
            root = tl.sqrt(1.0 + zeta * zeta)
            t = tl.where(turn, tl.where(up, 1.0, -1.0) / (tl.abs(zeta) + root), 0.0)
            # w - s * (...) in place of c * w - s * w_partner: rounding then hardly hurts the lengths
            root = tl.sqrt(1.0 + t * t)
            s = (t / root)[None, :]
            tau = (t / (1.0 + root))[None, :]
            w -= s * (w_partner + tau * w)
            v -= s * (v_partner + tau * v)
        turns = tl.sum(turned.to(tl.int32), axis=0)
        sweep += 1

    sigma = tl.sqrt(tl.sum(w * w, axis=0))
    kept = sigma > rcond * tl.max(sigma, axis=0)
    inverse = tl.where(kept, 1.0 / tl.where(kept, sigma, 1.0), 0.0)
    u = w * inverse[None, :]
    y = tl.dot(v * inverse[None, :], tl.trans(u), input_precision="ieee")
    # y has the shape of the transposed matrix
    y_offs = rows[:, None] * y_stride_row + cols[None, :] * y_stride_col
    y_mask = (rows[:, None] < n) & (cols[None, :] < m)
    tl.store(y_ptr + batch * y_stride_batch + y_offs, y, mask=y_mask)


def pseudoinverse_svd(A, full_matrices=True, rcond=1e-15, out=None):
    *batch, m, n = A.shape
    if out is None:
        out = torch.empty((*batch, n, m), dtype=A.dtype, device=A.device)
    a, y = A.reshape(-1, m, n), out.view(-1, n, m)
    if m < n:
        a, y = a.transpose(1, 2), y.transpose(1, 2)
    big, small = max(m, n), min(m, n)
    block = max(16, triton.next_power_of_2(big))
    tolerance = 2 * torch.finfo(A.dtype).eps * big**0.5
    pseudoinverse_kernel[(a.shape[0],)](
        a, y, big, small, triton.next_power_of_2(small), tolerance, rcond,
        a.stride(0), a.stride(1), a.stride(2), y.stride(0), y.stride(1), y.stride(2),
        BLOCK=block, num_warps=4 if block <= 32 else 8,
    )  # fmt: skip
    return out
