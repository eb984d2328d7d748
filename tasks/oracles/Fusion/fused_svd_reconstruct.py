import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=range(2, 12))
def reconstruct_kernel(
    a_ptr, y_ptr, m, n, rounds, tolerance,
    a_stride_batch, a_stride_row, a_stride_col, y_stride_batch, y_stride_row, y_stride_col, BLOCK: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    a = tl.load(a_ptr + batch * a_stride_batch + offs, mask=mask, other=0.0)
    # NaN and infinity would spread through every factor
    broken = tl.sum(1 - (tl.abs(a) < float("inf")).to(tl.int32))
    w = tl.where(broken > 0, 0.0, a)
    v = tl.where(rows[:, None] == cols[None, :], 1.0, 0.0)

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
            zeta = (other - own) * (other + own) / tl.where(turn, inner + inner, 1.0)
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
    u = w / tl.where(sigma > 0, sigma, 1.0)[None, :]
    y = tl.dot(u * sigma[None, :], tl.trans(v), input_precision="ieee")
    y = tl.where(broken > 0, float("nan"), y)
    y_offs = rows[:, None] * y_stride_row + cols[None, :] * y_stride_col
    tl.store(y_ptr + batch * y_stride_batch + y_offs, y, mask=mask)


def fused_svd_reconstruct(A: torch.Tensor):
    *_, m, n = A.shape
    out = torch.empty(A.shape, dtype=A.dtype, device=A.device)
    a, y = A.reshape(-1, m, n), out.view(-1, m, n)
    if m < n:
        a, y = a.transpose(1, 2), y.transpose(1, 2)
    big, k = max(m, n), min(m, n)
    block = max(16, triton.next_power_of_2(big))
    reconstruct_kernel[(a.shape[0],)](
        a, y, big, k, triton.next_power_of_2(k), 2.4e-7 * big**0.5,
        a.stride(0), a.stride(1), a.stride(2), y.stride(0), y.stride(1), y.stride(2),
        BLOCK=block, num_warps=4 if block <= 32 else 8,
    )  # fmt: skip
    return out
