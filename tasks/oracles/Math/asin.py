import torch
import triton
import triton.language as tl


@triton.jit
def asin_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    a = tl.abs(x)
    far = a > 0.5
    # asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)), whose argument is exact up to the root
    z = tl.where(far, 0.5 - 0.5 * a, a * a)
    s = tl.where(far, tl.sqrt(z), a)
    p = 0.03833608701825142
    p = p * z + 0.0264289528131485
    p = p * z + 0.04502104967832565
    p = p * z + 0.07498756051063538
    p = p * z + 0.16666673123836517
    small = s + s * z * p
    angle = tl.where(far, 1.5707963267948966 - 2.0 * small, small)
    y = tl.where(x < 0, -angle, angle)
    tl.store(y_ptr + offs, y, mask=mask)


def asin(input_tensor):
    x = input_tensor.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    asin_kernel[grid](x, y, n, BLOCK=BLOCK)
    return y
