"""What the tasks around a two-dimensional convolution share: layers to call them with, budgets and costs.

A float32 sum of same-signed terms in plain order is off by about 0.8 sqrt(terms) eps at worst.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.functional import conv2d

from tasks.draw import Draw
from tasks.task import Cost, nbytes

Layer = tuple[str, tuple[torch.Tensor, torch.Tensor, torch.Tensor | None], dict[str, int]]
"""A label; input, weight and bias; and stride, padding, dilation and groups where they aren't the default."""


def layer(
    draw: Draw, image: tuple[int, ...], kernel: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """An input of this shape, a weight of that one, and a bias."""
    return draw.normal(*image), draw.normal(*kernel), draw.normal(kernel[0])


def odd_sizes(draw: Draw) -> tuple[int, int]:
    """Height and width of an image: 9, 11 or 13 each."""
    return 2 * draw.size(4, 6) + 1, 2 * draw.size(4, 6) + 1


def geometries(draw: Draw, multiple: int = 1) -> Iterator[Layer]:
    """Each geometric parameter away from its default, and views; the number of filters is divisible by `multiple`."""
    h, w = odd_sizes(draw)
    channels = draw.pick((3, 5))
    filters = 7 if multiple == 1 else 2 * multiple
    yield "dilation", layer(draw, (1, channels, h, w), (filters, channels, 3, 3)), {"dilation": 2}
    everything = {"stride": 2, "padding": 3, "dilation": 2, "groups": 2}
    yield "everything", layer(draw, (2, 6, h, w), (10 * multiple, 3, 3, 2)), everything
    depthwise = draw.normal(1, 3 * multiple, h, w), draw.normal(3 * multiple, 1, 3, 3), None
    yield "depthwise", depthwise, {"padding": 1, "groups": 3 * multiple}
    view = draw.strided(draw.normal(2, 3, h, w)).transpose(2, 3)
    turned = draw.normal(3, 5 * multiple, 3, 3).transpose(0, 1)
    yield "strided view", (view, turned, draw.strided(draw.normal(5 * multiple))), {"stride": 3}


def extremes(draw: Draw, multiple: int = 1, infinity: bool = True) -> Iterator[Layer]:
    """Large values, one point, and NaN (with an infinity where that is wanted)."""
    h, w = odd_sizes(draw)
    filters = 5 if multiple == 1 else 2 * multiple
    large = draw.normal(1, 3, h, w, mean=100.0, std=900.0), draw.normal(filters, 3, 2, 5, std=40.0)
    yield "large values", (*large, draw.normal(filters, std=1e4)), {"padding": 1}
    yield "one point", layer(draw, (1, 5, 1, 1), (filters, 5, 1, 1)), {}
    special = draw.normal(1, 3, h, w)
    special[0, draw.size(0, 2), draw.size(0, 2), draw.size(0, 2)] = math.nan
    if infinity:
        special[0, draw.size(0, 2), 6, draw.size(5, 7)] = draw.pick((math.inf, -math.inf))
    label = "NaN and infinity" if infinity else "NaN"
    yield label, (special, draw.normal(filters, 3, 3, 3), draw.normal(filters)), {"padding": 1}


def large_layers(draw: Draw) -> Iterator[Layer]:
    """Layers for a GPU; the filters are divisible by 4."""
    for x, w, options in (
        ((16, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}),
        ((16, 128, 56, 56), (256, 128, 3, 3), {"stride": 2, "padding": 1}),
        ((8, 256, 28, 28), (256, 32, 3, 3), {"padding": 2, "dilation": 2, "groups": 8}),
    ):
        yield f"{x} with {w}", layer(draw, x, w), options


def small_layers(draw: Draw) -> Iterator[Layer]:
    """Layers of several programs each that an interpreter can run; the filters are divisible by 4."""
    for x, w, options in (
        ((1, 5, 15, 15), (36, 5, 3, 3), {"padding": 1}),
        ((2, 6, 25, 25), (8, 3, 3, 3), {"stride": 2, "padding": 1, "groups": 2}),
    ):
        yield f"{x} with {w}", layer(draw, x, w), options


def terms(weight: torch.Tensor) -> float:
    """The slack of a convolution: rounding grows with the root of the number of terms."""
    return 2 * math.sqrt(math.prod(weight.shape[1:]) + 1)


def conv_size(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> torch.Tensor:
    """The sum of the magnitudes of all terms of each element of a convolution, in float64."""
    size = None if bias is None else bias.double().abs()
    return conv2d(input.double().abs(), weight.double().abs(), size, stride, padding, dilation, groups)


def conv_shape(
    input: torch.Tensor,
    weight: torch.Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> torch.Size:
    """The shape of a convolution."""
    image, kernel = (torch.empty(t.shape, device="meta") for t in (input, weight))
    return conv2d(image, kernel, None, stride, padding, dilation, groups).shape


def conv_cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    extra_flops: int = 0,
) -> Cost:
    """Inputs read once, the convolution's result written once; `extra_flops` for each element of it."""
    results = conv_shape(input, weight, stride, padding, dilation, groups).numel()
    bytes_min = nbytes(input, weight, bias) + results * input.element_size()
    return Cost(bytes_min, results * (2 * math.prod(weight.shape[1:]) + extra_flops))
