import torch
import triton
import triton.language as tl

# small whole numbers differ from layer to layer: one compiled kernel serves them all
GEOMETRY = ["H", "W", "OH", "OW", "R", "S", "channels", "filters", "groups", "stride", "padding", "dilation"]


@triton.jit(do_not_specialize=GEOMETRY)
def conv2d_moments_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, part_mean_ptr, part_square_ptr,
    H, W, OH, OW, R, S, channels, filters, groups, stride, padding, dilation,
    stride_xn, stride_xc, stride_xh, stride_xw,
    HAS_BIAS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The convolution, and the moments of all values of the tile."""
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
    mask = mask_m[:, None] & mask_n[None, :]
    size_m = tl.minimum(OH * OW - (tl.program_id(0) % tiles_m) * BLOCK_M, BLOCK_M)
    size_n = tl.minimum(filters - (tl.program_id(1) % tiles_n) * BLOCK_N, BLOCK_N)
    count = (size_m * size_n).to(tl.float32)
    tile_mean = tl.sum(tl.sum(tl.where(mask, acc, 0.0), axis=1), axis=0) / count
    dev = tl.where(mask, acc - tile_mean, 0.0)
    part = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    tl.store(part_mean_ptr + part, tile_mean)
    tl.store(part_square_ptr + part, tl.sum(tl.sum(dev * dev, axis=1), axis=0))
    y_offs = (image * groups * filters + filter_id[None, :]) * OH * OW + place[:, None]
    tl.store(y_ptr + y_offs, acc, mask=mask)


@triton.jit(do_not_specialize=["size", "plane", "filters", "tiles_n", "columns", "parts"])
def silu_normalise_kernel(
    y_ptr, weight_ptr, part_mean_ptr, part_square_ptr, size, plane, filters, tiles_n, columns, parts, eps,
    SPAN_M: tl.constexpr, SPAN_N: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Merges the moments of an image's tiles (Chan, Golub, LeVeque), normalises one block of the image, and SiLU."""
    base = tl.program_id(0).to(tl.int64) * parts
    total = tl.zeros((BLOCK_P,), dtype=tl.float32)
    for start in range(0, parts, BLOCK_P):
        part = start + tl.arange(0, BLOCK_P)
        size_m = tl.minimum(plane - part // columns * SPAN_M, SPAN_M)
        size_n = tl.minimum(filters - part % columns % tiles_n * SPAN_N, SPAN_N)
        tile_mean = tl.load(part_mean_ptr + base + part, mask=part < parts, other=0.0)
        total += tl.where(part < parts, tile_mean * (size_m * size_n).to(tl.float32), 0.0)
    mean = tl.sum(total, axis=0) / size
    square = tl.zeros((BLOCK_P,), dtype=tl.float32)
    for start in range(0, parts, BLOCK_P):
        part = start + tl.arange(0, BLOCK_P)
        size_m = tl.minimum(plane - part // columns * SPAN_M, SPAN_M)
        size_n = tl.minimum(filters - part % columns % tiles_n * SPAN_N, SPAN_N)
        dev = tl.load(part_mean_ptr + base + part, mask=part < parts, other=0.0) - mean
        tile_square = tl.load(part_square_ptr + base + part, mask=part < parts, other=0.0)
        square += tl.where(part < parts, tile_square + dev * dev * (size_m * size_n).to(tl.float32), 0.0)
    var = tl.sum(square, axis=0) / size
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < size
    y_offs = tl.program_id(0).to(tl.int64) * size + offs
    z = tl.load(y_ptr + y_offs, mask=mask, other=0.0)
    u = (z - mean) / tl.sqrt(var + eps) * tl.load(weight_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr + y_offs, u / (1.0 + tl.exp(-u)), mask=mask)


def fused_silu_layer_norm_conv2d(
    x: torch.Tensor,
    weight: torch.Tensor,
    conv_weight: torch.Tensor,
    conv_bias: torch.Tensor = None,
    conv_stride: int = 1,
    conv_padding: int = 0,
    conv_dilation: int = 1,
    conv_groups: int = 1,
    ln_eps: float = 1e-05,
) -> torch.Tensor:
    N, _, H, W = x.shape
    F, channels, R, S = conv_weight.shape
    OH = (H + 2 * conv_padding - conv_dilation * (R - 1) - 1) // conv_stride + 1
    OW = (W + 2 * conv_padding - conv_dilation * (S - 1) - 1) // conv_stride + 1
    y = torch.empty((N, F, OH, OW), dtype=torch.float32, device=x.device)
    conv_weight = conv_weight.contiguous()
    has_bias = conv_bias is not None
    conv_bias = conv_bias.contiguous() if has_bias else conv_weight
    filters, plane = F // conv_groups, OH * OW
    tiles_m, tiles_n = triton.cdiv(plane, 64), triton.cdiv(filters, 32)
    columns = conv_groups * tiles_n
    part_mean = torch.empty((N, tiles_m, columns), dtype=torch.float32, device=x.device)
    part_square = torch.empty((N, tiles_m, columns), dtype=torch.float32, device=x.device)
    grid = (N * tiles_m, columns)
    conv2d_moments_kernel[grid](
        x, conv_weight, conv_bias, y, part_mean, part_square,
        H, W, OH, OW, R, S, channels, filters, conv_groups, conv_stride, conv_padding, conv_dilation,
        x.stride(0), x.stride(1), x.stride(2), x.stride(3),
        HAS_BIAS=has_bias, BLOCK_M=64, BLOCK_N=32, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    grid = (N, triton.cdiv(F * plane, 1024))
    silu_normalise_kernel[grid](
        y, weight.contiguous(), part_mean, part_square, F * plane, plane, filters, tiles_n, columns,
        tiles_m * columns, ln_eps, SPAN_M=64, SPAN_N=32, BLOCK_P=128, BLOCK=1024,
    )  # fmt: skip
    return y
