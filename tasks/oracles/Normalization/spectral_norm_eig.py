import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=range(2, 6))
def spectral_radius_kernel(
    a_ptr, y_ptr, n, a_stride_batch, a_stride_row, a_stride_col, BLOCK: tl.constexpr, SQUARINGS: tl.constexpr
):
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < n) & (cols[None, :] < n)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    a = tl.load(a_ptr + batch * a_stride_batch + offs, mask=mask, other=0.0)

    # Gelfand's formula: the radius is the limit of |a^p|^(1/p), here for p = 1, 2, 4, ...; squares of matrices with
    # |a| far above the radius lose digits, which float64 has to spare
    power = a.to(tl.float64)
    size = tl.sqrt(tl.sum(power * power))
    radius = size
    weight = 1.0
    for _ in range(SQUARINGS):
        power = power / tl.where(size > 0, size, 1.0)
        power = tl.dot(power, power, input_precision="ieee")
        size = tl.sqrt(tl.sum(power * power))
        weight = 0.5 * weight
        radius = radius * tl.exp(weight * tl.log(size))
    tl.store(y_ptr + batch, radius.to(tl.float32))


def spectral_norm_eig(A, *, out=None):
    n = A.shape[-1]
    if out is None:
        out = torch.empty(A.shape[:-2], dtype=A.dtype, device=A.device)
    a = A.reshape(-1, n, n)
    block = max(16, triton.next_power_of_2(n))
    spectral_radius_kernel[(a.shape[0],)](
        a, out, n, a.stride(0), a.stride(1), a.stride(2),
        BLOCK=block, SQUARINGS=32, num_warps=4 if block <= 32 else 8,
    )  # fmt: skip
    return out
