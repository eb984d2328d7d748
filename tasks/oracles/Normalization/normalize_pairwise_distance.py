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
def joined(total, y, ORDER: tl.constexpr):
    return tl.maximum(total, y) if ORDER == 0 else total + y


@triton.jit
def root(total, p, ORDER: tl.constexpr):
    """The norm that belongs to a sum of powers."""
    y = total
    if ORDER == 2:
        y = tl.sqrt(total)
    if ORDER == 3:
        y = tl.exp2(tl.log2(total) / p)
    return y


@triton.jit
def distance_kernel(
    x1_ptr, x2_ptr, d_ptr, rows, cols, p, eps, stride_1row, stride_1col, stride_2row, stride_2col,
    ORDER: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    offs_r = (tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)).to(tl.int64)
    mask_r = offs_r < rows
    total = tl.zeros((BLOCK_R, BLOCK_C), dtype=tl.float32)
    for start in range(0, cols, BLOCK_C):
        offs_c = start + tl.arange(0, BLOCK_C)
        mask = mask_r[:, None] & (offs_c < cols)[None, :]
        places = offs_c.to(tl.int64)[None, :]
        x1 = tl.load(x1_ptr + offs_r[:, None] * stride_1row + places * stride_1col, mask=mask, other=0.0)
        x2 = tl.load(x2_ptr + offs_r[:, None] * stride_2row + places * stride_2col, mask=mask, other=0.0)
        # no padded lane may count as eps
        diff = tl.where(mask, x1 - x2 + eps, 0.0)
        total = joined(total, power(diff, p, ORDER), ORDER)
    whole = tl.max(total, axis=1) if ORDER == 0 else tl.sum(total, axis=1)
    tl.store(d_ptr + offs_r, root(whole, p, ORDER), mask=mask_r)


@triton.jit
def normalise_kernel(d_ptr, y_ptr, n, inner, p, eps, ORDER: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr):
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    base = outer * n * inner + cols[None, :]
    total = tl.zeros((BLOCK_N, BLOCK_I), dtype=tl.float32)
    for start in range(0, n, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        mask = (offs < n)[:, None] & (cols < inner)[None, :]
        d = tl.load(d_ptr + base + offs[:, None] * inner, mask=mask, other=0.0)
        total = joined(total, power(d, p, ORDER), ORDER)
    whole = tl.max(total, axis=0) if ORDER == 0 else tl.sum(total, axis=0)
    norm = root(whole, p, ORDER)
    norm = tl.where(norm < eps, eps, norm)
    for start in range(0, n, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        mask = (offs < n)[:, None] & (cols < inner)[None, :]
        d = tl.load(d_ptr + base + offs[:, None] * inner, mask=mask, other=0.0)
        tl.store(y_ptr + base + offs[:, None] * inner, d / norm[None, :], mask=mask)


def order(p):
    """Which branch of the kernels a norm takes: 0 the maximum, 1 and 2 as they are, 3 any other power."""
    return 0 if p == math.inf else int(p) if p in (1, 2) else 3


def as_rows(x, shape):
    """`x` broadcast to `shape` as a matrix of its last dimension."""
    x = x.expand(shape)
    try:
        return x.view(-1, shape[-1])
    except RuntimeError:
        return x.contiguous().view(-1, shape[-1])


def normalize_pairwise_distance(
    x1, x2, p_distance=2.0, eps_distance=1e-06, keepdim=False, p_norm=2, dim_norm=1, eps_norm=1e-12
):
    shape = torch.broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = as_rows(x1, shape), as_rows(x2, shape)
    rows, cols = x1.shape
    kept = (*shape[:-1], 1) if keepdim else shape[:-1]
    dim = dim_norm % len(kept)
    n, inner = kept[dim], math.prod(kept[dim + 1 :])
    d = torch.empty(kept, dtype=torch.float32, device=x1.device)
    y = torch.empty(kept, dtype=torch.float32, device=x1.device)
    BLOCK_R, BLOCK_C = (4, 256) if cols > 64 else (16, 64)
    distance_kernel[(triton.cdiv(rows, BLOCK_R),)](
        x1, x2, d, rows, cols, float(p_distance), float(eps_distance),
        x1.stride(0), x1.stride(1), x2.stride(0), x2.stride(1),
        ORDER=order(p_distance), BLOCK_R=BLOCK_R, BLOCK_C=BLOCK_C,
    )  # fmt: skip
    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    programs = math.prod(kept[:dim]) * triton.cdiv(inner, BLOCK_I)
    normalise_kernel[(programs,)](
        d, y, n, inner, float(p_norm), float(eps_norm), ORDER=order(p_norm), BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I
    )
    return y
