import torch
import triton
import triton.language as tl

PLAIN = ["channels", "height", "width", "count", "stride_n", "stride_c", "stride_h", "stride_w"]
Y_PLAIN = ["y_stride_n", "y_stride_c", "y_stride_h", "y_stride_w"]


@triton.jit(do_not_specialize=[*PLAIN, "span"])
def moments_kernel(
    x_ptr, mean_ptr, square_ptr, channels, height, width, count, span, stride_n, stride_c, stride_h, stride_w,
    BLOCK: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """Mean and summed squared deviation of one span of each channel, merged tile by tile (Chan, Golub, LeVeque)."""
    chans = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    first = tl.program_id(1) * span
    last = tl.minimum(first + span, count)
    base = x_ptr + chans[None, :].to(tl.int64) * stride_c
    mean = tl.zeros((BLOCK_C,), tl.float32)
    square = tl.zeros((BLOCK_C,), tl.float32)
    for start in range(first, last, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = (offs < last)[:, None] & (chans < channels)[None, :]
        sample, h, w = offs // (height * width), (offs // width) % height, offs % width
        place = sample.to(tl.int64) * stride_n + h.to(tl.int64) * stride_h + w.to(tl.int64) * stride_w
        x = tl.load(base + place[:, None], mask=mask, other=0.0)
        seen = (start - first).to(tl.float32)
        new = tl.minimum(last - start, BLOCK).to(tl.float32)
        tile_mean = tl.sum(x, axis=0) / new
        dev = tl.where(mask, x - tile_mean[None, :], 0.0)
        delta = tile_mean - mean
        mean += delta * (new / (seen + new))
        square += tl.sum(dev * dev, axis=0) + delta * delta * (seen * new / (seen + new))
    out = tl.program_id(1) * channels + chans
    tl.store(mean_ptr + out, mean, mask=chans < channels)
    tl.store(square_ptr + out, square, mask=chans < channels)


@triton.jit(do_not_specialize=["channels", "count", "span", "parts"])
def combine_kernel(
    part_mean_ptr, part_square_ptr, mean_ptr, var_ptr, running_mean_ptr, running_var_ptr,
    channels, count, span, parts, momentum,
    HAS_RUNNING: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """Merges the spans of each channel and moves the running statistics."""
    chans = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    part = tl.arange(0, BLOCK_P)
    mask = (part < parts)[:, None] & (chans < channels)[None, :]
    offs = part[:, None] * channels + chans[None, :]
    means = tl.load(part_mean_ptr + offs, mask=mask, other=0.0)
    squares = tl.load(part_square_ptr + offs, mask=mask, other=0.0)
    sizes = tl.minimum(span, tl.maximum(count - part * span, 0)).to(tl.float32)
    mean = tl.sum(means * sizes[:, None], axis=0) / count
    dev = tl.where(mask, means - mean[None, :], 0.0)
    square = tl.sum(squares + dev * dev * sizes[:, None], axis=0)
    here = chans < channels
    tl.store(mean_ptr + chans, mean, mask=here)
    tl.store(var_ptr + chans, square / count, mask=here)
    if HAS_RUNNING:
        old_mean = tl.load(running_mean_ptr + chans, mask=here, other=0.0)
        old_var = tl.load(running_var_ptr + chans, mask=here, other=0.0)
        tl.store(running_mean_ptr + chans, (1.0 - momentum) * old_mean + momentum * mean, mask=here)
        tl.store(running_var_ptr + chans, (1.0 - momentum) * old_var + momentum * (square / (count - 1)), mask=here)


@triton.jit(do_not_specialize=PLAIN + Y_PLAIN)
def normalise_kernel(
    x_ptr, y_ptr, mean_ptr, var_ptr, weight_ptr, bias_ptr, channels, height, width, count, eps,
    stride_n, stride_c, stride_h, stride_w, y_stride_n, y_stride_c, y_stride_h, y_stride_w,
    HAS_WEIGHT: tl.constexpr, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    chans = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    here = chans < channels
    mask = (offs < count)[:, None] & here[None, :]
    mean = tl.load(mean_ptr + chans, mask=here, other=0.0)
    var = tl.load(var_ptr + chans, mask=here, other=1.0)
    scale = 1.0 / tl.sqrt(var + eps)
    if HAS_WEIGHT:
        scale *= tl.load(weight_ptr + chans, mask=here, other=1.0)
    sample, h, w = offs // (height * width), (offs // width) % height, offs % width
    chan = chans[None, :].to(tl.int64)
    place = sample.to(tl.int64) * stride_n + h.to(tl.int64) * stride_h + w.to(tl.int64) * stride_w
    x = tl.load(x_ptr + place[:, None] + chan * stride_c, mask=mask, other=0.0)
    z = (x - mean[None, :]) * scale[None, :]
    if HAS_BIAS:
        z += tl.load(bias_ptr + chans, mask=here, other=0.0)[None, :]
    y = z * 0.16666666666666666 + 0.5
    # extremes would turn NaN into a bound
    y = tl.where(y < 0.0, 0.0, tl.where(y > 1.0, 1.0, y))
    out = sample.to(tl.int64) * y_stride_n + h.to(tl.int64) * y_stride_h + w.to(tl.int64) * y_stride_w
    tl.store(y_ptr + out[:, None] + chan * y_stride_c, y, mask=mask)


def fused_hardsigmoid_batch_norm(
    x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05, inplace=False
):  # fmt: skip
    values, shape = x, x.shape
    # missing dimensions of one place each
    x = x[(..., *(None,) * (4 - len(shape)))]
    y = values if inplace else torch.empty(shape, dtype=x.dtype, device=x.device)
    places = x if inplace else y.view(x.shape)
    samples, channels, height, width = x.shape
    count = samples * height * width
    # neighbours in memory are channels (2-D, channels last) or places of one channel
    BLOCK, BLOCK_C = (32, 32) if height * width == 1 or x.stride(1) == 1 else (1024, 1)
    blocks = triton.cdiv(channels, BLOCK_C)
    mean, var = running_mean, running_var
    if training:
        mean, var = batch_moments(x, running_mean, running_var, momentum, BLOCK, BLOCK_C)
    normalise_kernel[(triton.cdiv(count, BLOCK), blocks)](
        x, places, mean, var, x if weight is None else weight, x if bias is None else bias,
        channels, height, width, count, eps, *x.stride(), *places.stride(),
        HAS_WEIGHT=weight is not None, HAS_BIAS=bias is not None, BLOCK=BLOCK, BLOCK_C=BLOCK_C,
    )  # fmt: skip
    return y


def batch_moments(x, running_mean, running_var, momentum, BLOCK, BLOCK_C):
    """Mean and biased variance of each channel of `x`."""
    samples, channels, height, width = x.shape
    count = samples * height * width
    blocks = triton.cdiv(channels, BLOCK_C)
    # few channels leave most of a GPU idle unless several programs share each of them
    parts = min(triton.cdiv(count, 2 * BLOCK), triton.cdiv(1024, blocks), 64)
    span = triton.cdiv(triton.cdiv(count, parts), BLOCK) * BLOCK
    parts = triton.cdiv(count, span)
    means = torch.empty((parts, channels), dtype=x.dtype, device=x.device)
    squares = torch.empty((parts, channels), dtype=x.dtype, device=x.device)
    moments_kernel[(blocks, parts)](
        x, means, squares, channels, height, width, count, span, *x.stride(), BLOCK=BLOCK, BLOCK_C=BLOCK_C
    )
    mean = torch.empty((channels,), dtype=x.dtype, device=x.device)
    var = torch.empty((channels,), dtype=x.dtype, device=x.device)
    has_running = running_mean is not None
    combine_kernel[(triton.cdiv(channels, 16),)](
        means, squares, mean, var, running_mean if has_running else mean, running_var if has_running else var,
        channels, count, span, parts, momentum, HAS_RUNNING=has_running, BLOCK_P=64, BLOCK_C=16,
    )  # fmt: skip
    return mean, var
