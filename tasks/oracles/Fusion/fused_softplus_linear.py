import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["beta", "threshold"])
def softplus_linear_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, M, N, K, stride_xm, stride_xk, stride_wn, stride_wk,
    beta, threshold,
    HAS_BIAS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offs_m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    offs_n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    mask_m = offs_m < M
    mask_n = offs_n < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        offs_k = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
        mask_k = offs_k < K
        x_offs = offs_m[:, None] * stride_xm + offs_k[None, :] * stride_xk
        w_offs = offs_k[:, None] * stride_wk + offs_n[None, :] * stride_wn
        x = tl.load(x_ptr + x_offs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        w = tl.load(w_ptr + w_offs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc += tl.dot(x, w, input_precision="ieee")
    if HAS_BIAS:
        acc += tl.load(bias_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)[None, :]
    z = acc.to(tl.float32)
    u = beta * z
    # log(1 + exp(u)) = max(u, 0) + log(1 + exp(-|u|)), which can't overflow
    soft = (tl.maximum(u, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(u)))) / beta
    y = tl.where((u > threshold) | (u != u), z, soft)
    tl.store(y_ptr + offs_m[:, None] * N + offs_n[None, :], y, mask=mask_m[:, None] & mask_n[None, :])


def fused_softplus_linear(input, weight, bias=None, beta=1, threshold=20):
    N, K = weight.shape
    x = input.reshape(-1, K)
    M = x.shape[0]
    y = torch.empty((*input.shape[:-1], N), dtype=input.dtype, device=input.device)
    has_bias = bias is not None
    bias = bias.contiguous() if has_bias else weight
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    softplus_linear_kernel[grid](
        x, weight, bias, y, M, N, K, x.stride(0), x.stride(1), weight.stride(0), weight.stride(1),
        float(beta), float(threshold),
        HAS_BIAS=has_bias, BLOCK_M=64, BLOCK_N=64, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    return y
