import torch
import triton
import triton.language as tl

# small whole numbers differ from layer to layer: one compiled kernel serves them all
GEOMETRY = ["pixels", "H", "W", "OH", "OW", "R", "S", "channels", "filters", "groups", "stride", "padding", "dilation"]


@triton.jit(do_not_specialize=GEOMETRY)
def conv2d_kernel(
    x_ptr, w_ptr, bias_ptr, mean_ptr, var_ptr, scale_ptr, shift_ptr, y_ptr, part_mean_ptr, part_square_ptr,
    pixels, H, W, OH, OW, R, S, channels, filters, groups, stride, padding, dilation,
    stride_xn, stride_xc, stride_xh, stride_xw, eps,
    HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr, HAS_SHIFT: tl.constexpr, TRAINING: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The whole of it in inference; in training the convolution, with the moments of each channel over the tile."""
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
    if TRAINING:
        count = tl.minimum(pixels - tl.program_id(0) * BLOCK_M, BLOCK_M).to(tl.float32)
        tile_mean = tl.sum(tl.where(mask_m[:, None], acc, 0.0), axis=0) / count
        dev = tl.where(mask_m[:, None], acc - tile_mean[None, :], 0.0)
        part = tl.program_id(0) * groups * filters + filter_id
        tl.store(part_mean_ptr + part, tile_mean, mask=mask_n)
        tl.store(part_square_ptr + part, tl.sum(dev * dev, axis=0), mask=mask_n)
    else:
        mean = tl.load(mean_ptr + filter_id, mask=mask_n, other=0.0)
        factor = 1.0 / tl.sqrt(tl.load(var_ptr + filter_id, mask=mask_n, other=1.0) + eps)
        if HAS_SCALE:
            factor *= tl.load(scale_ptr + filter_id, mask=mask_n, other=0.0)
        acc = (acc - mean[None, :]) * factor[None, :]
        if HAS_SHIFT:
            acc += tl.load(shift_ptr + filter_id, mask=mask_n, other=0.0)[None, :]
        # a comparison, unlike a maximum, keeps NaN
        acc = tl.where(acc < 0.0, 0.0, acc)
    y_offs = (image[:, None] * groups * filters + filter_id[None, :]) * OH * OW + place[:, None]
    tl.store(y_ptr + y_offs, acc, mask=mask_m[:, None] & mask_n[None, :])


@triton.jit(do_not_specialize=["filters", "pixels", "parts"])
def combine_kernel(
    part_mean_ptr, part_square_ptr, mean_ptr, var_ptr, running_mean_ptr, running_var_ptr,
    filters, pixels, parts, momentum,
    HAS_RUNNING: tl.constexpr, SPAN: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_F: tl.constexpr,
):  # fmt: skip
    """Merges the tiles' moments (Chan, Golub, LeVeque) and moves the running statistics."""
    offs_f = tl.program_id(0) * BLOCK_F + tl.arange(0, BLOCK_F)
    mask_f = offs_f < filters
    total = tl.zeros((BLOCK_F,), dtype=tl.float32)
    for start in range(0, parts, BLOCK_P):
        part = start + tl.arange(0, BLOCK_P)
        mask = (part < parts)[:, None] & mask_f[None, :]
        size = tl.minimum(pixels - part * SPAN, SPAN).to(tl.float32)
        tile_mean = tl.load(part_mean_ptr + part[:, None] * filters + offs_f[None, :], mask=mask, other=0.0)
        total += tl.sum(tl.where(mask, tile_mean * size[:, None], 0.0), axis=0)
    mean = total / pixels
    square = tl.zeros((BLOCK_F,), dtype=tl.float32)
    for start in range(0, parts, BLOCK_P):
        part = start + tl.arange(0, BLOCK_P)
        mask = (part < parts)[:, None] & mask_f[None, :]
        size = tl.minimum(pixels - part * SPAN, SPAN).to(tl.float32)
        tile_mean = tl.load(part_mean_ptr + part[:, None] * filters + offs_f[None, :], mask=mask, other=0.0)
        tile_square = tl.load(part_square_ptr + part[:, None] * filters + offs_f[None, :], mask=mask, other=0.0)
        dev = tile_mean - mean[None, :]
        square += tl.sum(tl.where(mask, tile_square + dev * dev * size[:, None], 0.0), axis=0)
    tl.store(mean_ptr + offs_f, mean, mask=mask_f)
    tl.store(var_ptr + offs_f, square / pixels, mask=mask_f)
    if HAS_RUNNING:
        old_mean = tl.load(running_mean_ptr + offs_f, mask=mask_f, other=0.0)
        old_var = tl.load(running_var_ptr + offs_f, mask=mask_f, other=0.0)
        tl.store(running_mean_ptr + offs_f, (1.0 - momentum) * old_mean + momentum * mean, mask=mask_f)
        tl.store(running_var_ptr + offs_f, (1.0 - momentum) * old_var + momentum * (square / (pixels - 1)), mask=mask_f)


@triton.jit(do_not_specialize=["n", "plane", "filters"])
def normalise_kernel(
    y_ptr, mean_ptr, var_ptr, scale_ptr, shift_ptr, n, plane, filters, eps,
    HAS_SCALE: tl.constexpr, HAS_SHIFT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    filter_id = offs // plane % filters
    mean = tl.load(mean_ptr + filter_id, mask=mask, other=0.0)
    factor = 1.0 / tl.sqrt(tl.load(var_ptr + filter_id, mask=mask, other=1.0) + eps)
    if HAS_SCALE:
        factor *= tl.load(scale_ptr + filter_id, mask=mask, other=0.0)
    y = (tl.load(y_ptr + offs, mask=mask, other=0.0) - mean) * factor
    if HAS_SHIFT:
        y += tl.load(shift_ptr + filter_id, mask=mask, other=0.0)
    tl.store(y_ptr + offs, tl.where(y < 0.0, 0.0, y), mask=mask)


def fused_relu_batch_norm_conv2d(
    input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, running_mean=None, running_var=None,
    bn_weight=None, bn_bias=None, training=False, momentum=0.1, eps=1e-05, inplace=False,
):  # fmt: skip
    N, _, H, W = input.shape
    F, channels, R, S = weight.shape
    OH = (H + 2 * padding - dilation * (R - 1) - 1) // stride + 1
    OW = (W + 2 * padding - dilation * (S - 1) - 1) // stride + 1
    y = torch.empty((N, F, OH, OW), dtype=torch.float32, device=input.device)
    weight = weight.contiguous()
    has_bias = bias is not None
    bias = bias.contiguous() if has_bias else weight
    pixels, filters = N * OH * OW, F // groups
    scale, shift = y if bn_weight is None else bn_weight, y if bn_bias is None else bn_bias
    mean, var = running_mean, running_var
    part_mean = part_square = y
    tiles = triton.cdiv(pixels, 64)
    if training:
        mean, var = (torch.empty((F,), dtype=torch.float32, device=y.device) for _ in range(2))
        part_mean, part_square = (torch.empty((tiles, F), dtype=torch.float32, device=y.device) for _ in range(2))
    grid = (tiles, groups * triton.cdiv(filters, 32))
    conv2d_kernel[grid](
        input, weight, bias, mean, var, scale, shift, y, part_mean, part_square,
        pixels, H, W, OH, OW, R, S, channels, filters, groups, stride, padding, dilation,
        input.stride(0), input.stride(1), input.stride(2), input.stride(3), eps,
        HAS_BIAS=has_bias, HAS_SCALE=bn_weight is not None, HAS_SHIFT=bn_bias is not None, TRAINING=training,
        BLOCK_M=64, BLOCK_N=32, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    if training:
        has_running = running_mean is not None
        combine_kernel[(triton.cdiv(F, 16),)](
            part_mean, part_square, mean, var, running_mean if has_running else mean,
            running_var if has_running else var, F, pixels, tiles, momentum,
            HAS_RUNNING=has_running, SPAN=64, BLOCK_P=64, BLOCK_F=16,
        )  # fmt: skip
        normalise_kernel[(triton.cdiv(y.numel(), 1024),)](
            y, mean, var, scale, shift, y.numel(), OH * OW, F, eps,
            HAS_SCALE=bn_weight is not None, HAS_SHIFT=bn_bias is not None, BLOCK=1024,
        )  # fmt: skip
    return y
