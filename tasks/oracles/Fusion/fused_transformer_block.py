import random

import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    a_ptr, b_ptr, y_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offs_m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    offs_n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    mask_m = offs_m < M
    mask_n = offs_n < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        offs_k = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
        mask_k = offs_k < K
        a_offs = offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
        b_offs = offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
        a = tl.load(a_ptr + a_offs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_ptr + b_offs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(y_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=mask_m[:, None] & mask_n[None, :])


@triton.jit(do_not_specialize=["seed", "p"])
def softmax_dropout_kernel(z_ptr, rows, n, seed, p, BLOCK_R: tl.constexpr, BLOCK: tl.constexpr):
    """In place: the softmax of each row, some of it dropped."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    mask_r = row < rows
    top = tl.full((BLOCK_R,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_R,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = mask_r[:, None] & (offs < n)[None, :]
        z = tl.load(z_ptr + row[:, None] * n + offs[None, :], mask=mask, other=-float("inf"))
        new = tl.maximum(top, tl.max(z, axis=1))
        # rows past the end, and those that are all -inf so far, keep a total of 0
        base = tl.where(new == -float("inf"), 0.0, new)
        total = total * tl.exp(top - base) + tl.sum(tl.exp(z - base[:, None]), axis=1)
        top = new
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = mask_r[:, None] & (offs < n)[None, :]
        place = row[:, None] * n + offs[None, :]
        z = tl.load(z_ptr + place, mask=mask, other=-float("inf"))
        s = tl.exp(z - top[:, None]) / total[:, None]
        keep = tl.rand(seed, place) >= p
        tl.store(z_ptr + place, tl.where(keep, s / (1.0 - p), 0.0), mask=mask)


@triton.jit(do_not_specialize=["eps"])
def residual_norm_kernel(
    u_ptr, r_ptr, rows, n, stride_rr, stride_rn, eps, BLOCK_R: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """In place: each row plus its residual, less the mean, over the deviation."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    mask_r = row < rows
    total = tl.zeros((BLOCK_R, BLOCK), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = mask_r[:, None] & (offs < n)[None, :]
        place = row[:, None] * n + offs[None, :]
        rest = row[:, None] * stride_rr + offs.to(tl.int64)[None, :] * stride_rn
        u = tl.load(u_ptr + place, mask=mask, other=0.0) + tl.load(r_ptr + rest, mask=mask, other=0.0)
        total += u
        tl.store(u_ptr + place, u, mask=mask)
    tl.debug_barrier()
    mean = tl.sum(total, axis=1) / n
    square = tl.zeros((BLOCK_R, BLOCK), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = mask_r[:, None] & (offs < n)[None, :]
        u = tl.load(u_ptr + row[:, None] * n + offs[None, :], mask=mask, other=0.0)
        dev = tl.where(mask, u - mean[:, None], 0.0)
        square += dev * dev
    scale = 1.0 / tl.sqrt(tl.sum(square, axis=1).to(tl.float32) / n + eps)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = mask_r[:, None] & (offs < n)[None, :]
        place = row[:, None] * n + offs[None, :]
        u = tl.load(u_ptr + place, mask=mask, other=0.0)
        tl.store(u_ptr + place, (u - mean[:, None]) * scale[:, None], mask=mask)


def product(a, b, y):
    M, K = a.shape
    N = b.shape[1]
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    product_kernel[grid](
        a, b, y, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1),
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=16, num_warps=8,
    )  # fmt: skip


def fused_transformer_block(input, weight1, weight2, residual, dropout_p=0.1, eps=1e-5, *, out=None):
    x = input.reshape(-1, input.shape[-1])
    rows = x.shape[0]
    inner, width = weight2.shape
    shape = (*input.shape[:-1], width)
    rest = residual.expand(shape).reshape(rows, width)
    s = torch.empty((rows, inner), dtype=torch.float32, device=x.device)
    y = torch.empty(shape, dtype=torch.float32, device=x.device) if out is None else out
    product(x, weight1, s)
    grid = (triton.cdiv(rows, 8),)
    softmax_dropout_kernel[grid](s, rows, inner, random.getrandbits(31), float(dropout_p), BLOCK_R=8, BLOCK=128)
    product(s, weight2, y)
    residual_norm_kernel[grid](y, rest, rows, width, rest.stride(0), rest.stride(1), float(eps), BLOCK_R=8, BLOCK=128)
    return y
