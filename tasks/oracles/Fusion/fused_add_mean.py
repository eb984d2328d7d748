import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "inner", "span", "outers", "stride_outer", "other_stride_outer"])
def add_mean_kernel(
    x_ptr, other_ptr, y_ptr, n, inner, span, outers, number, alpha, stride_outer, stride_n, stride_inner,
    other_stride_outer, other_stride_n, other_stride_inner,
    TENSOR: tl.constexpr, ACC: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    """Each program's share of the mean: the sums added up over one span of the reduced dimension, divided by n."""
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    first = tl.program_id(1) * span
    last = tl.minimum(first + span, n)
    places = cols[None, :].to(tl.int64)
    base = x_ptr + outer * stride_outer + places * stride_inner
    other_base = other_ptr + outer * other_stride_outer + places * other_stride_inner

    total = tl.zeros((BLOCK_N, BLOCK_I), ACC)
    for start in range(first, last, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        mask = (offs < last)[:, None] & (cols < inner)[None, :]
        x = tl.load(base + offs[:, None].to(tl.int64) * stride_n, mask=mask, other=0.0).to(ACC)
        if TENSOR:
            other = tl.load(other_base + offs[:, None].to(tl.int64) * other_stride_n, mask=mask, other=0.0)
            x += alpha * other.to(ACC)
        else:
            x += tl.where(mask, alpha * number, 0.0)
        total += x
    share = tl.sum(total, axis=0) / n
    out = (tl.program_id(1) * outers + outer) * inner + cols
    tl.store(y_ptr + out, share, mask=cols < inner)


@triton.jit(do_not_specialize=["parts", "count"])
def sum_kernel(part_ptr, y_ptr, parts, count, ACC: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK: tl.constexpr):
    """Adds the shares of all spans."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK_P, BLOCK), ACC)
    for start in range(0, parts, BLOCK_P):
        part = start + tl.arange(0, BLOCK_P)
        mask = (part < parts)[:, None] & (offs < count)[None, :]
        total += tl.load(part_ptr + part[:, None] * count + offs[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + offs, tl.sum(total, axis=0), mask=offs < count)


def fused_add_mean(input, other, dim=None, alpha=1, keepdim=False, dtype=None, out=None):
    tensor = isinstance(other, torch.Tensor)
    common = torch.broadcast_shapes(input.shape, other.shape) if tensor else input.shape
    dims, shape = reduced(common, dim, keepdim)
    x = folded(input.expand(common), dims)
    added = folded(other.expand(common), dims) if tensor else x
    outer, n, inner = x.shape
    y = torch.empty(shape, dtype=dtype or input.dtype, device=x.device) if out is None else out
    wide = y.dtype == torch.float64
    ACC = tl.float64 if wide else tl.float32

    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    programs = outer * triton.cdiv(inner, BLOCK_I)
    # few results leave most of a GPU idle unless several programs share each of them
    parts = min(triton.cdiv(n, 2 * BLOCK_N), triton.cdiv(1024, programs))
    span = triton.cdiv(triton.cdiv(n, parts), BLOCK_N) * BLOCK_N
    parts = triton.cdiv(n, span)
    count = outer * inner
    part = y
    if parts > 1:
        part = torch.empty((parts, count), dtype=torch.float64 if wide else torch.float32, device=x.device)
    add_mean_kernel[(programs, parts)](
        x, added, part, n, inner, span, outer, 0.0 if tensor else float(other), float(alpha), *x.stride(),
        *added.stride(), TENSOR=tensor, ACC=ACC, BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I,
    )  # fmt: skip
    if parts > 1:
        sum_kernel[(triton.cdiv(count, 16),)](part, y, parts, count, ACC=ACC, BLOCK_P=64, BLOCK=16)
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
