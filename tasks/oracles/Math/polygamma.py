import math

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])
def polygamma_kernel(x_ptr, y_ptr, n, factor, N: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=1.0)
    # six terms of the sum, then Euler and Maclaurin for the rest of it
    total = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(6):
        over = 1.0 / (x + k)
        power = over
        for _ in tl.static_range(N):
            power = power * over
        total += power
    z = x + 6.0
    over = 1.0 / z
    w = over * over
    t1 = w * ((N + 1) / 12.0)
    t2 = w * t1 * ((N + 2) * (N + 3) / 60.0)
    t3 = w * t2 * ((N + 4) * (N + 5) / 42.0)
    t4 = w * t3 * ((N + 6) * (N + 7) / 40.0)
    tail = 0.5 * over + t1 - t2
    tail += t3 - t4
    if N == 0:
        y = tl.log(z) - tail - total
    else:
        power = over
        for _ in tl.static_range(N - 1):
            power = power * over
        y = factor * (total + power * (1.0 / N + tail))
    tl.store(y_ptr + offs, y, mask=mask)


def polygamma(n, input, *, out=None):
    x = input.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device) if out is None else out
    count = x.numel()
    factor = float(math.factorial(n)) * (1.0 if n % 2 else -1.0)
    BLOCK = 1024
    grid = (triton.cdiv(count, BLOCK),)
    polygamma_kernel[grid](x, y, count, factor, N=n, BLOCK=BLOCK)
    return y
