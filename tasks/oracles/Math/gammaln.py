import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])
def gammaln_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=1.0)
    size = tl.abs(x)

    # the tail of Stirling's series, used from 8 on
    large = tl.maximum(size, 8.0)
    over = 1.0 / large
    w = over * over
    tail = over * (1.0 / 12 - w * (1.0 / 360 - w * (1.0 / 1260)))

    # below: to 1..3 by the recurrence, then log gamma(2 + t) = t (1 + t) P(t)
    small = tl.minimum(size, 8.0)
    low = small < 1.0
    factor = tl.where(low, small, 1.0)
    z = tl.where(low, small + 1.0, small)
    for _ in tl.static_range(6):
        high = z >= 3.0
        z = tl.where(high, z - 1.0, z)
        factor = tl.where(high, factor * z, factor)
    t = z - 2.0
    p = -9.05981298e-06 * t + 1.92308237e-05
    p = p * t - 9.27991282e-06
    p = p * t + 2.0481895e-05
    p = p * t - 8.92520088e-05
    p = p * t + 0.000195539606
    p = p * t - 0.000403461198
    p = p * t + 0.00091063996
    p = p * t - 0.00210851419
    p = p * t + 0.00499944951
    p = p * t - 0.0123841679
    p = p * t + 0.0329649495
    p = p * t - 0.100317302
    p = p * t + 0.422784336
    change = tl.log(tl.where(size < 8.0, factor, large))
    reduced = t * (z - 1.0) * p + tl.where(low, -change, change)
    # in this order of its terms Stirling's series keeps infinity
    stirling = (large - 0.5) * (change - 1.0) + 0.4189385332046727 + tail
    y = tl.where(size < 8.0, reduced, tl.where(size != size, size, stirling))

    # log(pi / |x sin(pi x)|) - y from the exact distance to the nearest integer; 0 there gives infinity
    negative = x < 0.0
    turn = tl.where(negative, x - tl.floor(x + 0.5), 0.5) * 3.141592653589793
    y = tl.where(negative, 1.1447298858494002 - tl.log(size * tl.abs(tl.sin(turn))) - y, y)
    y = tl.where(negative & (x == tl.floor(x)), float("inf"), y)
    tl.store(y_ptr + offs, y, mask=mask)


def gammaln(input: torch.Tensor, out: torch.Tensor = None) -> torch.Tensor:
    x = input.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device) if out is None else out
    n = x.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    gammaln_kernel[grid](x, y, n, BLOCK=BLOCK)
    return y
