import random

import torch
import triton
import triton.language as tl


@triton.jit
def start_of(place, u, alpha, out, size, kernel):
    """Where the window at `place` of `out` starts along a direction of `size` elements."""
    start = ((place + u) * alpha).to(tl.int32) - (u * alpha).to(tl.int32)
    return tl.where(place == out - 1, size - kernel, start)


# sizes of images and windows differ from call to call: one compiled kernel serves them all
@triton.jit(do_not_specialize=["n", "C", "H", "W", "OH", "OW", "KH", "KW", "seed", "alpha_h", "alpha_w"])
def fractional_max_pool_relu_kernel(
    x_ptr, y_ptr, index_ptr, n, C, H, W, OH, OW, KH, KW, alpha_h, alpha_w, seed,
    stride_n, stride_c, stride_h, stride_w, HAS_INDEX: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    plane = offs // (OH * OW)
    i = (offs // OW % OH).to(tl.int32)
    j = (offs % OW).to(tl.int32)
    top = start_of(i, tl.rand(seed, 2 * plane), alpha_h, OH, H, KH)
    left = start_of(j, tl.rand(seed, 2 * plane + 1), alpha_w, OW, W, KW)
    base = x_ptr + plane // C * stride_n + plane % C * stride_c
    best = tl.full((BLOCK,), -1.0, dtype=tl.float32)
    where = tl.zeros((BLOCK,), dtype=tl.int64)
    for down in range(0, KH):
        for right in range(0, KW):
            h = (top + down).to(tl.int64)
            w = (left + right).to(tl.int64)
            x = tl.load(base + h * stride_h + w * stride_w, mask=mask, other=0.0)
            x = tl.maximum(x, 0.0)
            where = tl.where(x > best, h * W + w, where)
            best = tl.maximum(best, x)
    tl.store(y_ptr + offs, best, mask=mask)
    if HAS_INDEX:
        tl.store(index_ptr + offs, where, mask=mask)


def both(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def fused_fractional_max_pool2d_with_relu(
    input: torch.Tensor, kernel_size, output_size=None, output_ratio=None, return_indices=False
):
    N, C, H, W = input.shape
    KH, KW = both(kernel_size)
    if output_size is None:
        ratio_h, ratio_w = output_ratio
        OH, OW = int(H * ratio_h), int(W * ratio_w)
    else:
        OH, OW = both(output_size)
    y = torch.empty((N, C, OH, OW), dtype=torch.float32, device=input.device)
    index = torch.empty((N, C, OH, OW), dtype=torch.int64, device=input.device) if return_indices else y
    n = y.numel()
    alpha_h = (H - KH) / (OH - 1) if OH > 1 else 0.0
    alpha_w = (W - KW) / (OW - 1) if OW > 1 else 0.0
    grid = (triton.cdiv(n, 512),)
    fractional_max_pool_relu_kernel[grid](
        input, y, index, n, C, H, W, OH, OW, KH, KW, alpha_h, alpha_w, random.getrandbits(31),
        input.stride(0), input.stride(1), input.stride(2), input.stride(3), HAS_INDEX=bool(return_indices), BLOCK=512,
    )  # fmt: skip
    return (y, index) if return_indices else y
