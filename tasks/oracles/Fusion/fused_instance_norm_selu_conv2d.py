import torch
import triton
import triton.language as tl

# small whole numbers differ from layer to layer: one compiled kernel serves them all
GEOMETRY = ["H", "W", "OH", "OW", "R", "S", "channels", "filters", "groups", "stride", "padding", "dilation"]


@triton.jit(do_not_specialize=GEOMETRY)
def selu_conv2d_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, part_mean_ptr, part_square_ptr,
    H, W, OH, OW, R, S, channels, filters, groups, stride, padding, dilation,
    stride_xn, stride_xc, stride_xh, stride_xw,
    HAS_BIAS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """SELU of the convolution, and its moments for each plane over the tile."""
    # a tile holds pixels of one image
    tiles_m = tl.cdiv(OH * OW, BLOCK_M)
    tiles_n = tl.cdiv(filters, BLOCK_N)
    group = tl.program_id(1) // tiles_n
    image = (tl.program_id(0) // tiles_m).to(tl.int64)
    place = (tl.program_id(0) % tiles_m) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = (tl.program_id(1) % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = place < OH * OW
    mask_n = offs_n < filters
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
        a = tl.load(x_image + x_offs, mask=inside & mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(
            w_ptr + filter_id[None, :] * depth + offs_k[:, None], mask=mask_k[:, None] & mask_n[None, :], other=0.0
        )
        acc += tl.dot(a, b, input_precision="ieee")
    if HAS_BIAS:
        acc += tl.load(bias_ptr + filter_id, mask=mask_n, other=0.0)[None, :]
    acc = 1.0507009873554805 * tl.where(acc > 0.0, acc, 1.6732632423543772 * (tl.exp(acc) - 1.0))
    count = tl.minimum(OH * OW - (tl.program_id(0) % tiles_m) * BLOCK_M, BLOCK_M).to(tl.float32)
    tile_mean = tl.sum(tl.where(mask_m[:, None], acc, 0.0), axis=0) / count
    dev = tl.where(mask_m[:, None], acc - tile_mean[None, :], 0.0)
    part = tl.program_id(0) * groups * filters + filter_id
    tl.store(part_mean_ptr + part, tile_mean, mask=mask_n)
    tl.store(part_square_ptr + part, tl.sum(dev * dev, axis=0), mask=mask_n)
    y_offs = (image * groups * filters + filter_id[None, :]) * OH * OW + place[:, None]
    tl.store(y_ptr + y_offs, acc, mask=mask_m[:, None] & mask_n[None, :])


@triton.jit(do_not_specialize=["filters", "plane", "parts"])
def normalise_kernel(
    y_ptr, part_mean_ptr, part_square_ptr, filters, plane, parts, eps,
    SPAN: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Merges the moments of a plane's tiles (Chan, Golub, LeVeque) and normalises one block of the plane."""
    image = tl.program_id(0) // filters
    filter_id = tl.program_id(0) % filters
    base = image.to(tl.int64) * parts * filters + filter_id
    total = tl.zeros((BLOCK_P,), dtype=tl.float32)
    for start in range(0, parts, BLOCK_P):
        part = start + tl.arange(0, BLOCK_P)
        size = tl.minimum(plane - part * SPAN, SPAN).to(tl.float32)
        tile_mean = tl.load(part_mean_ptr + base + part * filters, mask=part < parts, other=0.0)
        total += tl.where(part < parts, tile_mean * size, 0.0)
    mean = tl.sum(total, axis=0) / plane
    square = tl.zeros((BLOCK_P,), dtype=tl.float32)
    for start in range(0, parts, BLOCK_P):
        part = start + tl.arange(0, BLOCK_P)
        size = tl.minimum(plane - part * SPAN, SPAN).to(tl.float32)
        dev = tl.load(part_mean_ptr + base + part * filters, mask=part < parts, other=0.0) - mean
        tile_square = tl.load(part_square_ptr + base + part * filters, mask=part < parts, other=0.0)
        square += tl.where(part < parts, tile_square + dev * dev * size, 0.0)
    var = tl.sum(square, axis=0) / plane
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    y_offs = tl.program_id(0).to(tl.int64) * plane + offs
    a = tl.load(y_ptr + y_offs, mask=offs < plane, other=0.0)
    tl.store(y_ptr + y_offs, (a - mean) / tl.sqrt(var + eps), mask=offs < plane)


def fused_instance_norm_selu_conv2d(
    input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, num_features=None, eps=1e-05, momentum=0.1,
    affine=False, track_running_stats=False,
):  # fmt: skip
    N, _, H, W = input.shape
    F, channels, R, S = weight.shape
    OH = (H + 2 * padding - dilation * (R - 1) - 1) // stride + 1
    OW = (W + 2 * padding - dilation * (S - 1) - 1) // stride + 1
    y = torch.empty((N, F, OH, OW), dtype=torch.float32, device=input.device)
    weight = weight.contiguous()
    has_bias = bias is not None
    bias = bias.contiguous() if has_bias else weight
    filters, plane = F // groups, OH * OW
    tiles = triton.cdiv(plane, 64)
    part_mean = torch.empty((N, tiles, F), dtype=torch.float32, device=y.device)
    part_square = torch.empty((N, tiles, F), dtype=torch.float32, device=y.device)
    grid = (N * tiles, groups * triton.cdiv(filters, 32))
    selu_conv2d_kernel[grid](
        input, weight, bias, y, part_mean, part_square,
        H, W, OH, OW, R, S, channels, filters, groups, stride, padding, dilation,
        input.stride(0), input.stride(1), input.stride(2), input.stride(3),
        HAS_BIAS=has_bias, BLOCK_M=64, BLOCK_N=32, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    grid = (N * F, triton.cdiv(plane, 1024))
    normalise_kernel[grid](y, part_mean, part_square, F, plane, tiles, eps, SPAN=64, BLOCK_P=64, BLOCK=1024)
    return y
