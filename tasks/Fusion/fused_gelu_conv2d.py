"""Fusion/fused_gelu_conv2d: a two-dimensional convolution, then GELU."""

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
(F, C / groups, R, S), both float32, followed by GELU:

    z[n, f, i, j] = bias[f] + sum_{c, r, s} weight[f, c, r, s] * input[n, g * (C / groups) + c, h, w]
    h = i * stride[0] + r * dilation[0] - top,    w = j * stride[1] + s * dilation[1] - left
    y = z * (1 + erf(z / sqrt(2))) / 2                                     approximate = "none"
    y = z * (1 + tanh(sqrt(2 / pi) * (z + 0.044715 * z**3))) / 2           approximate = "tanh"

where g = f // (F / groups) is the group of filter f, and an input element outside the image counts as 0.
`bias` (F,) counts as 0 when it is None; `groups` divides C and F. `stride`, `dilation` and `padding` are integers,
which hold for both directions, or pairs (vertical, horizontal). `padding` is the number of rows that are added on top
and at the bottom, and of columns on the left and on the right; or "valid": none; or "same" (with stride 1): as many as
give the image's own size, in all dilation[0] * (R - 1) rows, half of them (rounded down) on top and the rest at the
bottom, and likewise columns. The result is y, (N, F, OH, OW), float32, with

    OH = (H + top + bottom - dilation[0] * (R - 1) - 1) // stride[0] + 1,    OW likewise from W and S.

`out`, when given, is a contiguous float32 tensor of the shape of y: the result is written into it, and `out` itself is
returned. All tensors may have any strides. Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot`
needs `input_precision="ieee"`. Large z of either sign must not give NaN; a NaN in the input reaches the results whose
window holds it, and no others.
"""

Pair = int | tuple[int, int]


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
    approximate: str = "none",
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    z = torch.nn.functional.conv2d(input, weight, bias, stride, padding, dilation, groups)
    y = torch.nn.functional.gelu(z, approximate=approximate)
    return y if out is None else out.copy_(y)


def gentle(draw: Draw, image: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    """A layer whose results lie where GELU bends."""
    input, weight, bias = layer(draw, image, kernel)
    return input * 0.3, weight, bias


def public(draw: Draw) -> Iterator[Case]:
    yield Case("3 x 3 with bias", layer(draw, (2, 3, 7, 9), (5, 3, 3, 3)))
    options = {"stride": (2, 1), "padding": (0, 2), "approximate": "tanh"}
    yield Case("tanh, pairs", layer(draw, (1, 3, 9, 9), (3, 3, 3, 3))[:2], options)
    yield Case(
        "groups, out given", layer(draw, (2, 6, 7, 7), (9, 2, 3, 3)), {"groups": 3, "out": draw.normal(2, 9, 5, 5)}
    )


def hidden(draw: Draw) -> Iterator[Case]:
    for label, args, options in (*geometries(draw), *extremes(draw, infinity=False)):
        yield Case(label, args, {**options, "approximate": draw.pick(["none", "tanh"])})
    h, w = odd_sizes(draw)
    yield Case(
        "pairs", gentle(draw, (1, 3, h, w), (7, 3, 3, 2)), {"stride": (1, 3), "padding": (2, 0), "dilation": (3, 1)}
    )
    same = gentle(draw, (1, 3, h, w), (5, 3, 2, 4))
    yield Case('"same", more padding below', same, {"padding": "same", "dilation": (1, 3), "approximate": "tanh"})
    yield Case('"valid"', gentle(draw, (1, 3, h, w), (5, 3, 3, 1)), {"padding": "valid", "stride": 2})
    images, kernels = (2, 3, h, w), (5, 3, 3, 3)
    out = draw.normal(*conv_shape(torch.empty(images), torch.empty(kernels), padding=1))
    yield Case("tanh, out given", gentle(draw, images, kernels), {"padding": 1, "approximate": "tanh", "out": out})


def timed(draw: Draw) -> Iterator[Case]:
    for i, (label, args, options) in enumerate(large_layers(draw)):
        yield Case(label, args, {**options, "approximate": ("none", "tanh")[i % 2]})


def stand_ins(draw: Draw) -> Iterator[Case]:
    for i, (label, args, options) in enumerate(small_layers(draw)):
        yield Case(label, args, {**options, "approximate": ("none", "tanh")[i % 2]})


def magnitude(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Pair,
    padding: Pair | str,
    dilation: Pair,
    groups: int,
    approximate: str,
    out: torch.Tensor | None,
) -> dict[str, torch.Tensor]:
    # GELU is nowhere steeper than 1.13, and 1 + erf(z) loses what cancels, which is a share of z
    size = 1.13 * conv_size(input, weight, bias, stride, padding, dilation, groups)
    return {"result": size, "out after the call": size}


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
    approximate: str = "none",
    out: torch.Tensor | None = None,
) -> Cost:
    return conv_cost(input, weight, bias, stride, padding, dilation, groups, extra_flops=8)


TASK = Task(
    id="Fusion/fused_gelu_conv2d",
    entry="fused_gelu_conv2d",
    aliases=("gelu_conv2d",),
    signature=(
        "fused_gelu_conv2d(input: Tensor, weight: Tensor, bias: Optional[Tensor]=None, "
        "stride: Union[int, Tuple[int, int]]=1, padding: Union[int, Tuple[int, int], str]=0, "
        "dilation: Union[int, Tuple[int, int]]=1, groups: int=1, "
        "approximate: str='none', out: Optional[Tensor]=None)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda weight, **_: terms(weight), magnitude=magnitude),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
