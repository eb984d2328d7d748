"""Fusion/fused_conv2d_add: a two-dimensional convolution plus a scaled tensor."""

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
    small_layers,
    terms,
)
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Two-dimensional convolution (cross-correlation: the kernel is not flipped) of `input` (N, C, H, W) with `weight`
(F, C / groups, R, S), both float32, plus a scaled tensor:

    z[n, f, i, j] = bias[f] + sum_{c, r, s} weight[f, c, r, s] * input[n, g * (C / groups) + c, h, w]
    h = i * stride + r * dilation - padding,    w = j * stride + s * dilation - padding
    y = z + alpha * other

where g = f // (F / groups) is the group of filter f, and an input element outside the image counts as 0.
`bias` (F,) counts as 0 when it is None. `stride`, `padding` and `dilation` are integers that hold for both directions;
`groups` divides C and F. The result is y, (N, F, OH, OW), float32, with

    OH = (H + 2 * padding - dilation * (R - 1) - 1) // stride + 1,    OW likewise from W and S.

`other` is a float32 tensor that broadcasts to the shape of y (of that shape, (F, 1, 1), (N, 1, OH, OW), (1,) or no
dimensions, say), or None: then nothing is added. `alpha` is an int or a float. `out`, when given, is a contiguous
float32 tensor of the shape of y: the result is written into it, and `out` itself is returned.

All tensors may have any strides. Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs
`input_precision="ieee"`.
A NaN or an infinity in the input reaches the results whose window holds it, and no others.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    other: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    alpha: float = 1,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    y = torch.nn.functional.conv2d(input, weight, bias, stride, padding, dilation, groups)
    if other is not None:
        y = y + alpha * other
    return y if out is None else out.copy_(y)


def public(draw: Draw) -> Iterator[Case]:
    args = layer(draw, (2, 3, 7, 9), (5, 3, 3, 3))
    yield Case("3 x 3 with bias", (*args, draw.normal(2, 5, 5, 7)))
    args = layer(draw, (1, 3, 9, 9), (3, 3, 3, 3))
    yield Case("stride and padding, a value for each channel", (*args, draw.normal(3, 1, 1), 2, 1), {"alpha": -0.7})
    args, y = layer(draw, (2, 6, 7, 7), (9, 2, 3, 3)), (2, 9, 5, 5)
    yield Case("groups, out given", (*args, draw.normal(*y)), {"groups": 3, "alpha": 2, "out": draw.normal(*y)})


def hidden(draw: Draw) -> Iterator[Case]:
    for label, args, options in (*geometries(draw), *extremes(draw)):
        other = draw.normal(*conv_shape(args[0], args[1], **options))
        yield Case(label, (*args, other), {**options, "alpha": draw.pick([0.3, -1.7, 3])})
    h, w = draw.size(7, 13), draw.size(7, 13)
    args, y = layer(draw, (2, 3, h, w), (5, 3, 3, 3)), (2, 5, h, w)
    yield Case("nothing added, out given", args, {"padding": 1, "alpha": 2.5, "out": draw.normal(*y)})
    wide = {"padding": 2, "dilation": 2, "alpha": 1.5}
    for label, shape in (("rows", (h, 1)), ("images and columns", (2, 1, 1, w)), ("a number", ())):
        yield Case(f"broadcast: {label}", (args[0], args[1], None, draw.normal(*shape)), wide)
    turned = draw.strided(draw.normal(2, 5, w, h)).transpose(2, 3)
    yield Case("strided other, out given", (*args, turned), {"padding": 1, "alpha": -2.0, "out": draw.normal(*y)})
    yield Case("a sum that cancels", (*args, -reference(*args, padding=1) / 2), {"padding": 1, "alpha": 2})


def timed(draw: Draw) -> Iterator[Case]:
    for label, args, options in large_layers(draw):
        other = draw.normal(*conv_shape(args[0], args[1], **options))
        yield Case(label, (*args, other), {**options, "alpha": 0.5})


def stand_ins(draw: Draw) -> Iterator[Case]:
    for label, args, options in small_layers(draw):
        other = draw.normal(*conv_shape(args[0], args[1], **options))
        yield Case(label, (*args, other), {**options, "alpha": 0.5})


def magnitude(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    other: torch.Tensor | None,
    stride: int,
    padding: int,
    dilation: int,
    groups: int,
    alpha: float,
    out: torch.Tensor | None,
) -> dict[str, torch.Tensor]:
    size = conv_size(input, weight, bias, stride, padding, dilation, groups)
    if other is not None:
        size = size + abs(alpha) * other.double().abs()
    return {"result": size, "out after the call": size}


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    other: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    alpha: float = 1,
    out: torch.Tensor | None = None,
) -> Cost:
    conv = conv_cost(input, weight, bias, stride, padding, dilation, groups, extra_flops=0 if other is None else 2)
    return Cost(conv.bytes_min + nbytes(other), conv.flops)


TASK = Task(
    id="Fusion/fused_conv2d_add",
    entry="fused_conv2d_add",
    aliases=("conv2d_add",),
    signature=(
        "fused_conv2d_add(input, weight, bias=None, other=None, stride=1, padding=0, dilation=1, groups=1, alpha=1, "
        "out=None)"
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
