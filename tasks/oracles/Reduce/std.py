import math

import torch
import triton
import triton.language as tl


@triton.jit
def moments_kernel(
    x_ptr, mean_ptr, square_ptr, n, inner, span, outers, stride_outer, stride_n, stride_inner,
    BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    """Mean, and sum of squared differences from it, of one span of the reduced dimension."""
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
        count = tl.minimum(BLOCK_N, last - start)
        part = tl.sum(x, axis=0) / count
        away = tl.where(mask, x - part[None, :], 0.0)
        # merging the moments of two parts leaves nothing to cancel (Chan, Golub and LeVeque, 1983)
        before = start - first
        step = part - mean
        share = count / (before + count)
        square += tl.sum(away * away, axis=0) + step * step * share * before
        mean += step * share
    out = (tl.program_id(1) * outers + outer) * inner + cols
    tl.store(mean_ptr + out, mean, mask=cols < inner)
    tl.store(square_ptr + out, square, mask=cols < inner)


@triton.jit
def merge_kernel(
    mean_ptr, square_ptr, y_ptr, n, correction, results, parts, span, BLOCK_P: tl.constexpr, BLOCK_R: tl.constexpr
):
    part = tl.arange(0, BLOCK_P)
    cols = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    mask = (part < parts)[:, None] & (cols < results)[None, :]
    offs = part[:, None].to(tl.int64) * results + cols[None, :]
    mean = tl.load(mean_ptr + offs, mask=mask, other=0.0)
    square = tl.load(square_ptr + offs, mask=mask, other=0.0)
    count = tl.where(part < parts, tl.minimum(span, n - part * span), 0).to(tl.float32)[:, None]
    # differences from the first part's mean: they are small where the mean is large
    away = tl.where(mask, mean - tl.sum(tl.where(part[:, None] == 0, mean, 0.0), axis=0)[None, :], 0.0)
    centre = tl.sum(away * count, axis=0) / n
    away = away - centre[None, :]
    total = tl.sum(square + away * away * count, axis=0)
    tl.store(y_ptr + cols, tl.sqrt(total / (n - correction)), mask=cols < results)


def std(input: torch.Tensor, dim=None, correction=1, keepdim=False, out=None):
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = sorted(d % input.dim() for d in dims)
    kept = [d for d in range(input.dim()) if d not in dims]
    if out is None:
        shape = [1 if d in dims else size for d, size in enumerate(input.shape) if keepdim or d not in dims]
        out = torch.empty(shape, dtype=input.dtype, device=input.device)
    before, after = kept, []
    if dims == list(range(dims[0], dims[-1] + 1)):
        before, after = [d for d in kept if d < dims[0]], [d for d in kept if d > dims[-1]]
    x = input.permute(before + dims + after)
    sizes = [math.prod(input.shape[d] for d in group) for group in (before, dims, after)]
    x = x.reshape(sizes)

    outer, n, inner = sizes
    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    programs = outer * triton.cdiv(inner, BLOCK_I)
    # few results leave most of a GPU idle unless several programs share each of them
    parts = min(triton.cdiv(n, 2 * BLOCK_N), triton.cdiv(1024, programs))
    span = triton.cdiv(triton.cdiv(n, parts), BLOCK_N) * BLOCK_N
    parts = triton.cdiv(n, span)
    results = outer * inner
    mean = torch.empty((parts, results), dtype=torch.float32, device=x.device)
    square = torch.empty((parts, results), dtype=torch.float32, device=x.device)
    moments_kernel[(programs, parts)](
        x, mean, square, n, inner, span, outer, x.stride(0), x.stride(1), x.stride(2), BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I
    )
    BLOCK_P = triton.next_power_of_2(parts)
    BLOCK_R = max(1, 256 // BLOCK_P)
    merge_kernel[(triton.cdiv(results, BLOCK_R),)](
        mean, square, out, n, correction, results, parts, span, BLOCK_P=BLOCK_P, BLOCK_R=BLOCK_R
    )
    return out
