"""Fusion/fused_leaky_relu_conv2d: a two-dimensional convolution, then leaky ReLU."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.conv import conv_cost, conv_size, extremes, geometries, large_layers, layer, small_layers, terms
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Two-dimensional convolution (cross-correlation: the kernel is not flipped) of `input` (N, C, H, W) with `weight`
(F, C / groups, R, S), both float32, followed by leaky ReLU:

    z[n, f, i, j] = bias[f] + sum_{c, r, s} weight[f, c, r, s] * input[n, g * (C / groups) + c, h, w]
    h = i * stride + r * dilation - padding,    w = j * stride + s * dilation - padding
    y[n, f, i, j] = z if z > 0, else negative_slope * z,    z = z[n, f, i, j]

where g = f // (F / groups) is the group of filter f, and an input element outside the image counts as 0.
`bias` (F,) counts as 0 when it is None. `stride`, `padding` and `dilation` are integers that hold for both directions;
`groups` divides C and F. The result is y, (N, F, OH, OW), float32, with

    OH = (H + 2 * padding - dilation * (R - 1) - 1) // stride + 1,    OW likewise from W and S.

All tensors may have any strides. Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs
`input_precision="ieee"`.
`negative_slope` is a float of either sign, or 0. A NaN or an infinity in the input reaches the results whose window
holds it, and no others; NaN stays NaN. `inplace` allows the leaky ReLU to work on the convolution's own result:
nothing of it can be seen from outside, and no argument is changed.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    negative_slope: float = 0.01,
    inplace: bool = False,
) -> torch.Tensor:
    z = torch.nn.functional.conv2d(input, weight, bias, stride, padding, dilation, groups)
    return torch.nn.functional.leaky_relu(z, negative_slope)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("3 x 3 with bias", layer(draw, (2, 3, 7, 9), (5, 3, 3, 3)))
    options = {"stride": 2, "padding": 1, "negative_slope": 0.2}
    yield Case("stride, padding and slope", layer(draw, (1, 3, 9, 9), (3, 3, 3, 3))[:2], options)
    yield Case("groups", layer(draw, (2, 6, 7, 7), (9, 2, 3, 3)), {"groups": 3})


def hidden(draw: Draw) -> Iterator[Case]:
    for label, args, options in geometries(draw):
        yield Case(label, args, {**options, "negative_slope": draw.pick([0.1, 0.3, 0.7])})
    for label, args, options in extremes(draw):
        yield Case(label, args, options)
    steep = {"padding": 1, "negative_slope": draw.pick([-0.5, 2.5])}
    yield Case("slope negative or above 1", layer(draw, (1, 3, 9, 7), (5, 3, 3, 3)), steep)
    yield Case("slope 0", layer(draw, (1, 3, 7, 9), (5, 3, 3, 3)), {"negative_slope": 0.0})


def timed(draw: Draw) -> Iterator[Case]:
    for label, args, options in large_layers(draw):
        yield Case(label, args, {**options, "negative_slope": 0.1})


def stand_ins(draw: Draw) -> Iterator[Case]:
    for label, args, options in small_layers(draw):
        yield Case(label, args, {**options, "negative_slope": 0.1})


def magnitude(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: int,
    padding: int,
    dilation: int,
    groups: int,
    negative_slope: float,
    inplace: bool,
) -> torch.Tensor:
    # leaky ReLU is no steeper than 1 or its slope
    return max(1.0, abs(negative_slope)) * conv_size(input, weight, bias, stride, padding, dilation, groups)


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    negative_slope: float = 0.01,
    inplace: bool = False,
) -> Cost:
    return conv_cost(input, weight, bias, stride, padding, dilation, groups, extra_flops=2)


TASK = Task(
    id="Fusion/fused_leaky_relu_conv2d",
    entry="fused_leaky_relu_conv2d",
    aliases=("leaky_relu_conv2d",),
    signature=(
        "fused_leaky_relu_conv2d(input: Tensor, weight: Tensor, bias: Tensor=None, stride: int=1, padding: int=0, "
        "dilation: int=1, groups: int=1, negative_slope: float=0.01, inplace: bool=False)"
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
