import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = offs_m < M
    mask_n = offs_n < N
    a_row = a_ptr + offs_m.to(tl.int64)[:, None] * stride_am
    b_col = b_ptr + offs_n.to(tl.int64)[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        offs_k = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
        mask_k = offs_k < K
        a = tl.load(a_row + offs_k[None, :] * stride_ak, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_col + offs_k[:, None] * stride_bk, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc += tl.dot(a, b)
    c_row = c_ptr + offs_m.to(tl.int64)[:, None] * N
    tl.store(c_row + offs_n[None, :], acc.to(tl.float16), mask=mask_m[:, None] & mask_n[None, :])


def matmul_fp16(input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    M, K = input.shape
    N = other.shape[1]
    c = torch.empty((M, N), dtype=torch.float16, device=input.device)
    grid = (triton.cdiv(M, 128), triton.cdiv(N, 64))
    matmul_kernel[grid](
        input, other, c, M, N, K,
        input.stride(0), input.stride(1), other.stride(0), other.stride(1),
        BLOCK_M=128, BLOCK_N=64, BLOCK_K=32, num_warps=4, num_stages=4,
    )  # fmt: skip
    return c
