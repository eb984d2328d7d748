import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])
def bessel_j1_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    size = tl.abs(x)
    near = size < 10.0

    # the power series in float64: at 10 its terms cancel to three digits
    half = tl.where(near, x, 0.0).to(tl.float64) * 0.5
    square = half * half
    term = half
    series = half
    k = tl.full((), 1.0, tl.float64)
    for _ in range(23):
        term = term * square * (-1.0 / (k * (k + 1.0)))
        series += term
        k += 1.0

    # beyond: Hankel's expansion, a = a_k / size^k
    large = tl.where(near, 10.0, size)
    over = 1.0 / large
    a = over * 0.375
    even = 1.0 + 0.0 * a
    odd = a
    for k in tl.static_range(2, 10):
        a = a * over * ((4 - (2 * k - 1) * (2 * k - 1)) / (8.0 * k))
        sign = 1.0 if k // 2 % 2 == 0 else -1.0
        if k % 2 == 0:
            even += sign * a
        else:
            odd += sign * a
    # cosine and sine of size - 3 pi/4, times the square root of 2, without rounding the difference
    s = tl.sin(large)
    c = tl.cos(large)
    far = (even * (s - c) + odd * (s + c)) * 0.5641895835477563 / tl.sqrt(large)
    far = tl.where(x < 0.0, -far, far)
    tl.store(y_ptr + offs, tl.where(near, series.to(tl.float32), far), mask=mask)


def bessel_j1(input: torch.Tensor, out: torch.Tensor = None) -> torch.Tensor:
    x = input.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device) if out is None else out
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    bessel_j1_kernel[grid](x, y, n, BLOCK=BLOCK)
    return y
