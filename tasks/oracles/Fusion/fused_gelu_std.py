import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "inner", "span", "outers", "stride_outer"])
def gelu_moments_kernel(
    x_ptr, mean_ptr, square_ptr, n, inner, span, outers, stride_outer, stride_n, stride_inner,
    TANH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    """Mean and summed squared deviation of one span of each slice, merged tile by tile (Chan, Golub, LeVeque)."""
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    first = tl.program_id(1) * span
    last = tl.minimum(first + span, n)
    base = x_ptr + outer * stride_outer + cols[None, :].to(tl.int64) * stride_inner
    mean = tl.zeros((BLOCK_I,), tl.float32)
    square = tl.zeros((BLOCK_I,), tl.float32)
    for start in range(first, last, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        mask = (offs < last)[:, None] & (cols < inner)[None, :]
        x = tl.load(base + offs[:, None].to(tl.int64) * stride_n, mask=mask, other=0.0)
        if TANH:
            # (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), which can't overflow into NaN
            u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
            g = x / (1.0 + tl.exp(-2.0 * u))
        else:
            g = 0.5 * x * (1.0 + tl.erf(0.7071067811865476 * x))
        seen = (start - first).to(tl.float32)
        new = tl.minimum(last - start, BLOCK_N).to(tl.float32)
        tile_mean = tl.sum(g, axis=0) / new
        dev = tl.where(mask, g - tile_mean[None, :], 0.0)
        delta = tile_mean - mean
        mean += delta * (new / (seen + new))
        square += tl.sum(dev * dev, axis=0) + delta * delta * (seen * new / (seen + new))
    out = (tl.program_id(1) * outers + outer) * inner + cols
    tl.store(mean_ptr + out, mean, mask=cols < inner)
    tl.store(square_ptr + out, square, mask=cols < inner)


@triton.jit(do_not_specialize=["n", "span", "parts", "count", "correction"])
def std_kernel(
    mean_ptr, square_ptr, y_ptr, n, span, parts, count, correction, BLOCK_P: tl.constexpr, BLOCK: tl.constexpr
):
    """Merges the spans of each slice."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.arange(0, BLOCK_P)
    mask = (part < parts)[:, None] & (offs < count)[None, :]
    places = part[:, None] * count + offs[None, :]
    means = tl.load(mean_ptr + places, mask=mask, other=0.0)
    squares = tl.load(square_ptr + places, mask=mask, other=0.0)
    sizes = tl.minimum(span, tl.maximum(n - part * span, 0)).to(tl.float32)
    mean = tl.sum(means * sizes[:, None], axis=0) / n
    dev = tl.where(mask, means - mean[None, :], 0.0)
    square = tl.sum(squares + dev * dev * sizes[:, None], axis=0)
    tl.store(y_ptr + offs, tl.sqrt(square / (n - correction)), mask=offs < count)


def fused_gelu_std(input, dim=None, keepdim=False, correction=1, approximate="none", out=None):
    dims, shape = reduced(input.shape, dim, keepdim)
    x = folded(input, dims)
    outer, n, inner = x.shape
    y = torch.empty(shape, dtype=input.dtype, device=x.device) if out is None else out
    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    programs = outer * triton.cdiv(inner, BLOCK_I)
    # few results leave most of a GPU idle unless several programs share each of them
    parts = min(triton.cdiv(n, 2 * BLOCK_N), triton.cdiv(1024, programs))
    span = triton.cdiv(triton.cdiv(n, parts), BLOCK_N) * BLOCK_N
    parts = triton.cdiv(n, span)
    count = outer * inner
    means = torch.empty((parts, count), dtype=torch.float32, device=x.device)
    squares = torch.empty((parts, count), dtype=torch.float32, device=x.device)
    gelu_moments_kernel[(programs, parts)](
        x, means, squares, n, inner, span, outer, *x.stride(),
        TANH=approximate == "tanh", BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I,
    )  # fmt: skip
    BLOCK_P = max(16, triton.next_power_of_2(parts))
    std_kernel[(triton.cdiv(count, 16),)](
        means, squares, y, n, span, parts, count, correction, BLOCK_P=BLOCK_P, BLOCK=16
    )
    return y


def reduced(sizes, dim, keepdim):
    """The dimensions to reduce, in order, and the shape of the result."""
    if dim is None or dim == ():
        dim = range(len(sizes))
    dims = sorted(d % len(sizes) for d in ([dim] if isinstance(dim, int) else dim))
    if keepdim:
        return dims, [1 if d in dims else size for d, size in enumerate(sizes)]
    return dims, [size for d, size in enumerate(sizes) if d not in dims]


def folded(input, dims):
    """`input` with three dimensions, the middle one to reduce: a view where the strides permit one."""
    first, last = dims[0], dims[-1]
    if last - first + 1 == len(dims):
        before, after = input.shape[:first], input.shape[last + 1 :]
    else:
        kept = [d for d in range(input.dim()) if d not in dims]
        before, after = torch.Size(input.shape[d] for d in kept), torch.Size()
        input = input.permute(kept + dims)
    n = input.numel() // (before.numel() * after.numel())
    try:
        return input.view(before.numel(), n, after.numel())
    except RuntimeError:
        return input.contiguous().view(before.numel(), n, after.numel())
