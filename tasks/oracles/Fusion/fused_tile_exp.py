import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "n0", "n1", "n2", "n3", "d1", "d2", "d3", "stride0", "stride1", "stride2"])
def tile_exp_kernel(
    x_ptr, y_ptr, n, n0, n1, n2, n3, d1, d2, d3, stride0, stride1, stride2, stride3, BLOCK: tl.constexpr
):
    """n0..n3 are the sizes of the input, d1..d3 those of the result."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    i3 = (offs % d3) % n3
    rest = offs // d3
    i2 = (rest % d2) % n2
    rest = rest // d2
    i1 = (rest % d1) % n1
    i0 = (rest // d1) % n0
    place = i0.to(tl.int64) * stride0 + i1.to(tl.int64) * stride1 + i2.to(tl.int64) * stride2 + i3 * stride3
    x = tl.load(x_ptr + place, mask=mask, other=0.0)
    tl.store(y_ptr + offs, tl.exp(x), mask=mask)


def fused_tile_exp(input, dims, *, out=None):
    dims = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    x = input.view((1,) * (4 - input.dim()) + tuple(input.shape))
    copies = (1,) * (4 - len(dims)) + dims
    whole = [size * times for size, times in zip(x.shape, copies, strict=True)]
    rank = max(input.dim(), len(dims))
    y = torch.empty(whole[4 - rank :], dtype=x.dtype, device=x.device) if out is None else out
    n = y.numel()
    grid = (triton.cdiv(n, 1024),)
    tile_exp_kernel[grid](x, y, n, *x.shape, *whole[1:], *x.stride(), BLOCK=1024)
    return y
