import math

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_az, stride_am, stride_ak, stride_bz, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(M, BLOCK_M)
    batch = (tl.program_id(0) // tiles_m).to(tl.int64)
    offs_m = (tl.program_id(0) % tiles_m) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = offs_m < M
    mask_n = offs_n < N
    a_row = a_ptr + batch * stride_az + offs_m.to(tl.int64)[:, None] * stride_am
    b_col = b_ptr + batch * stride_bz + offs_n.to(tl.int64)[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        offs_k = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
        mask_k = offs_k < K
        a = tl.load(a_row + offs_k[None, :] * stride_ak, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_col + offs_k[:, None] * stride_bk, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    c_row = c_ptr + (batch * M + offs_m)[:, None] * N
    tl.store(c_row + offs_n[None, :], acc, mask=mask_m[:, None] & mask_n[None, :])


def as_batch(x: torch.Tensor, batch: tuple) -> torch.Tensor:
    rows, cols = x.shape[-2:]
    x = x.expand(*batch, rows, cols)
    try:
        return x.view(math.prod(batch), rows, cols)
    except RuntimeError:
        return x.contiguous().view(math.prod(batch), rows, cols)


def matmul(tensor1: torch.Tensor, tensor2: torch.Tensor) -> torch.Tensor:
    a = tensor1.unsqueeze(0) if tensor1.dim() == 1 else tensor1
    b = tensor2.unsqueeze(1) if tensor2.dim() == 1 else tensor2
    M, K = a.shape[-2:]
    N = b.shape[-1]
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = batch + ((M,) if tensor1.dim() > 1 else ()) + ((N,) if tensor2.dim() > 1 else ())
    c = torch.empty(shape, dtype=torch.float32, device=a.device)
    a = as_batch(a, batch)
    b = as_batch(b, batch)
    grid = (math.prod(batch) * triton.cdiv(M, 64), triton.cdiv(N, 64))
    matmul_kernel[grid](
        a, b, c, M, N, K,
        a.stride(0), a.stride(1), a.stride(2), b.stride(0), b.stride(1), b.stride(2),
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    return c
