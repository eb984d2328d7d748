import math

import torch
import triton
import triton.language as tl


@triton.jit
def power(x, p, ORDER: tl.constexpr):
    """|x|^p; for the maximum norm (ORDER 0) |x|."""
    y = tl.abs(x)
    if ORDER == 2:
        y = x * x
    if ORDER == 3:
        y = tl.exp2(p * tl.log2(y))
    return y


@triton.jit
def norm_of(total, p, ORDER: tl.constexpr):
    """The norm that belongs to lanes of powers (their maximum for ORDER 0)."""
    y = tl.max(total, axis=0) if ORDER == 0 else tl.sum(total, axis=0)
    if ORDER == 2:
        y = tl.sqrt(y)
    if ORDER == 3:
        y = tl.exp2(tl.log2(y) / p)
    return y


@triton.jit
def at_least(x, bound):
    return tl.where(x < bound, bound, x)


@triton.jit
def cosine_kernel(
    x1_ptr, x2_ptr, y_ptr, n, inner, p, eps_norm, eps_similarity,
    stride_1outer, stride_1n, stride_1inner, stride_2outer, stride_2n, stride_2inner,
    ORDER: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = ((tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)).to(tl.int64)
    base1 = x1_ptr + outer * stride_1outer + cols[None, :] * stride_1inner
    base2 = x2_ptr + outer * stride_2outer + cols[None, :] * stride_2inner
    power1 = tl.zeros((BLOCK_N, BLOCK_I), dtype=tl.float32)
    power2 = tl.zeros((BLOCK_N, BLOCK_I), dtype=tl.float32)
    square1 = tl.zeros((BLOCK_N, BLOCK_I), dtype=tl.float32)
    square2 = tl.zeros((BLOCK_N, BLOCK_I), dtype=tl.float32)
    product = tl.zeros((BLOCK_N, BLOCK_I), dtype=tl.float32)
    for start in range(0, n, BLOCK_N):
        offs = (start + tl.arange(0, BLOCK_N)).to(tl.int64)
        mask = (offs < n)[:, None] & (cols < inner)[None, :]
        x1 = tl.load(base1 + offs[:, None] * stride_1n, mask=mask, other=0.0)
        x2 = tl.load(base2 + offs[:, None] * stride_2n, mask=mask, other=0.0)
        product += x1 * x2
        square1 += x1 * x1
        square2 += x2 * x2
        if ORDER == 0:
            power1 = tl.maximum(power1, power(x1, p, ORDER))
            power2 = tl.maximum(power2, power(x2, p, ORDER))
        else:
            power1 += power(x1, p, ORDER)
            power2 += power(x2, p, ORDER)
    norm1 = at_least(norm_of(power1, p, ORDER), eps_norm)
    norm2 = at_least(norm_of(power2, p, ORDER), eps_norm)
    # the 2-norms of the normalised vectors
    length1 = at_least(tl.sqrt(tl.sum(square1, axis=0)) / norm1, eps_similarity)
    length2 = at_least(tl.sqrt(tl.sum(square2, axis=0)) / norm2, eps_similarity)
    y = tl.sum(product, axis=0) / (norm1 * length1) / (norm2 * length2)
    tl.store(y_ptr + outer * inner + cols, y, mask=cols < inner)


def folded(x, shape, dim):
    """`x` broadcast to `shape`, with dimension `dim` in the middle of three."""
    sizes = (math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]))
    x = x.expand(shape)
    try:
        return x.view(sizes)
    except RuntimeError:
        return x.contiguous().view(sizes)


def normalized_cosine_similarity(
    x1: torch.Tensor,
    x2: torch.Tensor,
    dim: int = 1,
    eps_similarity: float = 1e-08,
    p_norm: float = 2,
    eps_norm: float = 1e-12,
) -> torch.Tensor:
    shape = torch.broadcast_shapes(x1.shape, x2.shape)
    dim = dim % len(shape)
    y = torch.empty(shape[:dim] + shape[dim + 1 :], dtype=torch.float32, device=x1.device)
    x1, x2 = folded(x1, shape, dim), folded(x2, shape, dim)
    outer, n, inner = x1.shape
    # 0 is the maximum norm, 1 and 2 are themselves, 3 is any other power
    order = 0 if p_norm == math.inf else int(p_norm) if p_norm in (1, 2) else 3
    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    if inner == 1 and n <= 256:
        BLOCK_N = 256
    cosine_kernel[(outer * triton.cdiv(inner, BLOCK_I),)](
        x1, x2, y, n, inner, float(p_norm), float(eps_norm), float(eps_similarity), *x1.stride(), *x2.stride(),
        ORDER=order, BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I,
    )  # fmt: skip
    return y
