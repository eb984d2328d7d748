import math

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_rsqrt_kernel(
    a_ptr, b_ptr, y_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
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
        acc = tl.dot(a, b, acc, input_precision="ieee")
    y_row = y_ptr + offs_m.to(tl.int64)[:, None] * N
    tl.store(y_row + offs_n[None, :], 1.0 / tl.sqrt(acc), mask=mask_m[:, None] & mask_n[None, :])


def flattened(x, dims, rows, cols):
    """`x` permuted to `dims`, as a matrix: a view where the strides permit one."""
    x = x.permute(dims)
    try:
        return x.view(rows, cols)
    except RuntimeError:
        return x.contiguous().view(rows, cols)


def tensordot_rsqrt(a: torch.Tensor, b: torch.Tensor, dims) -> torch.Tensor:
    if isinstance(dims, int):
        dims = (range(a.dim() - dims, a.dim()), range(dims))
    over_a = [d % a.dim() for d in dims[0]]
    over_b = [d % b.dim() for d in dims[1]]
    kept_a = [d for d in range(a.dim()) if d not in over_a]
    kept_b = [d for d in range(b.dim()) if d not in over_b]
    K = math.prod(a.shape[d] for d in over_a)
    M = math.prod(a.shape[d] for d in kept_a)
    N = math.prod(b.shape[d] for d in kept_b)
    left = flattened(a, kept_a + over_a, M, K)
    right = flattened(b, over_b + kept_b, K, N)
    shape = [a.shape[d] for d in kept_a] + [b.shape[d] for d in kept_b]
    y = torch.empty(shape, dtype=torch.float32, device=a.device)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    matmul_rsqrt_kernel[grid](
        left, right, y, M, N, K, left.stride(0), left.stride(1), right.stride(0), right.stride(1),
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    return y
