import torch
import triton
import triton.language as tl


@triton.jit
def signbit_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = x.to(tl.int32, bitcast=True) < 0
    tl.store(y_ptr + offs, y, mask=mask)


def signbit(input, out=None):
    x = input.contiguous()
    y = torch.empty(x.shape, dtype=torch.bool, device=x.device) if out is None else out
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    signbit_kernel[grid](x, y, n, BLOCK=BLOCK)
    return y
