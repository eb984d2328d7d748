import torch
import triton
import triton.language as tl


@triton.jit
def nibbles(w_ptr, offs_r, offs_p, rows, cols, divisor, stride_row, stride_col, SHIFT: tl.constexpr):
    """Four-bit values of every second column, as bits 0..3 of whole numbers."""
    offs_c = 2 * offs_p + SHIFT
    mask = (offs_r < rows)[:, None] & (offs_c < cols)[None, :]
    place = offs_r.to(tl.int64)[:, None] * stride_row + offs_c.to(tl.int64)[None, :] * stride_col
    w = tl.load(w_ptr + place, mask=mask, other=0.0).to(tl.float32)
    quotient = tl.div_rn(w, divisor[:, None])
    # adding 1.5 * 2**23 leaves no bits for a fraction, so the sum is rounded half to even
    q = (quotient + 12582912.0) - 12582912.0
    return tl.minimum(tl.maximum(q, -8.0), 7.0).to(tl.int32) & 15


@triton.jit(do_not_specialize=["rows", "cols", "half"])
def pack_kernel(
    w_ptr, packed_ptr, scale_ptr, rows, cols, half, stride_row, stride_col, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr
):
    """A scale for each row, and its values two to a byte: the even column in the low bits."""
    offs_r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    mask_r = offs_r < rows
    row_ptr = w_ptr + offs_r.to(tl.int64)[:, None] * stride_row
    amax = tl.zeros((BLOCK_R,), dtype=tl.float32)
    for start in range(0, cols, BLOCK_C):
        offs_c = start + tl.arange(0, BLOCK_C)
        mask = mask_r[:, None] & (offs_c < cols)[None, :]
        w = tl.load(row_ptr + offs_c.to(tl.int64)[None, :] * stride_col, mask=mask, other=0.0)
        amax = tl.maximum(amax, tl.max(tl.abs(w.to(tl.float32)), axis=1))
    scale = amax / 8.0
    tl.store(scale_ptr + offs_r, scale, mask=mask_r)
    divisor = tl.where(scale > 0, scale, 1.0)
    for start in range(0, half, BLOCK_C):
        offs_p = start + tl.arange(0, BLOCK_C)
        low = nibbles(w_ptr, offs_r, offs_p, rows, cols, divisor, stride_row, stride_col, SHIFT=0)
        high = nibbles(w_ptr, offs_r, offs_p, rows, cols, divisor, stride_row, stride_col, SHIFT=1)
        mask = mask_r[:, None] & (offs_p < half)[None, :]
        place = offs_r.to(tl.int64)[:, None] * half + offs_p[None, :]
        tl.store(packed_ptr + place, (low | (high << 4)).to(tl.uint8), mask=mask)


@triton.jit
def signed_half(bits):
    """-8..7 in float16 from four bits in two's complement."""
    return ((bits ^ 8) - 8).to(tl.float16)


@triton.jit(do_not_specialize=["M"])
def int4_linear_kernel(
    x_ptr, packed_ptr, scale_ptr, bias_ptr, y_ptr, M, N, K, half,
    HAS_BIAS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offs_m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = offs_m < M
    mask_n = offs_n < N
    x_row = x_ptr + offs_m.to(tl.int64)[:, None] * K
    packed_col = packed_ptr + offs_n.to(tl.int64)[None, :] * half
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, half, BLOCK_K):
        offs_p = start + tl.arange(0, BLOCK_K)
        even = 2 * offs_p
        bits = tl.load(packed_col + offs_p[:, None], mask=(offs_p < half)[:, None] & mask_n[None, :], other=0)
        bits = bits.to(tl.int32)
        a = tl.load(x_row + even[None, :], mask=mask_m[:, None] & (even < K)[None, :], other=0.0)
        b = tl.load(x_row + even[None, :] + 1, mask=mask_m[:, None] & (even + 1 < K)[None, :], other=0.0)
        acc += tl.dot(a, signed_half(bits & 15))
        acc += tl.dot(b, signed_half(bits >> 4))
    y = acc * tl.load(scale_ptr + offs_n, mask=mask_n, other=0.0)[None, :]
    if HAS_BIAS:
        y += tl.load(bias_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)[None, :]
    y_offs = offs_m.to(tl.int64)[:, None] * N + offs_n[None, :]
    tl.store(y_ptr + y_offs, y.to(tl.float16), mask=mask_m[:, None] & mask_n[None, :])


def linear_w4a16(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor = None) -> torch.Tensor:
    N, K = weight.shape
    half = triton.cdiv(K, 2)
    packed = torch.empty((N, half), dtype=torch.uint8, device=weight.device)
    scale = torch.empty((N,), dtype=torch.float32, device=weight.device)
    pack_kernel[(triton.cdiv(N, 8),)](
        weight, packed, scale, N, K, half, weight.stride(0), weight.stride(1), BLOCK_R=8, BLOCK_C=256
    )
    x = input.contiguous()
    y = torch.empty((*x.shape[:-1], N), dtype=torch.float16, device=x.device)
    M = x.numel() // K
    has_bias = bias is not None
    grid = (triton.cdiv(N, 64), triton.cdiv(M, 32))
    int4_linear_kernel[grid](
        x, packed, scale, bias.contiguous() if has_bias else x, y, M, N, K, half,
        HAS_BIAS=has_bias, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32,
    )  # fmt: skip
    return y
