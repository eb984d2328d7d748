import random

import torch
import triton
import triton.language as tl

# small whole numbers differ from layer to layer: one compiled kernel serves them all
GEOMETRY = ["pixels", "H", "W", "OH", "OW", "R", "S", "channels", "filters", "groups", "stride", "padding", "dilation"]


@triton.jit(do_not_specialize=GEOMETRY)
def conv2d_kernel(
    x_ptr, w_ptr, z_ptr,
    pixels, H, W, OH, OW, R, S, channels, filters, groups, stride, padding, dilation,
    stride_xn, stride_xc, stride_xh, stride_xw,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
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
    z_offs = (image[:, None] * groups * filters + filter_id[None, :]) * OH * OW + place[:, None]
    tl.store(z_ptr + z_offs, acc, mask=mask_m[:, None] & mask_n[None, :])


@triton.jit(do_not_specialize=["channels", "size", "count"])
def moments_kernel(z_ptr, mean_ptr, scale_ptr, channels, size, count, BLOCK: tl.constexpr):
    """Mean and 1 / deviation of one channel: `size` values in a row in each image, `count` in all."""
    chan = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, count, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        place = (offs // size * channels + chan).to(tl.int64) * size + offs % size
        total += tl.load(z_ptr + place, mask=offs < count, other=0.0)
    mean = tl.sum(total, axis=0) / count
    square = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, count, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < count
        place = (offs // size * channels + chan).to(tl.int64) * size + offs % size
        dev = tl.where(mask, tl.load(z_ptr + place, mask=mask, other=0.0) - mean, 0.0)
        square += dev * dev
    tl.store(mean_ptr + chan, mean)
    tl.store(scale_ptr + chan, 1.0 / tl.sqrt(tl.sum(square, axis=0).to(tl.float32) / count + 1e-5))


@triton.jit(do_not_specialize=["channels", "size", "n", "seed", "p"])
def normalise_relu_dropout_kernel(
    z_ptr, mean_ptr, scale_ptr, channels, size, n, seed, p, DROP: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    chan = offs // size % channels
    mean = tl.load(mean_ptr + chan, mask=mask, other=0.0)
    scale = tl.load(scale_ptr + chan, mask=mask, other=0.0)
    z = tl.load(z_ptr + offs, mask=mask, other=0.0)
    y = tl.maximum((z - mean) * scale, 0.0)
    if DROP:
        keep = tl.rand(seed, offs) >= p
        y = tl.where(keep, y / (1.0 - p), 0.0)
    tl.store(z_ptr + offs, y, mask=mask)


def fused_dropout_relu_batch_norm_conv2d(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
) -> torch.Tensor:
    # the bias shifts a channel as a whole, and its mean with it: it can be left out
    N, _, H, W = input.shape
    F, channels, R, S = weight.shape
    OH = (H + 2 * padding - dilation * (R - 1) - 1) // stride + 1
    OW = (W + 2 * padding - dilation * (S - 1) - 1) // stride + 1
    y = torch.empty((N, F, OH, OW), dtype=torch.float32, device=input.device)
    mean = torch.empty((F,), dtype=torch.float32, device=input.device)
    scale = torch.empty((F,), dtype=torch.float32, device=input.device)
    weight = weight.contiguous()
    pixels, filters = N * OH * OW, F // groups
    grid = (triton.cdiv(pixels, 64), groups * triton.cdiv(filters, 32))
    conv2d_kernel[grid](
        input, weight, y,
        pixels, H, W, OH, OW, R, S, channels, filters, groups, stride, padding, dilation,
        input.stride(0), input.stride(1), input.stride(2), input.stride(3),
        BLOCK_M=64, BLOCK_N=32, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    moments_kernel[(F,)](y, mean, scale, F, OH * OW, pixels, BLOCK=1024)
    n = y.numel()
    tiles = (triton.cdiv(n, 1024),)
    normalise_relu_dropout_kernel[tiles](
        y, mean, scale, F, OH * OW, n, random.getrandbits(31), float(p), DROP=bool(training), BLOCK=1024
    )
    return y
