import random

import torch
import triton
import triton.language as tl


@triton.jit
def mv_kernel(
    a_ptr, v_ptr, z_ptr, n, m, stride_an, stride_am, stride_v, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr
):  # fmt: skip
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < n
    rows = a_ptr + offs_n.to(tl.int64)[:, None] * stride_an
    acc = tl.zeros((BLOCK_N, BLOCK_M), dtype=tl.float32)
    for start in range(0, m, BLOCK_M):
        offs_m = (start + tl.arange(0, BLOCK_M)).to(tl.int64)
        mask_m = offs_m < m
        a = tl.load(rows + offs_m[None, :] * stride_am, mask=mask_n[:, None] & mask_m[None, :], other=0.0)
        v = tl.load(v_ptr + offs_m * stride_v, mask=mask_m, other=0.0)
        acc += a * v[None, :]
    tl.store(z_ptr + offs_n, tl.sum(acc, axis=1), mask=mask_n)


@triton.jit(do_not_specialize=["seed", "p"])
def log_softmax_dropout_kernel(z_ptr, y_ptr, n, seed, p, DROP: tl.constexpr, BLOCK: tl.constexpr):
    """One program: n is the height of a matrix, and z is small."""
    top = tl.full((BLOCK,), -float("inf"), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        z = tl.load(z_ptr + offs, mask=offs < n, other=-float("inf"))
        top = tl.maximum(top, z)
    peak = tl.max(top, axis=0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        z = tl.load(z_ptr + offs, mask=offs < n, other=-float("inf"))
        total += tl.exp(z - peak)
    log_total = tl.log(tl.sum(total, axis=0).to(tl.float32))
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        y = tl.load(z_ptr + offs, mask=mask, other=0.0) - peak - log_total
        if DROP:
            keep = tl.rand(seed, offs) >= p
            y = tl.where(keep, y / (1.0 - p), 0.0)
        tl.store(y_ptr + offs, y, mask=mask)


def fused_mv_logsoftmax_dropout(input, vec, p=0.5, training=True, inplace=False, dim=0, *, out=None):
    n, m = input.shape
    z = torch.empty((n,), dtype=torch.float32, device=input.device)
    y = torch.empty((n,), dtype=torch.float32, device=input.device) if out is None else out
    grid = (triton.cdiv(n, 16),)
    mv_kernel[grid](input, vec, z, n, m, input.stride(0), input.stride(1), vec.stride(0), BLOCK_N=16, BLOCK_M=128)
    log_softmax_dropout_kernel[(1,)](
        z, y, n, random.getrandbits(31), float(p), DROP=bool(training), BLOCK=2048, num_warps=8
    )
    return y
