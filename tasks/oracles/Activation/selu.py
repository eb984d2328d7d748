import torch
import triton
import triton.language as tl


@triton.jit
def selu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    below = 1.7580993408473766 * (tl.exp(x) - 1.0)
    y = tl.where(x > 0, 1.0507009873554805 * x, below)
    tl.store(y_ptr + offs, y, mask=mask)


def selu(input, inplace=False):
    x = input.contiguous()
    y = input if inplace else torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    selu_kernel[grid](x, y, n, BLOCK=BLOCK)
    return y
