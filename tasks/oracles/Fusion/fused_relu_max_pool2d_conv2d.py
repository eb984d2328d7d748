import torch
import triton
import triton.language as tl

# small whole numbers differ from layer to layer: one compiled kernel serves them all
GEOMETRY = [
    *("windows", "H", "W", "OH", "OW", "PH", "PW", "R", "S", "channels", "filters", "groups"),
    *("stride", "padding", "dilation", "pool_size", "pool_stride", "pool_padding", "pool_dilation"),
]


@triton.jit(do_not_specialize=GEOMETRY)
def pooled_conv2d_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr,
    windows, H, W, OH, OW, PH, PW, R, S, channels, filters, groups, stride, padding, dilation,
    pool_size, pool_stride, pool_padding, pool_dilation,
    stride_xn, stride_xc, stride_xh, stride_xw,
    HAS_BIAS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Each program convolves at every place of its windows, and keeps the largest result."""
    tiles_n = tl.cdiv(filters, BLOCK_N)
    group = tl.program_id(1) // tiles_n
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = (tl.program_id(1) % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = offs_m < windows
    mask_n = offs_n < filters
    image = (offs_m // (PH * PW)).to(tl.int64)
    place = offs_m % (PH * PW)
    x_image = x_ptr + image * stride_xn + group * channels * stride_xc
    filter_id = (group * filters + offs_n).to(tl.int64)
    depth = channels * R * S
    # a ReLU follows: what is below zero, or no place at all, counts as zero
    best = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for tap in range(0, pool_size * pool_size):
        row = (place // PW) * pool_stride - pool_padding + tap // pool_size * pool_dilation
        col = (place % PW) * pool_stride - pool_padding + tap % pool_size * pool_dilation
        mask_z = mask_m & (row >= 0) & (row < OH) & (col >= 0) & (col < OW)
        top = row * stride - padding
        left = col * stride - padding
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, depth, BLOCK_K):
            offs_k = start + tl.arange(0, BLOCK_K)
            mask_k = offs_k < depth
            c = offs_k // (R * S)
            h = top[:, None] + ((offs_k // S) % R * dilation)[None, :]
            w = left[:, None] + (offs_k % S * dilation)[None, :]
            inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
            x_offs = c[None, :] * stride_xc + h * stride_xh + w * stride_xw
            a = tl.load(x_image[:, None] + x_offs, mask=inside & mask_z[:, None] & mask_k[None, :], other=0.0)
            b = tl.load(
                w_ptr + filter_id[None, :] * depth + offs_k[:, None], mask=mask_k[:, None] & mask_n[None, :], other=0.0
            )
            acc += tl.dot(a, b, input_precision="ieee")
        if HAS_BIAS:
            acc += tl.load(bias_ptr + filter_id, mask=mask_n, other=0.0)[None, :]
        # a comparison, unlike a maximum, keeps NaN
        larger = mask_z[:, None] & ((acc > best) | (acc != acc))
        best = tl.where(larger, acc, best)
    y_offs = (image[:, None] * groups * filters + filter_id[None, :]) * PH * PW + place[:, None]
    tl.store(y_ptr + y_offs, best, mask=mask_m[:, None] & mask_n[None, :])


def fused_relu_max_pool2d_conv2d(
    input, weight, bias=None, conv_stride=1, conv_padding=0, conv_dilation=1, conv_groups=1, pool_kernel_size=2,
    pool_stride=None, pool_padding=0, pool_dilation=1, pool_ceil_mode=False, inplace=False,
):  # fmt: skip
    N, _, H, W = input.shape
    F, channels, R, S = weight.shape
    OH = (H + 2 * conv_padding - conv_dilation * (R - 1) - 1) // conv_stride + 1
    OW = (W + 2 * conv_padding - conv_dilation * (S - 1) - 1) // conv_stride + 1
    if pool_stride is None:
        pool_stride = pool_kernel_size
    PH = pooled_size(OH, pool_kernel_size, pool_stride, pool_padding, pool_dilation, pool_ceil_mode)
    PW = pooled_size(OW, pool_kernel_size, pool_stride, pool_padding, pool_dilation, pool_ceil_mode)
    y = torch.empty((N, F, PH, PW), dtype=torch.float32, device=input.device)
    weight = weight.contiguous()
    has_bias = bias is not None
    bias = bias.contiguous() if has_bias else weight
    windows, filters = N * PH * PW, F // conv_groups
    grid = (triton.cdiv(windows, 64), conv_groups * triton.cdiv(filters, 32))
    pooled_conv2d_kernel[grid](
        input, weight, bias, y,
        windows, H, W, OH, OW, PH, PW, R, S, channels, filters, conv_groups, conv_stride, conv_padding, conv_dilation,
        pool_kernel_size, pool_stride, pool_padding, pool_dilation,
        input.stride(0), input.stride(1), input.stride(2), input.stride(3),
        HAS_BIAS=has_bias, BLOCK_M=64, BLOCK_N=32, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    return y


def pooled_size(size, taps, stride, padding, dilation, ceil_mode):
    room = size + 2 * padding - dilation * (taps - 1) - 1
    pooled = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    # the last window must begin in the image or in the padding ahead of it
    return pooled - 1 if ceil_mode and (pooled - 1) * stride >= size + padding else pooled
