import torch
import triton
import triton.language as tl


@triton.jit
def log1p_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    # the rounding of 1 + x is made good by the factor x / ((1 + x) - 1)
    up = 1.0 + x
    y = tl.log(up) * tl.div_rn(x, up - 1.0)
    y = tl.where(up == 1.0, x, y)
    y = tl.where(x == float("inf"), x, y)
    tl.store(y_ptr + offs, y, mask=mask)


def log1p(input, out=None):
    x = input.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device) if out is None else out
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    log1p_kernel[grid](x, y, n, BLOCK=BLOCK)
    return y
