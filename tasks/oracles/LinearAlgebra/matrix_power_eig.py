import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=range(3, 12))
def matrix_power_kernel(
    a_ptr, k_ptr, y_ptr, n, rounds, tolerance,
    a_stride_batch, a_stride_row, a_stride_col, y_stride_batch, y_stride_row, y_stride_col, BLOCK: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < n) & (cols[None, :] < n)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    a = tl.load(a_ptr + batch * a_stride_batch + offs, mask=mask, other=0.0)
    diagonal = rows[:, None] == cols[None, :]
    v = tl.where(diagonal, 1.0, 0.0).to(a.dtype)
    least = tolerance * tl.sqrt(tl.sum(a * a))

    # cyclic Jacobi: v^T a v becomes diagonal; a round turns the disjoint pairs (j, j xor step)
    turns = 1
    sweep = 0
    while (turns > 0) & (sweep < 30):
        turned = cols < 0
        for step in range(1, rounds):
            partner = cols ^ step
            across = tl.broadcast_to(partner[None, :], (BLOCK, BLOCK))
            down = tl.broadcast_to(partner[:, None], (BLOCK, BLOCK))
            own = tl.sum(tl.where(diagonal, a, 0.0), axis=0)
            other = tl.gather(own, partner, 0)
            corner = tl.sum(tl.where(rows[:, None] == partner[None, :], a, 0.0), axis=0)
            # rounding leaves a not quite symmetric, and both columns of a pair must turn by the same angle
            first = cols < partner
            corner = tl.where(first, corner, tl.gather(corner, partner, 0))
            turn = tl.abs(corner) > least
            turned |= turn
            zeta = 0.5 * (other - own) / tl.where(turn, corner, 1.0)
            up = (zeta > 0) | ((zeta == 0) & first)
            t = tl.where(up, 1.0, -1.0) / (tl.abs(zeta) + tl.sqrt(1.0 + zeta * zeta))
            t = tl.where(turn, t, 0.0)
            root = tl.sqrt(1.0 + t * t)
            s = t / root
            tau = t / (1.0 + root)
            a -= s[None, :] * (tl.gather(a, across, 1) + tau[None, :] * a)
            a -= s[:, None] * (tl.gather(a, down, 0) + tau[:, None] * a)
            v -= s[None, :] * (tl.gather(v, across, 1) + tau[None, :] * v)
        turns = tl.sum(turned.to(tl.int32), axis=0)
        sweep += 1

    # few numbers: float64 costs nothing and keeps the exponential exact
    k = tl.load(k_ptr)
    value = tl.where(cols < n, tl.sum(tl.where(diagonal, a, 0.0), axis=0).to(tl.float64), 1.0)
    power = tl.where(k == 0, 1.0, tl.exp(k * tl.log(tl.abs(value))))
    odd = k - 2.0 * tl.floor(0.5 * k) == 1.0
    whole = tl.floor(k) == k
    power = tl.where(value < 0, tl.where(whole, tl.where(odd, -power, power), float("nan")), power)
    scaled = v * tl.where(cols < n, power, 0.0).to(v.dtype)[None, :]
    y = tl.dot(scaled, tl.trans(v), input_precision="ieee")
    y_offs = rows[:, None] * y_stride_row + cols[None, :] * y_stride_col
    tl.store(y_ptr + batch * y_stride_batch + y_offs, y, mask=mask)


def matrix_power_eig(A: torch.Tensor, k: float, *, out: torch.Tensor = None) -> torch.Tensor:
    n = A.shape[-1]
    if out is None:
        out = torch.empty(A.shape, dtype=A.dtype, device=A.device)
    a, y = A.reshape(-1, n, n), out.view(-1, n, n)
    exponent = torch.full((1,), float(k), dtype=torch.float64, device=A.device)
    block = max(16, triton.next_power_of_2(n))
    matrix_power_kernel[(a.shape[0],)](
        a, exponent, y, n, triton.next_power_of_2(n), torch.finfo(A.dtype).eps / 8,
        a.stride(0), a.stride(1), a.stride(2), y.stride(0), y.stride(1), y.stride(2),
        BLOCK=block, num_warps=4 if block <= 32 else 8,
    )  # fmt: skip
    return out
