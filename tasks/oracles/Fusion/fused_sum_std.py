import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "inner", "span", "outers", "stride_outer"])
def sum_kernel(
    x_ptr, part_ptr, n, inner, span, outers, stride_outer, stride_n, stride_inner,
    ACC: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    """Each sum's share of one span of the reduced dimension."""
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    first = tl.program_id(1) * span
    last = tl.minimum(first + span, n)
    base = x_ptr + outer * stride_outer + cols[None, :].to(tl.int64) * stride_inner
    total = tl.zeros((BLOCK_N, BLOCK_I), ACC)
    for start in range(first, last, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        mask = (offs < last)[:, None] & (cols < inner)[None, :]
        total += tl.load(base + offs[:, None].to(tl.int64) * stride_n, mask=mask, other=0.0).to(ACC)
    out = (tl.program_id(1) * outers + outer) * inner + cols
    tl.store(part_ptr + out, tl.sum(total, axis=0), mask=cols < inner)


@triton.jit(do_not_specialize=["parts", "count"])
def moments_kernel(
    part_ptr, mean_ptr, square_ptr, parts, count, ACC: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK: tl.constexpr
):
    """Mean and summed squared deviation of BLOCK sums."""
    start = tl.program_id(0) * BLOCK
    offs = start + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK_P, BLOCK), ACC)
    for first in range(0, parts, BLOCK_P):
        part = first + tl.arange(0, BLOCK_P)
        mask = (part < parts)[:, None] & (offs < count)[None, :]
        total += tl.load(part_ptr + part[:, None] * count + offs[None, :], mask=mask, other=0.0)
    s = tl.sum(total, axis=0)
    mean = tl.sum(s, axis=0) / tl.minimum(count - start, BLOCK)
    dev = tl.where(offs < count, s - mean, 0.0)
    tl.store(mean_ptr + tl.program_id(0), mean)
    tl.store(square_ptr + tl.program_id(0), tl.sum(dev * dev, axis=0))


@triton.jit(do_not_specialize=["count", "span", "blocks", "correction"])
def std_kernel(mean_ptr, square_ptr, y_ptr, count, span, blocks, correction, ACC: tl.constexpr, BLOCK: tl.constexpr):
    """Merges the blocks of sums (Chan, Golub, LeVeque)."""
    total = tl.zeros((BLOCK,), ACC)
    for start in range(0, blocks, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < blocks
        sizes = tl.minimum(span, tl.maximum(count - offs * span, 0)).to(ACC)
        total += tl.load(mean_ptr + offs, mask=mask, other=0.0) * sizes
    mean = tl.sum(total, axis=0) / count
    square = tl.zeros((BLOCK,), ACC)
    for start in range(0, blocks, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < blocks
        sizes = tl.minimum(span, tl.maximum(count - offs * span, 0)).to(ACC)
        means = tl.load(mean_ptr + offs, mask=mask, other=0.0)
        dev = tl.where(mask, means - mean, 0.0)
        square += tl.load(square_ptr + offs, mask=mask, other=0.0) + dev * dev * sizes
    tl.store(y_ptr, tl.sqrt(tl.sum(square, axis=0) / (count - correction)))


def fused_sum_std(input, dim=None, keepdim=False, dtype=None, correction=1, out=None):
    x = folded(input, dim)
    if x.shape[2] == 1:
        # several sums a program: short ones would leave most of its lanes idle
        x = x.permute(2, 1, 0)
    outer, n, inner = x.shape
    y = torch.empty((), dtype=dtype or input.dtype, device=x.device) if out is None else out
    ACC = tl.float64 if y.dtype == torch.float64 else tl.float32
    BLOCK_N, BLOCK_I = (1024, 1) if n >= 512 and x.stride(1) == 1 else (32, 32)
    programs = outer * triton.cdiv(inner, BLOCK_I)
    # few sums leave most of a GPU idle unless several programs share each of them
    parts = min(triton.cdiv(n, 2 * BLOCK_N), triton.cdiv(1024, programs))
    span = triton.cdiv(triton.cdiv(n, parts), BLOCK_N) * BLOCK_N
    parts = triton.cdiv(n, span)
    count = outer * inner
    sums = torch.empty((parts, count), dtype=y.dtype, device=x.device)
    sum_kernel[(programs, parts)](
        x, sums, n, inner, span, outer, *x.stride(), ACC=ACC, BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I
    )
    BLOCK = 256
    blocks = triton.cdiv(count, BLOCK)
    means = torch.empty((blocks,), dtype=y.dtype, device=x.device)
    squares = torch.empty((blocks,), dtype=y.dtype, device=x.device)
    moments_kernel[(blocks,)](sums, means, squares, parts, count, ACC=ACC, BLOCK_P=16, BLOCK=BLOCK)
    std_kernel[(1,)](means, squares, y, count, BLOCK, blocks, correction, ACC=ACC, BLOCK=256)
    return y


def folded(input, dim):
    """`input` with three dimensions, the middle one to reduce: a view where the strides permit one."""
    rank = input.dim()
    dims = range(rank) if dim is None or dim == () else [dim] if isinstance(dim, int) else dim
    dims = sorted(d % rank for d in dims)
    first, last = dims[0], dims[-1]
    if last - first + 1 == len(dims):
        before, after = input.shape[:first], input.shape[last + 1 :]
    else:
        kept = [d for d in range(rank) if d not in dims]
        before, after = torch.Size(input.shape[d] for d in kept), torch.Size()
        input = input.permute(kept + dims)
    n = input.numel() // (before.numel() * after.numel())
    try:
        return input.view(before.numel(), n, after.numel())
    except RuntimeError:
        return input.contiguous().view(before.numel(), n, after.numel())
