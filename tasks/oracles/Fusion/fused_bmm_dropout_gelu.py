import random

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["seed", "p"])
def bmm_dropout_gelu_kernel(
    a_ptr, b_ptr, y_ptr, M, N, K,
    stride_az, stride_am, stride_ak, stride_bz, stride_bk, stride_bn, seed, p,
    DROP: tl.constexpr, TANH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
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
    d = acc.to(tl.float32)
    if DROP:
        keep = tl.rand(seed, out) >= p
        d = tl.where(keep, d / (1.0 - p), 0.0)
    if TANH:
        # (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), which can't overflow into NaN
        u = 0.7978845608028654 * (d + 0.044715 * d * d * d)
        y = d / (1.0 + tl.exp(-2.0 * u))
    else:
        y = 0.5 * d * (1.0 + tl.erf(0.7071067811865476 * d))
    tl.store(y_ptr + out, y.to(y_ptr.dtype.element_ty), mask=mask_m[:, None] & mask_n[None, :])


def fused_bmm_dropout_gelu(input1, input2, p=0.5, training=True, inplace=False, approximate="none", *, out=None):
    B, M, K = input1.shape
    N = input2.shape[2]
    y = torch.empty((B, M, N), dtype=input1.dtype, device=input1.device) if out is None else out
    grid = (B * triton.cdiv(M, 64), triton.cdiv(N, 64))
    bmm_dropout_gelu_kernel[grid](
        input1, input2, y, M, N, K,
        input1.stride(0), input1.stride(1), input1.stride(2), input2.stride(0), input2.stride(1), input2.stride(2),
        random.getrandbits(31), float(p),
        DROP=bool(training), TANH=approximate == "tanh", BLOCK_M=64, BLOCK_N=64, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    return y
