import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["number", "alpha", "stride_v", "stride_o"])
def mv_sigmoid_sub_kernel(
    a_ptr, v_ptr, other_ptr, y_ptr, n, m, number, alpha, stride_an, stride_am, stride_v, stride_o,
    HAS_TENSOR: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr,
):  # fmt: skip
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < n
    rows = a_ptr + offs_n.to(tl.int64)[:, None] * stride_an
    acc = tl.zeros((BLOCK_N, BLOCK_M), dtype=tl.float32)
    for start in range(0, m, BLOCK_M):
        offs_m = (start + tl.arange(0, BLOCK_M)).to(tl.int64)
        mask_m = offs_m < m
        a = tl.load(rows + offs_m[None, :] * stride_am, mask=mask_n[:, None] & mask_m[None, :], other=0.0)
        v = tl.load(v_ptr + offs_m * stride_v, mask=mask_m, other=0.0)
        acc += a * v[None, :]
    y = tl.sigmoid(tl.sum(acc, axis=1).to(tl.float32))
    less = number
    if HAS_TENSOR:
        less = tl.load(other_ptr + offs_n * stride_o, mask=mask_n, other=0.0)
    y = y - alpha * less
    tl.store(y_ptr + offs_n, y, mask=mask_n)


def fused_mv_sigmoid_sub(input, vec, other, alpha=1, *, out=None):
    n, m = input.shape
    y = torch.empty((n,), dtype=torch.float32, device=input.device) if out is None else out
    has_tensor = isinstance(other, torch.Tensor)
    number = 0.0 if has_tensor else float(other)
    other = other.expand(n) if has_tensor else vec
    grid = (triton.cdiv(n, 8),)
    mv_sigmoid_sub_kernel[grid](
        input, vec, other, y, n, m, number, float(alpha), input.stride(0), input.stride(1), vec.stride(0),
        other.stride(0), HAS_TENSOR=has_tensor, BLOCK_N=8, BLOCK_M=256,
    )  # fmt: skip
    return y
