import math

import torch
import triton
import triton.language as tl

# small whole numbers differ from call to call: one compiled kernel serves them all
PLAIN = [
    *("rows", "cols", "q_rows", "q_cols", "heads"),
    *("stride_b", "stride_h", "stride_row", "stride_col", "q_stride_row", "q_stride_col"),
]


@triton.jit(do_not_specialize=PLAIN)
def quantise_kernel(
    x_ptr, q_ptr, scale_ptr, rows, cols, q_rows, q_cols, heads,
    stride_b, stride_h, stride_row, stride_col, q_stride_row, q_stride_col,
    BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """int8 values of one head's matrix and a scale for each of its rows; both are padded with zeros."""
    head = tl.program_id(1).to(tl.int64)
    offs_r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    mask_r = offs_r < rows
    base = (head // heads) * stride_b + (head % heads) * stride_h
    row_ptr = x_ptr + base + offs_r.to(tl.int64)[:, None] * stride_row
    q_row_ptr = q_ptr + head * q_rows * q_cols + offs_r[:, None] * q_stride_row
    amax = tl.zeros((BLOCK_R,), dtype=tl.float32)
    for start in range(0, cols, BLOCK_C):
        offs_c = start + tl.arange(0, BLOCK_C)
        mask = mask_r[:, None] & (offs_c < cols)[None, :]
        x = tl.load(row_ptr + offs_c.to(tl.int64)[None, :] * stride_col, mask=mask, other=0.0)
        amax = tl.maximum(amax, tl.max(tl.abs(x), axis=1))
    scale = tl.div_rn(amax, 127.0)
    tl.store(scale_ptr + head * q_rows + offs_r, scale, mask=offs_r < q_rows)
    divisor = tl.where(scale > 0, scale, 1.0)
    for start in range(0, q_cols, BLOCK_C):
        offs_c = start + tl.arange(0, BLOCK_C)
        mask = mask_r[:, None] & (offs_c < cols)[None, :]
        x = tl.load(row_ptr + offs_c.to(tl.int64)[None, :] * stride_col, mask=mask, other=0.0)
        quotient = tl.div_rn(x, divisor[:, None])
        # adding 1.5 * 2**23 leaves no bits for a fraction, so the sum is rounded half to even
        q = ((quotient + 12582912.0) - 12582912.0).to(tl.int8)
        mask_q = (offs_r < q_rows)[:, None] & (offs_c < q_cols)[None, :]
        tl.store(q_row_ptr + offs_c[None, :] * q_stride_col, q, mask=mask_q)


@triton.jit(do_not_specialize=["L", "S", "D"])
def int8_attention_kernel(
    qq_ptr, qk_ptr, qv_ptr, sq_ptr, sk_ptr, sv_ptr, y_ptr, L, S, D, root,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1).to(tl.int64)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    mask_m = offs_m < L
    sq = tl.load(sq_ptr + head * L + offs_m, mask=mask_m, other=0.0)
    row = head * L + offs_m
    qq = tl.load(qq_ptr + row[:, None] * BLOCK_D + offs_d[None, :], mask=mask_m[:, None], other=0)
    top = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)
    for start in range(0, S, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < S
        token = head * S + offs_n
        qk = tl.load(qk_ptr + token[None, :] * BLOCK_D + offs_d[:, None], mask=mask_n[None, :], other=0)
        sk = tl.load(sk_ptr + token, mask=mask_n, other=0.0)
        score = tl.dot(qq, qk, out_dtype=tl.int32).to(tl.float32) * sq[:, None] * sk[None, :] / root
        score = tl.where(mask_n[None, :], score, -float("inf"))
        new_top = tl.maximum(top, tl.max(score, axis=1))
        p = tl.exp(score - new_top[:, None])
        rescale = tl.exp(top - new_top)
        total = total * rescale + tl.sum(p, axis=1)
        qv = tl.load(qv_ptr + token[:, None] * BLOCK_D + offs_d[None, :], mask=mask_n[:, None], other=0)
        # the float32 probability is the sum of two float16 numbers up to 2**-22 of it, and whole numbers are exact
        high = p.to(tl.float16)
        low = ((p - high.to(tl.float32)) * 2048.0).to(tl.float16)
        qv = qv.to(tl.float16)
        acc = acc * rescale[:, None] + (tl.dot(high, qv) + tl.dot(low, qv) / 2048.0)
        top = new_top
    sv = tl.load(sv_ptr + head * BLOCK_D + offs_d)
    y = acc / total[:, None] * sv[None, :]
    tl.store(y_ptr + row[:, None] * D + offs_d[None, :], y, mask=mask_m[:, None] & (offs_d < D)[None, :])


def quantise(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Fills `q`, int8, and returns the scales of its rows; both have four dimensions, and `q` may be larger."""
    B, H, rows, cols = x.shape
    q_rows, q_cols = q.shape[2:]
    scale = torch.empty((B, H, q_rows), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(q_rows, 16), B * H)
    quantise_kernel[grid](
        x, q, scale, rows, cols, q_rows, q_cols, H,
        x.stride(0), x.stride(1), x.stride(2), x.stride(3), q.stride(2), q.stride(3), BLOCK_R=16, BLOCK_C=64,
    )  # fmt: skip
    return scale


def attention_w8a8(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    y = torch.empty(query.shape, dtype=torch.float32, device=query.device)
    if query.dim() == 3:
        query, key, value = query[:, None], key[:, None], value[:, None]
    B, H, L, D = query.shape
    S = key.shape[2]
    # an int8 product needs a depth of 32 at least
    BLOCK_D = max(32, triton.next_power_of_2(D))
    qq = torch.empty((B, H, L, BLOCK_D), dtype=torch.int8, device=query.device)
    qk = torch.empty((B, H, S, BLOCK_D), dtype=torch.int8, device=query.device)
    qv = torch.empty((B, H, S, BLOCK_D), dtype=torch.int8, device=query.device)
    sq = quantise(query, qq)
    sk = quantise(key, qk)
    # the columns of value are the rows of its transpose
    sv = quantise(value.transpose(2, 3), qv.transpose(2, 3))
    grid = (triton.cdiv(L, 64), B * H)
    int8_attention_kernel[grid](
        qq, qk, qv, sq, sk, sv, y, L, S, D, math.sqrt(D), BLOCK_M=64, BLOCK_N=64, BLOCK_D=BLOCK_D
    )
    return y
