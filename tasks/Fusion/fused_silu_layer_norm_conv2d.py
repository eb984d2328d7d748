"""Fusion/fused_silu_layer_norm_conv2d: a two-dimensional convolution, layer normalisation, SiLU."""

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
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Two-dimensional convolution (cross-correlation: the kernel is not flipped) of `x` (N, C, H, W) with `conv_weight`
(F, C / conv_groups, R, S), both float32, then layer normalisation of each image of the result, then SiLU:

    z[n, f, i, j] = conv_bias[f] + sum_{c, r, s} conv_weight[f, c, r, s] * x[n, g * (C / conv_groups) + c, h, w]
    h = i * conv_stride + r * conv_dilation - conv_padding,    w = j * conv_stride + s * conv_dilation - conv_padding
    u[n, f, i, j] = (z[n, f, i, j] - mean[n]) / sqrt(var[n] + ln_eps) * weight[f, i, j]
    mean[n] = (1/m) sum_{f, i, j} z[n, f, i, j],    var[n] = (1/m) sum_{f, i, j} (z[n, f, i, j] - mean[n])**2
    y = u / (1 + exp(-u))

where g = f // (F / conv_groups) is the group of filter f, and an element of x outside the image counts as 0.
`conv_bias` (F,) counts as 0 when it is None. `conv_stride`, `conv_padding` and `conv_dilation` are integers that hold
for both directions; `conv_groups` divides C and F. All m = F * OH * OW values of an image are normalised together, and
`weight` (F, OH, OW) is the scale of each of them; there is no shift. The result is y, (N, F, OH, OW), float32, with

    OH = (H + 2 * conv_padding - conv_dilation * (R - 1) - 1) // conv_stride + 1,    OW likewise from W and S.

