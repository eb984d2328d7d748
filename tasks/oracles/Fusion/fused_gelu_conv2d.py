import torch
import triton
import triton.language as tl

# small whole numbers differ from layer to layer: one compiled kernel serves them all
GEOMETRY = [
    *("pixels", "H", "W", "OH", "OW", "R", "S", "channels", "filters", "groups"),
    *("stride_h", "stride_w", "padding_h", "padding_w", "dilation_h", "dilation_w"),
]


@triton.jit(do_not_specialize=GEOMETRY)
def gelu_conv2d_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr,
    pixels, H, W, OH, OW, R, S, channels, filters, groups,
    stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w,
    stride_xn, stride_xc, stride_xh, stride_xw,
    HAS_BIAS: tl.constexpr, TANH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tiles_n = tl.cdiv(filters, BLOCK_N)
    group = tl.program_id(1) // tiles_n
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = (tl.program_id(1) % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = offs_m < pixels
    mask_n = offs_n < filters
    image = (offs_m // (OH * OW)).to(tl.int64)
    place = offs_m % (OH * OW)
    top = (place // OW) * stride_h - padding_h
    left = (place % OW) * stride_w - padding_w
    x_image = x_ptr + image * stride_xn + group * channels * stride_xc
    filter_id = (group * filters + offs_n).to(tl.int64)
    depth = channels * R * S
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, depth, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        mask_k = offs_k < depth
        c = offs_k // (R * S)
        h = top[:, None] + ((offs_k // S) % R * dilation_h)[None, :]
        w = left[:, None] + (offs_k % S * dilation_w)[None, :]
        inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
        x_offs = c[None, :] * stride_xc + h * stride_xh + w * stride_xw
        a = tl.load(x_image[:, None] + x_offs, mask=inside & mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(
            w_ptr + filter_id[None, :] * depth + offs_k[:, None], mask=mask_k[:, None] & mask_n[None, :], other=0.0
        )
        acc += tl.dot(a, b, input_precision="ieee")
    if HAS_BIAS:
        acc += tl.load(bias_ptr + filter_id, mask=mask_n, other=0.0)[None, :]
    if TANH:
        # (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), which can't overflow into NaN
        u = 0.7978845608028654 * (acc + 0.044715 * acc * acc * acc)
        acc = acc / (1.0 + tl.exp(-2.0 * u))
    else:
        acc = 0.5 * acc * (1.0 + tl.erf(0.7071067811865476 * acc))
    y_offs = (image[:, None] * groups * filters + filter_id[None, :]) * OH * OW + place[:, None]
    tl.store(y_ptr + y_offs, acc, mask=mask_m[:, None] & mask_n[None, :])


def fused_gelu_conv2d(
    input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, approximate="none", out=None
):  # fmt: skip
    N, _, H, W = input.shape
    F, channels, R, S = weight.shape
    stride_h, stride_w = pair(stride)
    dilation_h, dilation_w = pair(dilation)
    if padding == "same":
        # both sides together; what is odd goes below and to the right
        added_h, added_w = dilation_h * (R - 1), dilation_w * (S - 1)
        padding_h, padding_w = added_h // 2, added_w // 2
    else:
        padding_h, padding_w = pair(0 if padding == "valid" else padding)
        added_h, added_w = 2 * padding_h, 2 * padding_w
    OH = (H + added_h - dilation_h * (R - 1) - 1) // stride_h + 1
    OW = (W + added_w - dilation_w * (S - 1) - 1) // stride_w + 1
    y = torch.empty((N, F, OH, OW), dtype=torch.float32, device=input.device) if out is None else out
    weight = weight.contiguous()
    has_bias = bias is not None
    bias = bias.contiguous() if has_bias else weight
    pixels, filters = N * OH * OW, F // groups
    grid = (triton.cdiv(pixels, 64), groups * triton.cdiv(filters, 32))
    gelu_conv2d_kernel[grid](
        input, weight, bias, y,
        pixels, H, W, OH, OW, R, S, channels, filters, groups,
        stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w,
        input.stride(0), input.stride(1), input.stride(2), input.stride(3),
        HAS_BIAS=has_bias, TANH=approximate == "tanh", BLOCK_M=64, BLOCK_N=32, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    return y


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)
