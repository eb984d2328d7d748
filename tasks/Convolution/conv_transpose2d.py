"""Convolution/conv_transpose2d: the adjoint of a two-dimensional convolution, with groups and dilation."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.conv import odd_sizes
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Two-dimensional transposed convolution of `input` (N, C, H, W) with `weight` (C, F / groups, R, S), both float32: each
input element adds the kernel, times its value, to the result, and neighbours do so `stride` apart:

    y[n, f, i, j] = bias[f] + sum input[n, c, h, w] * weight[c, f % (F / groups), r, s]
    over the channels c of group g = f // (F / groups), that is g * (C / groups) <= c < (g + 1) * (C / groups),
    and over all h, w, r, s with h * stride - padding + r * dilation = i and w * stride - padding + s * dilation = j

`bias` (F,) counts as 0 when it is None. `stride`, `padding`, `output_padding` and `dilation` are integers that hold for
both directions; `groups` divides C and F. The result is (N, F, OH, OW), float32, with

    OH = (H - 1) * stride - 2 * padding + dilation * (R - 1) + output_padding + 1,    OW likewise from W and S.

`output_padding`, smaller than stride or dilation, only makes the result larger at the bottom and on the right: what the
formula says holds there too. Elements that no kernel reaches are bias[f]. Mind the order of the parameters: groups
comes ahead of dilation.

All tensors may have any strides. Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs
`input_precision="ieee"`. A NaN or an infinity in the input reaches the results to which it adds, and no others.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    output_padding: int = 0,
    groups: int = 1,
    dilation: int = 1,
) -> torch.Tensor:
    return torch.nn.functional.conv_transpose2d(
        input, weight, bias, stride, padding, output_padding, groups, dilation
    )  # fmt: skip


def layer(
    draw: Draw, image: tuple[int, ...], kernel: tuple[int, ...], groups: int = 1
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """An input of this shape, a weight of that one, and a bias."""
    return draw.normal(*image), draw.normal(*kernel), draw.normal(kernel[1] * groups)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("3 x 3 with bias", layer(draw, (2, 3, 5, 7), (3, 5, 3, 3)))
    options = {"stride": 2, "padding": 1, "output_padding": 1}
    yield Case("stride, padding and output padding", layer(draw, (1, 3, 6, 5), (3, 7, 3, 3))[:2], options)
    yield Case("groups", layer(draw, (2, 6, 5, 5), (6, 3, 3, 3), 3), {"groups": 3})


def hidden(draw: Draw) -> Iterator[Case]:
    h, w = draw.size(4, 9), draw.size(4, 9)
    channels = draw.pick((3, 5))
    yield Case("dilation", layer(draw, (1, channels, h, w), (channels, 7, 3, 3)), {"dilation": 2})
    everything = {"stride": 3, "padding": 2, "output_padding": 2, "groups": 2, "dilation": 2}
    yield Case("everything", layer(draw, (2, 6, h, w), (6, 5, 3, 4), 2), everything)
    # stride and dilation share a factor: whole rows and columns of the result are reached by no kernel
    sparse = {"stride": 4, "padding": 1, "output_padding": 3, "dilation": 2}
    yield Case("places that no kernel reaches", layer(draw, (1, 3, h, 5), (3, 5, 3, 2)), sparse)
    gaps = layer(draw, (1, channels, h, w), (channels, 9, 1, 2))
    yield Case("stride above the kernel's size", gaps, {"stride": 3, "output_padding": draw.pick((1, 2))})
    depthwise = draw.normal(1, 3, h, w), draw.normal(3, 1, 4, 4)
    yield Case("depthwise", depthwise, {"stride": 2, "padding": 1, "groups": 3})
    large = (draw.normal(1, 3, h, w, mean=100.0, std=900.0), draw.normal(3, 5, 2, 5, std=40.0), draw.normal(5, std=1e4))
    yield Case("large values", large, {"padding": 1, "stride": 2})
    yield Case("one point", layer(draw, (1, channels, 1, 1), (channels, 3, 1, 1)))
    view = draw.strided(draw.normal(2, 3, h, w)).transpose(2, 3)
    turned = draw.normal(5, 3, 3, 3).transpose(0, 1)
    yield Case("strided view", (view, turned, draw.strided(draw.normal(5))), {"padding": 2})
    h, w = odd_sizes(draw)
    special = draw.normal(1, 2, h, w)
    special[0, draw.size(0, 1), draw.size(0, 2), draw.size(0, 2)] = math.nan
    special[0, draw.size(0, 1), 6, draw.size(5, 7)] = draw.pick((math.inf, -math.inf))
    yield Case("NaN and infinity", (special, draw.normal(2, 3, 3, 3)), {"stride": 2, "padding": 1})


def timed(draw: Draw) -> Iterator[Case]:
    for x, w, options in (
        ((16, 128, 28, 28), (128, 64, 4, 4), {"stride": 2, "padding": 1}),
        ((8, 96, 56, 56), (96, 64, 3, 3), {"padding": 1}),
        ((8, 256, 28, 28), (256, 32, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1, "groups": 4}),
    ):
        yield Case(f"{x} with {w}", layer(draw, x, w, options.get("groups", 1)), options)


def stand_ins(draw: Draw) -> Iterator[Case]:
    for x, w, options in (
        ((1, 5, 15, 15), (5, 35, 3, 3), {"padding": 1}),
        ((1, 6, 15, 15), (6, 5, 4, 4), {"stride": 2, "padding": 1, "groups": 2}),
    ):
        yield Case(f"{x} with {w}", layer(draw, x, w, options.get("groups", 1)), options)


def magnitude(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, stride: int, padding: int,
    output_padding: int, groups: int, dilation: int,
) -> torch.Tensor:  # fmt: skip
    size = None if bias is None else bias.double().abs()
    return reference(
        input.double().abs(), weight.double().abs(), size, stride, padding, output_padding, groups, dilation
    )


def cost(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, stride: int = 1, padding: int = 0,
    output_padding: int = 0, groups: int = 1, dilation: int = 1,
) -> Cost:  # fmt: skip
    places = [
        (size - 1) * stride - 2 * padding + dilation * (taps - 1) + output_padding + 1
        for size, taps in zip(input.shape[2:], weight.shape[2:], strict=True)
    ]
    results = input.shape[0] * weight.shape[1] * groups * math.prod(places)
    bytes_min = nbytes(input, weight, bias) + results * input.element_size()
    return Cost(bytes_min, 2 * input.numel() * math.prod(weight.shape[1:]))


TASK = Task(
    id="Convolution/conv_transpose2d",
    entry="conv_transpose2d",
    signature=(
        "conv_transpose2d(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor=None, stride: int=1, "
        "padding: int=0, output_padding: int=0, groups: int=1, dilation: int=1)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # a float32 sum of same-signed terms in plain order is off by about 0.8 sqrt(terms) eps at worst; the terms of an
    # element are those of the input channels of its group and the taps of a kernel, at most
    judge=Elementwise(
        slack=lambda weight, groups, **_: 2 * math.sqrt(weight.shape[0] // groups * math.prod(weight.shape[2:]) + 1),
        magnitude=magnitude,
    ),
    cost=cost,
)
