import torch
import triton
import triton.language as tl


@triton.jit
def rad2deg_sqrt_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * 57.29577951308232, mask=mask)
    tl.store(z_ptr + offs, tl.sqrt(x), mask=mask)


def rad2deg_sqrt(input):
    x = input.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    z = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    rad2deg_sqrt_kernel[grid](x, y, z, n, BLOCK=BLOCK)
    return y, z
