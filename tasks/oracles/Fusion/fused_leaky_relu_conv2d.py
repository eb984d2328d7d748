import torch
import triton
import triton.language as tl

# small whole numbers differ from layer to layer: one compiled kernel serves them all
GEOMETRY = ["pixels", "H", "W", "OH", "OW", "R", "S", "channels", "filters", "groups", "stride", "padding", "dilation"]


@triton.jit(do_not_specialize=GEOMETRY)
def leaky_relu_conv2d_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr,
    pixels, H, W, OH, OW, R, S, channels, filters, groups, stride, padding, dilation,
    stride_xn, stride_xc, stride_xh, stride_xw, negative_slope,
    HAS_BIAS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tiles_n = tl.cdiv(filters, BLOCK_N)
    group = tl.program_id(1) // tiles_n
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = (tl.program_id(1) % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = offs_m < pixels
    mask_n = offs_n < filters
    image = (offs_m // (OH * OW)).to(tl.int64)
    place = offs_m % (OH * OW)
    top = (place // OW) * stride - padding
    left = (place % OW) * stride - padding
    x_image = x_ptr + image * stride_xn + group * channels * stride_xc
    filter_id = (group * filters + offs_n).to(tl.int64)
    depth = channels * R * S
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, depth, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        mask_k = offs_k < depth
        c = offs_k // (R * S)
        h = top[:, None] + ((offs_k // S) % R * dilation)[None, :]
        w = left[:, None] + (offs_k % S * dilation)[None, :]
        inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
        x_offs = c[None, :] * stride_xc + h * stride_xh + w * stride_xw
        a = tl.load(x_image[:, None] + x_offs, mask=inside & mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(
            w_ptr + filter_id[None, :] * depth + offs_k[:, None], mask=mask_k[:, None] & mask_n[None, :], other=0.0
        )
        acc += tl.dot(a, b, input_precision="ieee")
    if HAS_BIAS:
        acc += tl.load(bias_ptr + filter_id, mask=mask_n, other=0.0)[None, :]
    acc = tl.where(acc < 0.0, acc * negative_slope, acc)
    y_offs = (image[:, None] * groups * filters + filter_id[None, :]) * OH * OW + place[:, None]
    tl.store(y_ptr + y_offs, acc, mask=mask_m[:, None] & mask_n[None, :])


def fused_leaky_relu_conv2d(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    negative_slope: float = 0.01,
    inplace: bool = False,
):
    N, _, H, W = input.shape
    F, channels, R, S = weight.shape
    OH = (H + 2 * padding - dilation * (R - 1) - 1) // stride + 1
    OW = (W + 2 * padding - dilation * (S - 1) - 1) // stride + 1
    y = torch.empty((N, F, OH, OW), dtype=torch.float32, device=input.device)
    weight = weight.contiguous()
    has_bias = bias is not None
    bias = bias.contiguous() if has_bias else weight
    pixels, filters = N * OH * OW, F // groups
    grid = (triton.cdiv(pixels, 64), groups * triton.cdiv(filters, 32))
    leaky_relu_conv2d_kernel[grid](
        input, weight, bias, y,
        pixels, H, W, OH, OW, R, S, channels, filters, groups, stride, padding, dilation,
        input.stride(0), input.stride(1), input.stride(2), input.stride(3), float(negative_slope),
        HAS_BIAS=has_bias, BLOCK_M=64, BLOCK_N=32, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    return y
