import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=range(4, 18))
def svd_kernel(
    a_ptr, u_ptr, s_ptr, v_ptr, m, n, u_cols, rounds, tolerance,
    a_stride_batch, a_stride_row, a_stride_col, u_stride_batch, u_stride_row, u_stride_col,
    v_stride_batch, v_stride_row, v_stride_col, BLOCK: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    w = tl.load(a_ptr + batch * a_stride_batch + offs, mask=mask, other=0.0)
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

    sigma = tl.where(cols < n, tl.sqrt(tl.sum(w * w, axis=0)), -1.0)
    tied = (sigma[:, None] == sigma[None, :]) & (rows[:, None] < cols[None, :])
    place = tl.sum(((sigma[:, None] > sigma[None, :]) | tied).to(tl.int32), axis=0)
    tl.store(s_ptr + batch * n + place, sigma, mask=cols < n)
    v_offs = rows[:, None] * v_stride_row + place[None, :] * v_stride_col
    tl.store(v_ptr + batch * v_stride_batch + v_offs, v, mask=(rows[:, None] < n) & (cols[None, :] < n))

    # columns without a direction of their own: what is left of the unit vector that lies least in the basis
    missing = ((cols < u_cols) & (sigma <= 1e-14 * tl.max(sigma, axis=0))).to(tl.int32)
    u = tl.where(missing[None, :] > 0, 0.0, w / tl.where(sigma > 0, sigma, 1.0)[None, :])
    for _ in range(tl.sum(missing, axis=0)):
        col = tl.min(tl.where(missing > 0, cols, BLOCK), axis=0)
        inside = tl.where(rows < m, tl.sum(u * u, axis=1), 2.0)
        least = tl.min(inside, axis=0)
        row = tl.min(tl.where(inside == least, rows, BLOCK), axis=0)
        x = tl.where(rows == row, 1.0, 0.0)
        for _ in range(2):
            x -= tl.sum(u * tl.sum(u * x[:, None], axis=0)[None, :], axis=1)
        x = x / tl.sqrt(tl.sum(x * x, axis=0))
        u = tl.where(cols[None, :] == col, x[:, None], u)
        missing = tl.where(cols == col, 0, missing)
    u_offs = rows[:, None] * u_stride_row + place[None, :] * u_stride_col
    tl.store(u_ptr + batch * u_stride_batch + u_offs, u, mask=(rows[:, None] < m) & (cols[None, :] < u_cols))


def svd(A, full_matrices=True):
    *batch, m, n = A.shape
    k = min(m, n)
    U = torch.empty((*batch, m, m if full_matrices else k), dtype=A.dtype, device=A.device)
    S = torch.empty((*batch, k), dtype=A.dtype, device=A.device)
    V = torch.empty((*batch, n, n if full_matrices else k), dtype=A.dtype, device=A.device)
    a, u, v = A.reshape(-1, m, n), U.view(-1, *U.shape[-2:]), V.view(-1, *V.shape[-2:])
    if m < n:
        # the factors of the transposed matrix are those of the matrix, exchanged
        a, u, v = a.transpose(1, 2), v, u
    big = max(m, n)
    block = max(16, triton.next_power_of_2(big))
    svd_kernel[(a.shape[0],)](
        a, u, S, v, big, k, u.shape[-1], triton.next_power_of_2(k), 2.4e-7 * big**0.5,
        a.stride(0), a.stride(1), a.stride(2), u.stride(0), u.stride(1), u.stride(2),
        v.stride(0), v.stride(1), v.stride(2), BLOCK=block, num_warps=4 if block <= 32 else 8,
    )  # fmt: skip
    return U, S, V
