import math

import torch
import triton
import triton.language as tl


@triton.jit
def matrix_vector_kernel(
    a_ptr, x_ptr, part_ptr, n, scale, p, stride_am, stride_ak, stride_x,
    ORDER: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The sum of |y|^p (for ORDER 0 the maximum of |y|) over BLOCK_M rows."""
    offs_m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    mask_m = offs_m < n
    acc = tl.zeros((BLOCK_M, BLOCK_K), dtype=tl.float32)
    for start in range(0, n, BLOCK_K):
        offs_k = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
        mask_k = offs_k < n
        a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
        a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        x = tl.load(x_ptr + offs_k * stride_x, mask=mask_k, other=0.0)
        acc += a * x[None, :]
    y = tl.abs(scale * tl.sum(acc, axis=1))
    if ORDER == 2:
        y = y * y
    if ORDER == 3:
        y = tl.exp2(p * tl.log2(y))
    part = tl.max(y, axis=0) if ORDER == 0 else tl.sum(y, axis=0)
    tl.store(part_ptr + tl.program_id(0), part)


@triton.jit
def norm_kernel(part_ptr, out_ptr, n, p, ORDER: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        part = tl.load(part_ptr + offs, mask=mask, other=0.0)
        total = tl.maximum(total, part) if ORDER == 0 else total + part
    norm = tl.max(total, axis=0) if ORDER == 0 else tl.sum(total, axis=0)
    if ORDER == 2:
        norm = tl.sqrt(norm)
    if ORDER == 3:
        norm = tl.exp2(tl.log2(norm) / p)
    tl.store(out_ptr, norm)


def symmetric_matrix_vector_norm(
    A: torch.Tensor, x: torch.Tensor, alpha: float, beta: float, p: float = 2.0
) -> torch.Tensor:
    n = x.shape[0]
    result = torch.empty((), dtype=torch.float32, device=x.device)
    BLOCK_M = 8
    blocks = triton.cdiv(n, BLOCK_M)
    part = torch.empty((blocks,), dtype=torch.float32, device=x.device)
    # 0 is the maximum norm, 1 and 2 are themselves, 3 is any other power
    order = 0 if p == math.inf else int(p) if p in (1, 2) else 3
    matrix_vector_kernel[(blocks,)](
        A, x, part, n, alpha * (1.0 + beta), float(p), A.stride(0), A.stride(1), x.stride(0),
        ORDER=order, BLOCK_M=BLOCK_M, BLOCK_K=256,
    )  # fmt: skip
    norm_kernel[(1,)](part, result, blocks, float(p), ORDER=order, BLOCK=256)
    return result
