"""Fusion/fused_instance_norm_selu_conv2d: a two-dimensional convolution, SELU, instance normalisation."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.conv import (
    conv_cost,
    conv_shape,
    conv_size,
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
(F, C / groups, R, S), both float32, then SELU, then normalisation of each plane (n, f) of the result by itself:

    z[n, f, i, j] = bias[f] + sum_{c, r, s} weight[f, c, r, s] * input[n, g * (C / groups) + c, h, w]
    h = i * stride + r * dilation - padding,    w = j * stride + s * dilation - padding
    a = 1.0507009873554805 * z                                   where z > 0
    a = 1.0507009873554805 * 1.6732632423543772 * (exp(z) - 1)   elsewhere
    y[n, f, i, j] = (a[n, f, i, j] - mean[n, f]) / sqrt(var[n, f] + eps)
    mean[n, f] = (1/m) sum_{i, j} a[n, f, i, j],    var[n, f] = (1/m) sum_{i, j} (a[n, f, i, j] - mean[n, f])**2

where g = f // (F / groups) is the group of filter f, and an input element outside the image counts as 0.
`bias` (F,) counts as 0 when it is None. `stride`, `padding` and `dilation` are integers that hold for both directions;
`groups` divides C and F. The result is y, (N, F, OH, OW), float32, with

    OH = (H + 2 * padding - dilation * (R - 1) - 1) // stride + 1,    OW likewise from W and S.

m = OH * OW is at least 2. `num_features` is F or None. The normalisation is that of a layer that was made anew for this
call: an affine transform that it has learnt nothing for is the identity (`affine`), and running statistics would be
kept for calls that never come (`track_running_stats`, `momentum`). These four parameters are accepted and don't change
the result.

All tensors may have any strides. Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs
`input_precision="ieee"`.
The variance survives a mean that is large beside the deviation, which E[a**2] - E[a]**2 does not. Large z of either
sign must not give NaN. A NaN in a plane of z makes this plane NaN and no other.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    num_features: int | None = None,
    eps: float = 1e-05,
    momentum: float = 0.1,
    affine: bool = False,
    track_running_stats: bool = False,
) -> torch.Tensor:
    z = torch.nn.functional.conv2d(input, weight, bias, stride, padding, dilation, groups)
    return torch.nn.functional.instance_norm(torch.nn.functional.selu(z), eps=eps)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("3 x 3 with bias", layer(draw, (2, 3, 7, 9), (5, 3, 3, 3)))
    yield Case("stride and padding", layer(draw, (1, 3, 9, 9), (3, 3, 3, 3))[:2], {"stride": 2, "padding": 1})
    yield Case("groups", layer(draw, (2, 6, 7, 7), (9, 2, 3, 3)), {"groups": 3})


def hidden(draw: Draw) -> Iterator[Case]:
    for label, args, options in geometries(draw):
        yield Case(label, args, options)
    h, w = odd_sizes(draw)
    input, weight, bias = layer(draw, (2, 3, h, w), (5, 3, 3, 3))
    yield Case("eps, small values", (input * 0.05, weight, bias), {"eps": draw.pick([0.01, 0.05])})
    yield Case("mean far above the deviation", (input, weight, bias + draw.pick([2000.0, 4000.0])), {"padding": 1})
    yield Case("large values", (input * 500, weight * 30, bias), {"padding": 1})
    yield Case("two values a plane", layer(draw, (3, 5, 1, 2), (7, 5, 1, 1)))
    special = draw.normal(2, 3, h, w)
    special[0, 1, draw.size(0, h - 1), draw.size(0, w - 1)] = math.nan
    yield Case("NaN", (special, draw.normal(3, 1, 3, 3)), {"padding": 1, "groups": 3})


def timed(draw: Draw) -> Iterator[Case]:
    for label, args, options in large_layers(draw):
        yield Case(label, args, options)


def stand_ins(draw: Draw) -> Iterator[Case]:
    for label, args, options in small_layers(draw):
        yield Case(label, args, options)


def magnitude(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: int,
    padding: int,
    dilation: int,
    groups: int,
    num_features: int | None,
    eps: float,
    momentum: float,
    affine: bool,
    track_running_stats: bool,
) -> torch.Tensor:
    """Terms before any of them cancel, and what errors of this size in a do to mean and variance."""
    conv = input.double(), weight.double(), None if bias is None else bias.double(), stride, padding, dilation, groups
    a = torch.nn.functional.selu(torch.nn.functional.conv2d(*conv))
    # SELU is nowhere steeper than 1.76, and exp(z) - 1 loses what cancels of a 1
    size = 1.76 * (conv_size(*conv) + 1)
    mean, deviation = a.mean((2, 3), keepdim=True), (a.var((2, 3), correction=0, keepdim=True) + eps).sqrt()
    shift, spread = size.mean((2, 3), keepdim=True), size.square().mean((2, 3), keepdim=True).sqrt()
    return (size + shift) / deviation + ((a - mean) / deviation).abs() * (1 + spread / deviation)


def slack(
    input: torch.Tensor, weight: torch.Tensor, stride: int, padding: int, dilation: int, groups: int, **_: Any
) -> float:
    shape = conv_shape(input, weight, stride, padding, dilation, groups)
    return terms(weight) + 4 * math.sqrt(math.prod(shape[2:]))


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    num_features: int | None = None,
    eps: float = 1e-05,
    momentum: float = 0.1,
    affine: bool = False,
    track_running_stats: bool = False,
) -> Cost:
    return conv_cost(input, weight, bias, stride, padding, dilation, groups, extra_flops=10)


TASK = Task(
    id="Fusion/fused_instance_norm_selu_conv2d",
    entry="fused_instance_norm_selu_conv2d",
    aliases=("instance_norm_selu_conv2d",),
    signature=(
        "fused_instance_norm_selu_conv2d(input: torch.Tensor, weight: torch.Tensor, bias=None, stride=1, padding=0, "
        "dilation=1, groups=1, num_features=None, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
