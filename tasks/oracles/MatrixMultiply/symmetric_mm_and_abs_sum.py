import torch
import triton
import triton.language as tl


@triton.jit
def abs_tile_kernel(
    a_ptr, c_ptr, part_ptr, N, M, alpha, beta, stride_an, stride_am, stride_ci, stride_cj,
    BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr,
):  # fmt: skip
    """The sum of |alpha A A^T + beta C| over one tile."""
    offs_i = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_i = offs_i < N
    mask_j = offs_j < N
    rows = offs_i.to(tl.int64)[:, None]
    cols = offs_j.to(tl.int64)[None, :]
    acc = tl.zeros((BLOCK_N, BLOCK_N), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        offs_m = (start + tl.arange(0, BLOCK_M)).to(tl.int64)
        mask_m = offs_m < M
        a_ptrs = a_ptr + rows * stride_an + offs_m[None, :] * stride_am
        t_ptrs = a_ptr + cols * stride_an + offs_m[:, None] * stride_am
        a = tl.load(a_ptrs, mask=mask_i[:, None] & mask_m[None, :], other=0.0)
        t = tl.load(t_ptrs, mask=mask_m[:, None] & mask_j[None, :], other=0.0)
        acc += tl.dot(a, t, input_precision="ieee")
    # padded elements of both are 0
    mask = mask_i[:, None] & mask_j[None, :]
    c = tl.load(c_ptr + rows * stride_ci + cols * stride_cj, mask=mask, other=0.0)
    total = tl.sum(tl.sum(tl.abs(alpha * acc + beta * c), axis=1), axis=0)
    tl.store(part_ptr + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), total)


@triton.jit
def sum_kernel(part_ptr, y_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        total += tl.load(part_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr, tl.sum(total, axis=0))


def symmetric_mm_and_abs_sum(A: torch.Tensor, C: torch.Tensor, alpha: float, beta: float) -> torch.Tensor:
    N, M = A.shape
    tiles = triton.cdiv(N, 64)
    part = torch.empty((tiles, tiles), dtype=torch.float32, device=A.device)
    y = torch.empty((), dtype=torch.float32, device=A.device)
    abs_tile_kernel[(tiles, triton.cdiv(N, 64))](
        A, C, part, N, M, float(alpha), float(beta), A.stride(0), A.stride(1), C.stride(0), C.stride(1),
        BLOCK_N=64, BLOCK_M=16, num_warps=8,
    )  # fmt: skip
    sum_kernel[(1,)](part, y, tiles * tiles, BLOCK=512)
    return y
