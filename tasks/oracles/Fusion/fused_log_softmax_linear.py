import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(
    x_ptr, w_ptr, bias_ptr, z_ptr, M, N, K, stride_xm, stride_xk, stride_wn, stride_wk,
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
    tl.store(z_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=mask_m[:, None] & mask_n[None, :])


@triton.jit(do_not_specialize=["slices"])
def log_softmax_kernel(
    z_ptr, y_ptr, slices, n, inner, ACC: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Slices along one dimension: `inner` places lie between neighbours of a slice."""
    s = (tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)).to(tl.int64)
    mask_s = s < slices
    first = s // inner * inner * n + s % inner
    top = tl.full((BLOCK_S,), -float("inf"), dtype=ACC)
    total = tl.zeros((BLOCK_S,), dtype=ACC)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = mask_s[:, None] & (offs < n)[None, :]
        z = tl.load(z_ptr + first[:, None] + offs[None, :] * inner, mask=mask, other=-float("inf")).to(ACC)
        new = tl.maximum(top, tl.max(z, axis=1))
        # slices past the end keep a total of 0
        base = tl.where(new == -float("inf"), 0.0, new)
        total = total * tl.exp(top - base) + tl.sum(tl.exp(z - base[:, None]), axis=1)
        top = new
    log_total = tl.log(total)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = mask_s[:, None] & (offs < n)[None, :]
        place = first[:, None] + offs[None, :] * inner
        z = tl.load(z_ptr + place, mask=mask, other=0.0).to(ACC)
        y = z - top[:, None] - log_total[:, None]
        tl.store(y_ptr + place, y.to(y_ptr.dtype.element_ty), mask=mask)


def fused_log_softmax_linear(input, weight, bias=None, dim=-1, dtype=None):
    N, K = weight.shape
    x = input.reshape(-1, K)
    M = x.shape[0]
    shape = (*input.shape[:-1], N)
    z = torch.empty(shape, dtype=torch.float32, device=input.device)
    y = torch.empty(shape, dtype=dtype or input.dtype, device=input.device)
    has_bias = bias is not None
    bias = bias.contiguous() if has_bias else weight
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    linear_kernel[grid](
        x, weight, bias, z, M, N, K, x.stride(0), x.stride(1), weight.stride(0), weight.stride(1),
        HAS_BIAS=has_bias, BLOCK_M=64, BLOCK_N=64, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    n, inner = z.shape[dim], z.stride(dim)
    slices = M * N // n
    ACC = tl.float64 if dtype == torch.float64 else tl.float32
    log_softmax_kernel[(triton.cdiv(slices, 8),)](z, y, slices, n, inner, ACC=ACC, BLOCK_S=8, BLOCK=128)
    return y
