import torch
import triton
import triton.language as tl


@triton.jit
def tril_matmul_kernel(
    a_ptr, b_ptr, y_ptr, N, P, alpha, beta, stride_an, stride_ak, stride_bk, stride_bp,
    BLOCK_N: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_p = tl.program_id(1) * BLOCK_P + tl.arange(0, BLOCK_P)
    mask_n = offs_n < N
    mask_p = offs_p < P
    # tiles to the right of the diagonal hold nothing that counts
    last = tl.minimum(N, tl.program_id(0) * BLOCK_N + BLOCK_N)
    acc = tl.zeros((BLOCK_N, BLOCK_P), dtype=tl.float32)
    for start in range(0, last, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        mask_k = offs_k < N
        a_ptrs = a_ptr + offs_n.to(tl.int64)[:, None] * stride_an + offs_k.to(tl.int64)[None, :] * stride_ak
        b_ptrs = b_ptr + offs_k.to(tl.int64)[:, None] * stride_bk + offs_p.to(tl.int64)[None, :] * stride_bp
        lower = offs_k[None, :] <= offs_n[:, None]
        a = tl.load(a_ptrs, mask=lower & mask_n[:, None], other=0.0)
        b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_p[None, :], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    y_row = y_ptr + offs_n.to(tl.int64)[:, None] * P
    tl.store(y_row + offs_p[None, :], beta * (alpha * acc), mask=mask_n[:, None] & mask_p[None, :])


def tril_mm_and_scale(A: torch.Tensor, B: torch.Tensor, alpha: float, beta: float) -> torch.Tensor:
    N, P = B.shape
    y = torch.empty((N, P), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(N, 64), triton.cdiv(P, 64))
    tril_matmul_kernel[grid](
        A, B, y, N, P, float(alpha), float(beta), A.stride(0), A.stride(1), B.stride(0), B.stride(1),
        BLOCK_N=64, BLOCK_P=64, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    return y
