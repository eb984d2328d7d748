"""Fusion/fused_pixel_shuffle_conv2d: a two-dimensional convolution whose channels become pixels."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.conv import conv_cost, conv_size, extremes, geometries, large_layers, layer, small_layers, terms
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Two-dimensional convolution (cross-correlation: the kernel is not flipped) of `input` (N, C, H, W) with `weight`
(F, C / groups, R, S), both float32, followed by a pixel shuffle: with u = `upscale_factor`, each u * u successive
channels become the squares of one channel that is u times as high and wide:

    z[n, f, i, j] = bias[f] + sum_{c, r, s} weight[f, c, r, s] * input[n, g * (C / groups) + c, h, w]
    h = i * stride + r * dilation - padding,    w = j * stride + s * dilation - padding
    y[n, k, u * i + a, u * j + b] = z[n, (k * u + a) * u + b, i, j],    0 <= a, b < u

where g = f // (F / groups) is the group of filter f, and an input element outside the image counts as 0.
`bias` (F,) counts as 0 when it is None. `stride`, `padding` and `dilation` are integers that hold for both directions;
`groups` divides C and F. `upscale_factor`
is a positive integer whose square divides F. The result is y, (N, F / u**2, u * OH, u * OW), float32, with

    OH = (H + 2 * padding - dilation * (R - 1) - 1) // stride + 1,    OW likewise from W and S.

All tensors may have any strides. Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs
`input_precision="ieee"`.
A NaN or an infinity in the input reaches the results whose window holds it, and no others.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    upscale_factor: int = 2,
) -> torch.Tensor:
    z = torch.nn.functional.conv2d(input, weight, bias, stride, padding, dilation, groups)
    return torch.nn.functional.pixel_shuffle(z, upscale_factor)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("3 x 3 with bias", layer(draw, (2, 3, 7, 9), (8, 3, 3, 3)))
    options = {"stride": 2, "padding": 1, "upscale_factor": 3}
    yield Case("stride, padding and factor 3", layer(draw, (1, 3, 9, 9), (18, 3, 3, 3))[:2], options)
    yield Case("groups", layer(draw, (2, 6, 7, 7), (12, 2, 3, 3)), {"groups": 3})


def hidden(draw: Draw) -> Iterator[Case]:
    for label, args, options in (*geometries(draw, multiple=4), *extremes(draw, multiple=4)):
        yield Case(label, args, options)
    yield Case("factor 1", layer(draw, (1, 3, 7, 9), (5, 3, 3, 3)), {"upscale_factor": 1})
    odd = {"padding": 1, "groups": 2, "upscale_factor": 3}
    yield Case("factor 3 across groups", layer(draw, (2, 4, draw.size(4, 7), 5), (36, 2, 3, 3)), odd)
    yield Case("factor 5", layer(draw, (1, 2, 3, draw.size(3, 7)), (50, 2, 1, 3)), {"upscale_factor": 5})


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
    upscale_factor: int,
) -> torch.Tensor:
    size = conv_size(input, weight, bias, stride, padding, dilation, groups)
    return torch.nn.functional.pixel_shuffle(size, upscale_factor)


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    upscale_factor: int = 2,
) -> Cost:
    return conv_cost(input, weight, bias, stride, padding, dilation, groups)


TASK = Task(
    id="Fusion/fused_pixel_shuffle_conv2d",
    entry="fused_pixel_shuffle_conv2d",
    aliases=("pixel_shuffle_conv2d",),
    signature=(
        "fused_pixel_shuffle_conv2d(input: torch.Tensor, weight: torch.Tensor, bias=None, stride=1, padding=0, "
        "dilation=1, groups=1, upscale_factor=2)"
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
