import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])
def digamma_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=1.0)
    reflected = x <= 0.0
    z = tl.where(reflected, 1.0 - x, x)
    # upwards until the asymptotic series holds
    steps = tl.zeros((BLOCK,), tl.float32)
    for _ in tl.static_range(7):
        small = z < 7.0
        steps += tl.where(small, 1.0 / z, 0.0)
        z = tl.where(small, z + 1.0, z)
    over = 1.0 / z
    w = over * over
    tail = w * (1.0 / 12 - w * (1.0 / 120 - w * (1.0 / 252 - w * (1.0 / 240))))
    psi = tl.log(z) - 0.5 * over - tail - steps

    # pi / tan(pi x) from the exact distance to the nearest integer
    turn = tl.where(reflected, x - tl.floor(x + 0.5), 0.25) * 3.141592653589793
    below = psi - 3.141592653589793 * tl.cos(turn) / tl.sin(turn)
    below = tl.where(x == tl.floor(x), float("nan"), below)
    below = tl.where(x == 0.0, -1.0 / x, below)
    tl.store(y_ptr + offs, tl.where(reflected, below, psi), mask=mask)


def digamma(input_tensor):
    x = input_tensor.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    digamma_kernel[grid](x, y, n, BLOCK=BLOCK)
    return y
