import math

import torch
import triton
import triton.language as tl

# small whole numbers differ from layer to layer: one compiled kernel serves them all
GEOMETRY = [
    *("N", "H", "W", "OH", "OW", "R", "S", "channels", "filters", "groups", "stride", "padding", "dilation"),
    *("tap_step", "row_step"),
]


@triton.jit
def first_tap(phase, padding, dilation, stride, tap_step, taps):
    """The first tap through which an input row can reach the result rows i with i % stride == phase."""
    first = taps
    for r in range(0, tap_step):
        first = tl.where((phase + padding - r * dilation) % stride == 0, tl.minimum(first, r), first)
    return first


@triton.jit(do_not_specialize=GEOMETRY)
def conv_transpose2d_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr,
    N, H, W, OH, OW, R, S, channels, filters, groups, stride, padding, dilation, tap_step, row_step,
    stride_xn, stride_xc, stride_xh, stride_xw,
    HAS_BIAS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    # result rows of one phase (i % stride) are reached by the same taps, `tap_step` apart: no others are looked at
    phase_h = tl.program_id(2) // stride
    phase_w = tl.program_id(2) % stride
    tap_h = first_tap(phase_h, padding, dilation, stride, tap_step, R)
    tap_w = first_tap(phase_w, padding, dilation, stride, tap_step, S)
    taps_h = tl.cdiv(R - tap_h, tap_step)
    taps_w = tl.cdiv(S - tap_w, tap_step)
    rows = tl.cdiv(OH - phase_h, stride)
    cols = tl.cdiv(OW - phase_w, stride)
    tiles_n = tl.cdiv(filters, BLOCK_N)
    group = tl.program_id(1) // tiles_n
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = (tl.program_id(1) % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    places = tl.maximum(rows * cols, 1)
    mask_m = offs_m < N * rows * cols
    mask_n = offs_n < filters
    image = (offs_m // places).to(tl.int64)
    row = offs_m % places // tl.maximum(cols, 1)
    col = offs_m % places % tl.maximum(cols, 1)
    # the divisions leave no remainder
    top = (phase_h + padding - tap_h * dilation) // stride + row
    left = (phase_w + padding - tap_w * dilation) // stride + col
    x_image = x_ptr + image * stride_xn + group * channels * stride_xc
    depth = channels * taps_h * taps_w
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, depth, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        mask_k = offs_k < depth
        c = offs_k // (taps_h * taps_w)
        u = offs_k // taps_w % taps_h
        v = offs_k % taps_w
        h = top[:, None] - (u * row_step)[None, :]
        w = left[:, None] - (v * row_step)[None, :]
        inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
        x_offs = c[None, :] * stride_xc + h * stride_xh + w * stride_xw
        a = tl.load(x_image[:, None] + x_offs, mask=inside & mask_m[:, None] & mask_k[None, :], other=0.0)
        w_row = (group * channels + c).to(tl.int64)[:, None] * filters + offs_n[None, :]
        w_tap = (tap_h + u * tap_step) * S + tap_w + v * tap_step
        b = tl.load(w_ptr + w_row * (R * S) + w_tap[:, None], mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    filter_id = (group * filters + offs_n).to(tl.int64)
    if HAS_BIAS:
        acc += tl.load(bias_ptr + filter_id, mask=mask_n, other=0.0)[None, :]
    place = (phase_h + row * stride) * OW + phase_w + col * stride
    y_offs = (image[:, None] * groups * filters + filter_id[None, :]) * OH * OW + place[:, None]
    tl.store(y_ptr + y_offs, acc, mask=mask_m[:, None] & mask_n[None, :])


def conv_transpose2d(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor = None,
    stride: int = 1,
    padding: int = 0,
    output_padding: int = 0,
    groups: int = 1,
    dilation: int = 1,
) -> torch.Tensor:
    N, C, H, W = input.shape
    _, filters, R, S = weight.shape
    OH = (H - 1) * stride - 2 * padding + dilation * (R - 1) + output_padding + 1
    OW = (W - 1) * stride - 2 * padding + dilation * (S - 1) + output_padding + 1
    y = torch.empty((N, filters * groups, OH, OW), dtype=torch.float32, device=input.device)
    weight = weight.contiguous()
    has_bias = bias is not None
    bias = bias.contiguous() if has_bias else weight
    shared = math.gcd(stride, dilation)
    pixels = N * triton.cdiv(OH, stride) * triton.cdiv(OW, stride)
    grid = (triton.cdiv(pixels, 64), groups * triton.cdiv(filters, 32), stride * stride)
    conv_transpose2d_kernel[grid](
        input, weight, bias, y,
        N, H, W, OH, OW, R, S, C // groups, filters, groups, stride, padding, dilation,
        stride // shared, dilation // shared,
        input.stride(0), input.stride(1), input.stride(2), input.stride(3),
        HAS_BIAS=has_bias, BLOCK_M=64, BLOCK_N=32, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    return y
