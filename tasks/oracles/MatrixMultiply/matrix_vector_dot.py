import torch
import triton
import triton.language as tl


@triton.jit
def matrix_vector_kernel(
    a_ptr, x_ptr, y_ptr, part_ptr, n, alpha, beta, stride_am, stride_ak, stride_x, stride_y,
    BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """New values of BLOCK_M elements of y, and their part of the dot product."""
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
    y = tl.load(y_ptr + offs_m * stride_y, mask=mask_m, other=0.0)
    y = alpha * tl.sum(acc, axis=1) + beta * y
    tl.store(y_ptr + offs_m * stride_y, y, mask=mask_m)
    own = tl.load(x_ptr + offs_m * stride_x, mask=mask_m, other=0.0)
    tl.store(part_ptr + tl.program_id(0), tl.sum(tl.where(mask_m, y * own, 0.0), axis=0))


@triton.jit
def sum_kernel(part_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        total += tl.load(part_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr, tl.sum(total, axis=0))


def matrix_vector_dot(A: torch.Tensor, x: torch.Tensor, y: torch.Tensor, alpha: float, beta: float) -> torch.Tensor:
    n = y.shape[0]
    result = torch.empty((), dtype=torch.float32, device=y.device)
    # neighbours in memory are rows of a transposed matrix
    BLOCK_M, BLOCK_K = (64, 16) if A.stride(0) == 1 else (8, 256)
    blocks = triton.cdiv(n, BLOCK_M)
    part = torch.empty((blocks,), dtype=torch.float32, device=y.device)
    matrix_vector_kernel[(blocks,)](
        A, x, y, part, n, float(alpha), float(beta), A.stride(0), A.stride(1), x.stride(0), y.stride(0),
        BLOCK_M=BLOCK_M, BLOCK_K=BLOCK_K,
    )  # fmt: skip
    sum_kernel[(1,)](part, result, blocks, BLOCK=512)
    return result
