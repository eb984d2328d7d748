import random

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["seed", "p", "lambd"])
def hardshrink_dropout_kernel(x_ptr, y_ptr, n, seed, p, lambd, DROP: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    d = tl.load(x_ptr + offs, mask=mask, other=0.0)
    if DROP:
        keep = tl.rand(seed, offs) >= p
        d = tl.where(keep, d / (1.0 - p), 0.0)
    # NaN is not below the threshold
    y = tl.where(tl.abs(d) <= lambd, 0.0, d)
    tl.store(y_ptr + offs, y, mask=mask)


def fused_hardshrink_dropout(
    input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, lambd: float = 0.5
) -> torch.Tensor:
    x = input.contiguous()
    y = input if inplace else torch.empty(input.shape, dtype=torch.float32, device=input.device)
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    hardshrink_dropout_kernel[grid](
        x, y, n, random.getrandbits(31), float(p), float(lambd), DROP=bool(training), BLOCK=BLOCK
    )
    return y
