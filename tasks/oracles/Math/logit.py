import torch
import triton
import triton.language as tl


@triton.jit
def logit_kernel(x_ptr, y_ptr, n, eps, CLAMP: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    if CLAMP:
        x = tl.where(x < eps, eps, x)
        x = tl.where(x > 1.0 - eps, 1.0 - eps, x)
    y = tl.log(x / (1.0 - x))
    tl.store(y_ptr + offs, y, mask=mask)


def logit(input, eps=None, out=None):
    x = input.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device) if out is None else out
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    logit_kernel[grid](x, y, n, eps, CLAMP=eps is not None, BLOCK=BLOCK)
    return y
