import math

import torch
import triton
import triton.language as tl


@triton.jit
def nearest_kernel(
    x_ptr, y_ptr, total, channels, in_h, in_w, out_h, out_w, scale_h, scale_w,
    stride_n, stride_c, stride_h, stride_w,
    BLOCK: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0).to(tl.int64) * BLOCK
    offs = start + tl.arange(0, BLOCK)
    mask = offs < total
    # only scalars are divided in 64 bits
    place = (start % (out_h * out_w)).to(tl.int32) + tl.arange(0, BLOCK)
    plane = (start // (out_h * out_w)).to(tl.int32) + place // (out_h * out_w)
    row = place // out_w % out_h
    col = place % out_w
    i = tl.minimum((row.to(tl.float32) * scale_h).to(tl.int32), in_h - 1)
    j = tl.minimum((col.to(tl.float32) * scale_w).to(tl.int32), in_w - 1)
    base = x_ptr + (plane // channels).to(tl.int64) * stride_n + (plane % channels).to(tl.int64) * stride_c
    x = tl.load(base + i * stride_h + j * stride_w, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x, mask=mask)


@triton.jit
def linear_kernel(
    x_ptr, y_ptr, total, channels, in_h, in_w, out_h, out_w, scale_h, scale_w, shift,
    stride_n, stride_c, stride_h, stride_w,
    BLOCK: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0).to(tl.int64) * BLOCK
    offs = start + tl.arange(0, BLOCK)
    mask = offs < total
    # only scalars are divided in 64 bits
    place = (start % (out_h * out_w)).to(tl.int32) + tl.arange(0, BLOCK)
    plane = (start // (out_h * out_w)).to(tl.int32) + place // (out_h * out_w)
    row = place // out_w % out_h
    col = place % out_w
    s = tl.maximum((row.to(tl.float32) + shift) * scale_h - shift, 0.0)
    t = tl.maximum((col.to(tl.float32) + shift) * scale_w - shift, 0.0)
    top = tl.minimum(s.to(tl.int32), in_h - 1)
    left = tl.minimum(t.to(tl.int32), in_w - 1)
    down = s - top
    right = t - left
    bottom = tl.minimum(top + 1, in_h - 1)
    rim = tl.minimum(left + 1, in_w - 1)
    base = x_ptr + (plane // channels).to(tl.int64) * stride_n + (plane % channels).to(tl.int64) * stride_c
    a = tl.load(base + top * stride_h + left * stride_w, mask=mask, other=0.0)
    b = tl.load(base + top * stride_h + rim * stride_w, mask=mask, other=0.0)
    c = tl.load(base + bottom * stride_h + left * stride_w, mask=mask, other=0.0)
    d = tl.load(base + bottom * stride_h + rim * stride_w, mask=mask, other=0.0)
    upper = (1.0 - right) * a + right * b
    lower = (1.0 - right) * c + right * d
    tl.store(y_ptr + offs, (1.0 - down) * upper + down * lower, mask=mask)


def per_dimension(value, dims):
    return [value] * dims if isinstance(value, (int, float)) else list(value)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    lengths = list(input.shape[2:])
    if size is not None:
        outs = per_dimension(size, len(lengths))
        scales = [length / out for length, out in zip(lengths, outs, strict=True)]
    else:
        factors = per_dimension(scale_factor, len(lengths))
        outs = [math.floor(length * factor) for length, factor in zip(lengths, factors, strict=True)]
        scales = [1.0 / factor for factor in factors]
    if align_corners:
        scales = [(length - 1) / (out - 1) if out > 1 else 0.0 for length, out in zip(lengths, outs, strict=True)]
    y = torch.empty((*input.shape[:2], *outs), dtype=input.dtype, device=input.device)
    x = input
    if len(lengths) == 1:
        x, outs, scales = x.unsqueeze(2), [1, *outs], [1.0, *scales]
    BLOCK = 2048
    grid = (triton.cdiv(y.numel(), BLOCK),)
    sizes = (y.numel(), x.shape[1], x.shape[2], x.shape[3], *outs, *scales)
    if mode == "nearest":
        nearest_kernel[grid](x, y, *sizes, *x.stride(), BLOCK=BLOCK, num_warps=8)
    else:
        shift = 0.0 if align_corners else 0.5
        linear_kernel[grid](x, y, *sizes, shift, *x.stride(), BLOCK=BLOCK, num_warps=8)
    return y
