import math

import torch
import triton
import triton.language as tl


@triton.jit
def logspace_kernel(y_ptr, ends_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    # exponents of 2, which float32 arguments of a kernel could not hold
    first = tl.load(ends_ptr)
    step = tl.load(ends_ptr + 1)
    exponent = first + offs.to(tl.float64) * step
    whole = tl.floor(exponent)
    part = exponent - whole
    # in the precision of the result
    power = tl.exp2(part.to(y_ptr.dtype.element_ty)).to(tl.float64)
    # 2^whole by its bits: normal numbers only
    scale = ((whole.to(tl.int64) + 1023) << 52).to(tl.float64, bitcast=True)
    tl.store(y_ptr + offs, (power * scale).to(y_ptr.dtype.element_ty), mask=mask)


def logspace(start, end, steps, base=10.0, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    y = torch.empty((steps,), dtype=dtype or torch.float32, device=device)
    log = math.log2(base)
    first = start * log
    step = (end - start) / (steps - 1) * log if steps > 1 else 0.0
    ends = torch.tensor([first, step], dtype=torch.float64, device=device)
    BLOCK = 1024
    grid = (triton.cdiv(steps, BLOCK),)
    logspace_kernel[grid](y, ends, steps, BLOCK=BLOCK)
    return y
