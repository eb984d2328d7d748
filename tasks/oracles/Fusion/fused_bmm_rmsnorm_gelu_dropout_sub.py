import random

import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(
    a_ptr, b_ptr, z_ptr, M, N, K,
    stride_az, stride_am, stride_ak, stride_bz, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(M, BLOCK_M)
    batch = (tl.program_id(0) // tiles_m).to(tl.int64)
    offs_m = ((tl.program_id(0) % tiles_m) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    offs_n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    mask_m = offs_m < M
    mask_n = offs_n < N
    a_row = a_ptr + batch * stride_az + offs_m[:, None] * stride_am
    b_col = b_ptr + batch * stride_bz + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        offs_k = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
        mask_k = offs_k < K
        a = tl.load(a_row + offs_k[None, :] * stride_ak, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_col + offs_k[:, None] * stride_bk, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    out = (batch * M + offs_m)[:, None] * N + offs_n[None, :]
    tl.store(z_ptr + out, acc, mask=mask_m[:, None] & mask_n[None, :])


@triton.jit(do_not_specialize=["seed", "p", "eps"])
def rmsnorm_gelu_dropout_kernel(
    z_ptr, other_ptr, y_ptr, rows, M, N, stride_ob, stride_om, stride_on, eps, seed, p,
    DROP: tl.constexpr, TANH: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    mask_r = row < rows
    total = tl.zeros((BLOCK_R, BLOCK), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = mask_r[:, None] & (offs < N)[None, :]
        z = tl.load(z_ptr + row[:, None] * N + offs[None, :], mask=mask, other=0.0)
        total += z * z
    scale = 1.0 / tl.sqrt(tl.sum(total, axis=1).to(tl.float32) / N + eps)
    for start in range(0, N, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = mask_r[:, None] & (offs < N)[None, :]
        place = row[:, None] * N + offs[None, :]
        u = tl.load(z_ptr + place, mask=mask, other=0.0) * scale[:, None]
        if TANH:
            # (1 + tanh(t)) / 2 = 1 / (1 + exp(-2 t)), which can't overflow into NaN
            t = 0.7978845608028654 * (u + 0.044715 * u * u * u)
            y = u / (1.0 + tl.exp(-2.0 * t))
        else:
            y = 0.5 * u * (1.0 + tl.erf(0.7071067811865476 * u))
        if DROP:
            keep = tl.rand(seed, place) >= p
            y = tl.where(keep, y / (1.0 - p), 0.0)
        other = (row // M * stride_ob + row % M * stride_om)[:, None] + offs.to(tl.int64)[None, :] * stride_on
        y = y - tl.load(other_ptr + other, mask=mask, other=0.0)
        tl.store(y_ptr + place, y, mask=mask)


def fused_bmm_rmsnorm_gelu_dropout_sub(
    input1, input2, other, normalized_shape, dropout_p=0.5, training=True, approximate="none", eps=1e-5, *, out=None
):
    B, M, K = input1.shape
    N = input2.shape[2]
    y = torch.empty((B, M, N), dtype=torch.float32, device=input1.device) if out is None else out
    grid = (B * triton.cdiv(M, 64), triton.cdiv(N, 64))
    bmm_kernel[grid](
        input1, input2, y, M, N, K,
        input1.stride(0), input1.stride(1), input1.stride(2), input2.stride(0), input2.stride(1), input2.stride(2),
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    other = other.expand(B, M, N)
    # the product waits in the output's own memory
    grid = (triton.cdiv(B * M, 8),)
    rmsnorm_gelu_dropout_kernel[grid](
        y, other, y, B * M, M, N, other.stride(0), other.stride(1), other.stride(2), float(eps),
        random.getrandbits(31), float(dropout_p),
        DROP=bool(training), TANH=approximate == "tanh", BLOCK_R=8, BLOCK=128,
    )  # fmt: skip
    return y
