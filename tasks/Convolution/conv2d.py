"""Convolution/conv2d: two-dimensional cross-correlation with groups and dilation."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Two-dimensional convolution (cross-correlation: the kernel is not flipped) of `input` (N, C, H, W) with `weight`
(F, C / groups, R, S), both float32:

    y[n, f, i, j] = bias[f] + sum_{c, r, s} weight[f, c, r, s] * input[n, g * (C / groups) + c, h, w]
    h = i * stride + r * dilation - padding,    w = j * stride + s * dilation - padding

where g = f // (F / groups) is the group of filter f, and an input element outside the image counts as 0.
`bias` (F,) counts as 0 when it is None. `stride`, `padding` and `dilation` are integers that hold for both directions;
`groups` divides C and F. The result is (N, F, OH, OW), float32, with

    OH = (H + 2 * padding - dilation * (R - 1) - 1) // stride + 1,    OW likewise from W and S.

All tensors may have any strides. Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs
`input_precision="ieee"`. A NaN or an infinity in the input reaches the results whose window holds it, and no others.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
) -> torch.Tensor:
    return torch.nn.functional.conv2d(input, weight, bias, stride, padding, dilation, groups)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("3 x 3 with bias", (draw.normal(2, 3, 7, 9), draw.normal(5, 3, 3, 3), draw.normal(5)))
    yield Case("stride and padding", (draw.normal(1, 3, 9, 9), draw.normal(3, 3, 3, 3)), {"stride": 2, "padding": 1})
    yield Case("groups", (draw.normal(2, 6, 7, 7), draw.normal(9, 2, 3, 3), draw.normal(9)), {"groups": 3})


def hidden(draw: Draw) -> Iterator[Case]:
    h, w = 2 * draw.size(4, 6) + 1, 2 * draw.size(4, 6) + 1
    channels = draw.pick((3, 5))
    yield Case("dilation", (draw.normal(1, channels, h, w), draw.normal(7, channels, 3, 3)), {"dilation": 2})
    everything = {"stride": 2, "padding": 3, "dilation": 2, "groups": 2}
    yield Case("everything", (draw.normal(2, 6, h, w), draw.normal(10, 3, 3, 2), draw.normal(10)), everything)
    yield Case("depthwise", (draw.normal(1, 3, h, w), draw.normal(3, 1, 3, 3)), {"padding": 1, "groups": 3})
    large = (draw.normal(1, 3, h, w, mean=100.0, std=900.0), draw.normal(5, 3, 2, 5, std=40.0), draw.normal(5, std=1e4))
    yield Case("large values", large, {"padding": 1})
    yield Case("one point", (draw.normal(1, channels, 1, 1), draw.normal(3, channels, 1, 1), draw.normal(3)))
    view = draw.strided(draw.normal(2, 3, h, w)).transpose(2, 3)
    yield Case("strided view", (view, draw.normal(5, 3, 3, 3).transpose(0, 1)[:3].transpose(0, 1)), {"stride": 3})
    special = draw.normal(1, 3, h, w)
    special[0, draw.size(0, 2), draw.size(0, 2), draw.size(0, 2)] = math.nan
    special[0, draw.size(0, 2), 6, draw.size(5, 7)] = draw.pick((math.inf, -math.inf))
    yield Case("NaN and infinity", (special, draw.normal(5, 3, 3, 3)), {"padding": 1})


def timed(draw: Draw) -> Iterator[Case]:
    for x, w, options in (
        ((16, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}),
        ((16, 128, 56, 56), (256, 128, 3, 3), {"stride": 2, "padding": 1}),
        ((8, 256, 28, 28), (256, 32, 3, 3), {"padding": 2, "dilation": 2, "groups": 8}),
    ):
        yield Case(f"{x} with {w}", (draw.normal(*x), draw.normal(*w), draw.normal(w[0])), options)


def stand_ins(draw: Draw) -> Iterator[Case]:
    for x, w, options in (
        ((1, 5, 15, 15), (35, 5, 3, 3), {"padding": 1}),
        ((1, 6, 29, 29), (10, 3, 3, 3), {"stride": 2, "padding": 1, "groups": 2}),
    ):
        yield Case(f"{x} with {w}", (draw.normal(*x), draw.normal(*w), draw.normal(w[0])), options)


def terms(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, stride: int, padding: int, dilation: int,
    groups: int,
) -> float:  # fmt: skip
    return 2 * math.sqrt(math.prod(weight.shape[1:]) + 1)


def magnitude(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, stride: int, padding: int, dilation: int,
    groups: int,
) -> torch.Tensor:  # fmt: skip
    size = None if bias is None else bias.double().abs()
    return reference(input.double().abs(), weight.double().abs(), size, stride, padding, dilation, groups)


def cost(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, stride: int = 1, padding: int = 0,
    dilation: int = 1, groups: int = 1,
) -> Cost:  # fmt: skip
    places = [
        (size + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
        for size, taps in zip(input.shape[2:], weight.shape[2:], strict=True)
    ]
    results = input.shape[0] * weight.shape[0] * math.prod(places)
    bytes_min = nbytes(input, weight, bias) + results * input.element_size()
    return Cost(bytes_min, 2 * results * math.prod(weight.shape[1:]))


TASK = Task(
    id="Convolution/conv2d",
    entry="conv2d",
    signature=(
        "conv2d(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor=None, stride: int=1, padding: int=0, "
        "dilation: int=1, groups: int=1)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # a float32 sum of same-signed terms in plain order is off by about 0.8 sqrt(terms) eps at worst
    judge=Elementwise(slack=terms, magnitude=magnitude),
    cost=cost,
)
