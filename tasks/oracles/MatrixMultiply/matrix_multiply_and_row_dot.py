import torch
import triton
import triton.language as tl


@triton.jit
def two_rows_kernel(
    a_ptr, b_ptr, part_ptr, M, P, span, stride_an, stride_am, stride_bm, stride_bp,
    BLOCK_M: tl.constexpr, BLOCK_P: tl.constexpr,
):  # fmt: skip
    """The first two rows of A @ B, summed over one span of M."""
    offs_p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    mask_p = offs_p < P
    first = tl.program_id(1) * span
    last = tl.minimum(first + span, M)
    b_col = b_ptr + offs_p.to(tl.int64)[None, :] * stride_bp
    row0 = tl.zeros((BLOCK_M, BLOCK_P), dtype=tl.float32)
    row1 = tl.zeros((BLOCK_M, BLOCK_P), dtype=tl.float32)
    for start in range(first, last, BLOCK_M):
        offs_m = (start + tl.arange(0, BLOCK_M)).to(tl.int64)
        mask_m = offs_m < last
        b = tl.load(b_col + offs_m[:, None] * stride_bm, mask=mask_m[:, None] & mask_p[None, :], other=0.0)
        a0 = tl.load(a_ptr + offs_m * stride_am, mask=mask_m, other=0.0)
        a1 = tl.load(a_ptr + stride_an + offs_m * stride_am, mask=mask_m, other=0.0)
        row0 += a0[:, None] * b
        row1 += a1[:, None] * b
    out = part_ptr + tl.program_id(1) * 2 * P + offs_p
    tl.store(out, tl.sum(row0, axis=0), mask=mask_p)
    tl.store(out + P, tl.sum(row1, axis=0), mask=mask_p)


@triton.jit
def dot_kernel(part_ptr, c_ptr, y_ptr, parts, P, alpha, beta, stride_cn, stride_cp, BLOCK_P: tl.constexpr):
    """Adds the spans and beta C, and multiplies the two rows."""
    total = tl.zeros((BLOCK_P,), dtype=tl.float32)
    for start in range(0, P, BLOCK_P):
        offs = start + tl.arange(0, BLOCK_P)
        mask = offs < P
        row0 = tl.zeros((BLOCK_P,), dtype=tl.float32)
        row1 = tl.zeros((BLOCK_P,), dtype=tl.float32)
        for part in range(0, parts):
            row0 += tl.load(part_ptr + 2 * part * P + offs, mask=mask, other=0.0)
            row1 += tl.load(part_ptr + (2 * part + 1) * P + offs, mask=mask, other=0.0)
        c_ptrs = c_ptr + offs.to(tl.int64) * stride_cp
        row0 = alpha * row0 + beta * tl.load(c_ptrs, mask=mask, other=0.0)
        row1 = alpha * row1 + beta * tl.load(c_ptrs + stride_cn, mask=mask, other=0.0)
        total += row0 * row1
    tl.store(y_ptr, tl.sum(total, axis=0))


def matrix_multiply_and_row_dot(
    A: torch.Tensor, B: torch.Tensor, alpha: float, beta: float, C: torch.Tensor
) -> torch.Tensor:
    M, P = B.shape
    BLOCK_M, BLOCK_P = 16, 128
    blocks = triton.cdiv(P, BLOCK_P)
    # few columns leave most of a GPU idle unless several programs share each of them
    parts = min(triton.cdiv(M, 2 * BLOCK_M), triton.cdiv(512, blocks), 16)
    span = triton.cdiv(triton.cdiv(M, parts), BLOCK_M) * BLOCK_M
    parts = triton.cdiv(M, span)
    part = torch.empty((parts, 2, P), dtype=torch.float32, device=A.device)
    y = torch.empty((), dtype=torch.float32, device=A.device)
    two_rows_kernel[(blocks, parts)](
        A, B, part, M, P, span, A.stride(0), A.stride(1), B.stride(0), B.stride(1), BLOCK_M=BLOCK_M, BLOCK_P=BLOCK_P
    )
    dot_kernel[(1,)](
        part, C, y, parts, P, float(alpha), float(beta), C.stride(0), C.stride(1), BLOCK_P=1024, num_warps=8
    )
    return y
