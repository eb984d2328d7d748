import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    y = tl.where(x < 0, 0.0, x)
    tl.store(y_ptr + offs, y, mask=mask)


def relu(input, inplace=False):
    x = input.contiguous()
    y = input if inplace else torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    relu_kernel[grid](x, y, n, BLOCK=BLOCK)
    return y
