"""Fusion/fused_relu_max_pool2d_conv2d: a two-dimensional convolution, max pooling, ReLU."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.conv import (
    conv_cost,
    conv_shape,
    conv_size,
    extremes,
    geometries,
    large_layers,
    layer,
    odd_sizes,
    small_layers,
    terms,
)
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Two-dimensional convolution (cross-correlation: the kernel is not flipped) of `input` (N, C, H, W) with `weight`
(F, C / conv_groups, R, S), both float32, then max pooling, then ReLU:

    z[n, f, i, j] = bias[f] + sum_{c, r, s} weight[f, c, r, s] * input[n, g * (C / conv_groups) + c, h, w]
    h = i * conv_stride + r * conv_dilation - conv_padding,    w = j * conv_stride + s * conv_dilation - conv_padding
    y[n, f, p, q] = max(0, max_{a, b} z[n, f, i, j]),    0 <= a, b < pool_kernel_size
    i = p * pool_stride + a * pool_dilation - pool_padding,    j = q * pool_stride + b * pool_dilation - pool_padding

where g = f // (F / conv_groups) is the group of filter f, an input element outside the image counts as 0, and places
(i, j) outside z take no part in the maximum. `bias` (F,) counts as 0 when it is None; `conv_groups` divides C and F.
All other parameters but the last two are integers that hold for both directions; `pool_stride` None means
`pool_kernel_size`, and `pool_padding` is at most half of `pool_kernel_size`. z is (N, F, OH, OW) and y, the result,
(N, F, PH, PW), float32:

    OH = (H + 2 * conv_padding - conv_dilation * (R - 1) - 1) // conv_stride + 1
    PH = (OH + 2 * pool_padding - pool_dilation * (pool_kernel_size - 1) - 1) / pool_stride + 1

with the quotient rounded down, or up where `pool_ceil_mode` is true; but if then the last window would begin beyond the
image and its padding on top, (PH - 1) * pool_stride >= OH + pool_padding, PH is one less. OW and PW likewise.

All tensors may have any strides. Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs
`input_precision="ieee"`.
A NaN or an infinity in the input reaches the results whose windows hold it, and no others: a window with a NaN gives
NaN, also through the ReLU. `inplace` allows the ReLU to work on what precedes it: nothing of it can be seen from
outside, and no argument is changed.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    conv_stride: int = 1,
    conv_padding: int = 0,
    conv_dilation: int = 1,
    conv_groups: int = 1,
    pool_kernel_size: int = 2,
    pool_stride: int | None = None,
    pool_padding: int = 0,
    pool_dilation: int = 1,
    pool_ceil_mode: bool = False,
    inplace: bool = False,
) -> torch.Tensor:
    z = torch.nn.functional.conv2d(input, weight, bias, conv_stride, conv_padding, conv_dilation, conv_groups)
    pooled = torch.nn.functional.max_pool2d(
        z, pool_kernel_size, pool_stride, pool_padding, pool_dilation, ceil_mode=pool_ceil_mode
    )
    return torch.relu(pooled)


def prefixed(options: dict[str, int]) -> dict[str, int]:
    """The parameters of the convolution by their names here."""
    return {f"conv_{name}": value for name, value in options.items()}


def public(draw: Draw) -> Iterator[Case]:
    yield Case("3 x 3 with bias", layer(draw, (2, 3, 8, 9), (5, 3, 3, 3)))
    options = {"conv_stride": 2, "conv_padding": 1, "pool_kernel_size": 3, "pool_stride": 2, "pool_padding": 1}
    yield Case("overlapping windows", layer(draw, (1, 3, 13, 11), (3, 3, 3, 3))[:2], options)
    yield Case("groups, ceil mode", layer(draw, (2, 6, 7, 7), (9, 2, 3, 3)), {"conv_groups": 3, "pool_ceil_mode": True})


def hidden(draw: Draw) -> Iterator[Case]:
    for label, args, options in geometries(draw):
        yield Case(label, args, prefixed(options))
    for label, args, options in extremes(draw):
        # one point leaves no window of 2
        size = 1 if label == "one point" else 2
        yield Case(label, args, prefixed(options) | {"pool_kernel_size": size})
    h, w = odd_sizes(draw)
    args = layer(draw, (2, 3, h, w), (5, 3, 3, 3))
    yield Case("pool stride 1", args, {"pool_stride": 1, "pool_kernel_size": draw.pick((2, 3))})
    wide = {"pool_kernel_size": 3, "pool_dilation": 2, "pool_padding": 1, "conv_padding": 1}
    yield Case("pool dilation and padding", args, {**wide, "pool_stride": draw.pick((1, 2))})
    ceil = {"pool_kernel_size": 3, "pool_stride": 2, "pool_ceil_mode": True, "conv_padding": draw.pick((0, 1))}
    yield Case("ceil mode, window over the edge", layer(draw, (1, 3, 10, 12), (5, 3, 3, 3)), ceil)
    # the last window would begin in the padding below, and is left out
    late = {"pool_kernel_size": 2, "pool_stride": 3, "pool_padding": 1, "pool_ceil_mode": True}
    yield Case("ceil mode, window beyond the edge", layer(draw, (1, 3, 7, 10), (5, 3, 3, 3)), late)
    negative = (args[0], args[1], args[2] - 12)
    yield Case("results near zero, padding", negative, {"pool_padding": 1, "pool_kernel_size": 2})


def timed(draw: Draw) -> Iterator[Case]:
    pools: tuple[dict[str, int], ...] = ({}, {"pool_kernel_size": 3, "pool_stride": 2, "pool_padding": 1}, {})
    for pool, (label, args, options) in zip(pools, large_layers(draw), strict=True):
        yield Case(label, args, prefixed(options) | pool)


def stand_ins(draw: Draw) -> Iterator[Case]:
    for label, args, options in small_layers(draw):
        yield Case(label, args, prefixed(options))


def magnitude(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    conv_stride: int,
    conv_padding: int,
    conv_dilation: int,
    conv_groups: int,
    pool_kernel_size: int,
    pool_stride: int | None,
    pool_padding: int,
    pool_dilation: int,
    pool_ceil_mode: bool,
    inplace: bool,
) -> torch.Tensor:
    size = conv_size(input, weight, bias, conv_stride, conv_padding, conv_dilation, conv_groups)
    # a maximum and ReLU move two values no further apart than the largest error in the window
    return torch.nn.functional.max_pool2d(
        size, pool_kernel_size, pool_stride, pool_padding, pool_dilation, ceil_mode=pool_ceil_mode
    )


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    conv_stride: int = 1,
    conv_padding: int = 0,
    conv_dilation: int = 1,
    conv_groups: int = 1,
    pool_kernel_size: int = 2,
    pool_stride: int | None = None,
    pool_padding: int = 0,
    pool_dilation: int = 1,
    pool_ceil_mode: bool = False,
    inplace: bool = False,
) -> Cost:
    conv = input, weight, bias, conv_stride, conv_padding, conv_dilation, conv_groups
    z = torch.empty(conv_shape(input, weight, *conv[3:]), device="meta")
    y = torch.nn.functional.max_pool2d(
        z, pool_kernel_size, pool_stride, pool_padding, pool_dilation, ceil_mode=pool_ceil_mode
    )
    least = conv_cost(*conv, extra_flops=1)
    return Cost(least.bytes_min - (z.numel() - y.numel()) * input.element_size(), least.flops)


TASK = Task(
    id="Fusion/fused_relu_max_pool2d_conv2d",
    entry="fused_relu_max_pool2d_conv2d",
    aliases=("relu_max_pool2d_conv2d",),
    signature=(
        "fused_relu_max_pool2d_conv2d(input, weight, bias=None, conv_stride=1, conv_padding=0, conv_dilation=1, "
        "conv_groups=1, pool_kernel_size=2, pool_stride=None, pool_padding=0, pool_dilation=1, pool_ceil_mode=False, "
        "inplace=False)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda weight, **_: terms(weight), magnitude=magnitude),
    cost=cost,
)
