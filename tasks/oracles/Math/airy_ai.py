import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])
def airy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    # float64: near 6 the two power series cancel to eight digits
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float64)
    near = tl.abs(x) < 6.0

    t = tl.where(near, x, 0.0)
    cube = t * t * t
    a = tl.full((BLOCK,), 0.3550280538878172, tl.float64)
    b = 0.2588194037928068 * t
    series = a - b
    k = tl.full((), 3.0, tl.float64)
    for _ in range(23):
        a = a * cube * (1.0 / ((k - 1.0) * k))
        b = b * cube * (1.0 / (k * (k + 1.0)))
        series += a - b
        k += 3.0

    # beyond: the asymptotic expansions, u = u_k / zeta^k
    root = tl.sqrt(tl.where(near, 36.0, tl.abs(x)))
    zeta = root * root * root * (2.0 / 3.0)
    over = 1.0 / zeta
    u = over * (5.0 / 72.0)
    even = 1.0 + 0.0 * u
    odd = u
    decay = 1.0 - u
    for k in tl.static_range(2, 10):
        u = u * over * ((6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1)))
        sign = 1.0 if k // 2 % 2 == 0 else -1.0
        decay += u if k % 2 == 0 else -u
        if k % 2 == 0:
            even += sign * u
        else:
            odd += sign * u
    amplitude = 0.5641895835477563 / tl.sqrt(root)
    # zeta - pi/4 within one period, where float32 sine and cosine are exact enough
    turns = (zeta - 0.7853981633974483) * 0.15915494309189535
    angle = ((turns - tl.floor(turns)) * 6.283185307179586).to(tl.float32)
    left = tl.cos(angle) * even
    left += tl.sin(angle) * odd
    right = tl.exp(-zeta) * decay * 0.5
    y = tl.where(near, series, amplitude * tl.where(x < 0.0, left, right))
    tl.store(y_ptr + offs, y.to(tl.float32), mask=mask)


def airy_ai(input: torch.Tensor, out: torch.Tensor = None) -> torch.Tensor:
    x = input.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device) if out is None else out
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    airy_kernel[grid](x, y, n, BLOCK=BLOCK)
    return y
