import torch
import triton
import triton.language as tl

# small whole numbers differ from call to call: one compiled kernel serves them all
PLAIN = ["rows", "per_matrix", "cols", "stride_matrix", "stride_row", "stride_col"]


@triton.jit(do_not_specialize=PLAIN)
def quantise_kernel(
    x_ptr, q_ptr, scale_ptr, rows, per_matrix, cols, stride_matrix, stride_row, stride_col,
    BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """int8 values and a scale for each of `rows` rows, `per_matrix` of which make a matrix."""
    offs_r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    mask_r = offs_r < rows
    place = (offs_r // per_matrix).to(tl.int64) * stride_matrix + (offs_r % per_matrix).to(tl.int64) * stride_row
    row_ptr = x_ptr + place[:, None]
    amax = tl.zeros((BLOCK_R,), dtype=tl.float32)
    for start in range(0, cols, BLOCK_C):
        offs_c = start + tl.arange(0, BLOCK_C)
        mask = mask_r[:, None] & (offs_c < cols)[None, :]
        x = tl.load(row_ptr + offs_c.to(tl.int64)[None, :] * stride_col, mask=mask, other=0.0)
        amax = tl.maximum(amax, tl.max(tl.abs(x), axis=1))
    scale = tl.div_rn(amax, 127.0)
    tl.store(scale_ptr + offs_r, scale, mask=mask_r)
    divisor = tl.where(scale > 0, scale, 1.0)
    for start in range(0, cols, BLOCK_C):
        offs_c = start + tl.arange(0, BLOCK_C)
        mask = mask_r[:, None] & (offs_c < cols)[None, :]
        x = tl.load(row_ptr + offs_c.to(tl.int64)[None, :] * stride_col, mask=mask, other=0.0)
        quotient = tl.div_rn(x, divisor[:, None])
        # adding 1.5 * 2**23 leaves no bits for a fraction, so the sum is rounded half to even
        q = ((quotient + 12582912.0) - 12582912.0).to(tl.int8)
        tl.store(q_ptr + offs_r.to(tl.int64)[:, None] * cols + offs_c[None, :], q, mask=mask)


@triton.jit(do_not_specialize=["M", "N"])
def int8_bmm_kernel(
    qx_ptr, qw_ptr, sx_ptr, sw_ptr, y_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(2).to(tl.int64)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = offs_m < M
    mask_n = offs_n < N
    row = batch * M + offs_m
    col = batch * N + offs_n
    qx_row = qx_ptr + row[:, None] * K
    qw_col = qw_ptr + col[None, :] * K
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for start in range(0, K, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        mask_k = offs_k < K
        a = tl.load(qx_row + offs_k[None, :], mask=mask_m[:, None] & mask_k[None, :], other=0)
        b = tl.load(qw_col + offs_k[:, None], mask=mask_k[:, None] & mask_n[None, :], other=0)
        acc += tl.dot(a, b, out_dtype=tl.int32)
    sx = tl.load(sx_ptr + row, mask=mask_m, other=0.0)
    sw = tl.load(sw_ptr + col, mask=mask_n, other=0.0)
    y = acc.to(tl.float32) * sx[:, None] * sw[None, :]
    tl.store(y_ptr + row[:, None] * N + offs_n[None, :], y, mask=mask_m[:, None] & mask_n[None, :])


def quantise(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    batch, per_matrix, cols = x.shape
    rows = batch * per_matrix
    q = torch.empty((batch, per_matrix, cols), dtype=torch.int8, device=x.device)
    scale = torch.empty((batch, per_matrix), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(rows, 16),)
    quantise_kernel[grid](
        x, q, scale, rows, per_matrix, cols, x.stride(0), x.stride(1), x.stride(2), BLOCK_R=16, BLOCK_C=128
    )
    return q, scale


def bmm_w8a8(input: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
    B, M, K = input.shape
    N = mat2.shape[2]
    qx, sx = quantise(input)
    qw, sw = quantise(mat2.transpose(1, 2))
    y = torch.empty((B, M, N), dtype=torch.float32, device=input.device)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64), B)
    int8_bmm_kernel[grid](qx, qw, sx, sw, y, M, N, K, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)
    return y
