import torch
import triton
import triton.language as tl


@triton.jit
def signbit_and_kernel(x_ptr, other_ptr, sign_ptr, both_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    other = tl.load(other_ptr + offs, mask=mask).to(tl.int8)
    tl.store(sign_ptr + offs, x.to(tl.int32, bitcast=True) < 0, mask=mask)
    tl.store(both_ptr + offs, x.to(tl.int8) & other, mask=mask)


def signbit_bitwise_and(input, other):
    x = input.contiguous()
    other = other.contiguous()
    sign = torch.empty(x.shape, dtype=torch.bool, device=x.device)
    both = torch.empty(x.shape, dtype=torch.int8, device=x.device)
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    signbit_and_kernel[grid](x, other, sign, both, n, BLOCK=BLOCK)
    return sign, both