All tensors may have any strides. Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs
`input_precision="ieee"`.
The variance survives a mean that is large beside the deviation, which E[z**2] - E[z]**2 does not. Large u of either
sign must not give NaN. A NaN in an image of x that reaches z makes this image's results NaN and no other's.
"""


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    conv_weight: torch.Tensor,
    conv_bias: torch.Tensor | None = None,
    conv_stride: int = 1,
    conv_padding: int = 0,
    conv_dilation: int = 1,
    conv_groups: int = 1,
    ln_eps: float = 1e-05,
) -> torch.Tensor:
    z = torch.nn.functional.conv2d(x, conv_weight, conv_bias, conv_stride, conv_padding, conv_dilation, conv_groups)
    return torch.nn.functional.silu(torch.nn.functional.layer_norm(z, z.shape[1:], weight, None, ln_eps))


def called(
    draw: Draw, label: str, args: tuple[torch.Tensor, torch.Tensor, torch.Tensor | None], options: dict[str, int]
) -> Case:
    """The call for this input, filters and bias, with a scale for each element of an image."""
    x, conv_weight, bias = args
    scale = draw.normal(*conv_shape(x, conv_weight, **options)[1:], mean=1.0, std=0.7)
    return Case(label, (x, scale, conv_weight, bias), {f"conv_{name}": value for name, value in options.items()})


def public(draw: Draw) -> Iterator[Case]:
    yield called(draw, "3 x 3 with bias", layer(draw, (2, 3, 7, 9), (5, 3, 3, 3)), {})
    yield called(draw, "stride and padding", layer(draw, (1, 3, 9, 9), (3, 3, 3, 3)), {"stride": 2, "padding": 1})
    yield called(draw, "groups", layer(draw, (2, 6, 7, 7), (9, 2, 3, 3)), {"groups": 3})


def hidden(draw: Draw) -> Iterator[Case]:
    for label, args, options in geometries(draw):
        yield called(draw, label, args, options)
    h, w = odd_sizes(draw)
    x, conv_weight, bias = layer(draw, (2, 3, h, w), (5, 3, 3, 3))
    small = called(draw, "eps, small values", (x * 0.05, conv_weight, bias * 0.05), {})
    yield Case(small.label, small.args, {"ln_eps": draw.pick([0.01, 0.05])})
    far = bias + draw.pick([2000.0, -4000.0])
    yield called(draw, "mean far above the deviation", (x, conv_weight, far), {"padding": 1})
    yield called(draw, "large values", (x * 500, conv_weight * 30, bias), {"padding": 1})
    steep = called(draw, "large scales", (x, conv_weight, bias), {"padding": 1})
    yield Case(steep.label, (steep.args[0], steep.args[1] * 100, *steep.args[2:]), steep.kwargs)
    yield called(draw, "two values an image", layer(draw, (3, 5, 1, 1), (2, 5, 1, 1)), {})
    special = draw.normal(3, 3, h, w)
    special[1, 1, draw.size(0, h - 1), draw.size(0, w - 1)] = math.nan
    yield called(draw, "NaN", (special, conv_weight, None), {"padding": 1})
    turned = called(draw, "transposed weight", (x, conv_weight, None), {"padding": 1})
    scales = draw.normal(5, w, h).transpose(1, 2)
    yield Case(turned.label, (turned.args[0], scales, *turned.args[2:]), turned.kwargs)


def timed(draw: Draw) -> Iterator[Case]:
    for label, args, options in large_layers(draw):
        yield called(draw, label, args, options)


def stand_ins(draw: Draw) -> Iterator[Case]:
    for label, args, options in small_layers(draw):
        yield called(draw, label, args, options)


def magnitude(
    x: torch.Tensor,
    weight: torch.Tensor,
    conv_weight: torch.Tensor,
    conv_bias: torch.Tensor | None,
    conv_stride: int,
    conv_padding: int,
    conv_dilation: int,
    conv_groups: int,
    ln_eps: float,
) -> torch.Tensor:
    """Terms before any of them cancel, and what errors of this size in z do to mean and variance."""
    bias = None if conv_bias is None else conv_bias.double()
    conv = x.double(), conv_weight.double(), bias, conv_stride, conv_padding, conv_dilation, conv_groups
    z, size, dims = torch.nn.functional.conv2d(*conv), conv_size(*conv), (1, 2, 3)
    mean, deviation = z.mean(dims, keepdim=True), (z.var(dims, correction=0, keepdim=True) + ln_eps).sqrt()
    shift, spread = size.mean(dims, keepdim=True), size.square().mean(dims, keepdim=True).sqrt()
    # SiLU is nowhere steeper than 1.1
    factor = 1.1 * weight.double().abs()
    return ((size + shift) / deviation + ((z - mean) / deviation).abs() * (1 + spread / deviation)) * factor


def slack(
    x: torch.Tensor, conv_weight: torch.Tensor, conv_stride: int, conv_padding: int, conv_dilation: int,
    conv_groups: int, **_: Any,
) -> float:  # fmt: skip
    shape = conv_shape(x, conv_weight, conv_stride, conv_padding, conv_dilation, conv_groups)
    return terms(conv_weight) + 4 * math.sqrt(math.prod(shape[1:]))


def cost(
    x: torch.Tensor,
    weight: torch.Tensor,
    conv_weight: torch.Tensor,
    conv_bias: torch.Tensor | None = None,
    conv_stride: int = 1,
    conv_padding: int = 0,
    conv_dilation: int = 1,
    conv_groups: int = 1,
    ln_eps: float = 1e-05,
) -> Cost:
    geometry = conv_stride, conv_padding, conv_dilation, conv_groups
    conv = conv_cost(x, conv_weight, conv_bias, *geometry, extra_flops=13)
    return Cost(conv.bytes_min + nbytes(weight), conv.flops)


TASK = Task(
    id="Fusion/fused_silu_layer_norm_conv2d",
    entry="fused_silu_layer_norm_conv2d",
    aliases=("silu_layer_norm_conv2d",),
    signature=(
        "fused_silu_layer_norm_conv2d(x: torch.Tensor, weight: torch.Tensor, conv_weight: torch.Tensor, "
        "conv_bias: torch.Tensor=None, conv_stride: int=1, conv_padding: int=0, conv_dilation: int=1, "
        "conv_groups: int=1, ln_eps: float=1e-05)"
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
