"""Fusion/fused_relu_batch_norm_conv2d: a two-dimensional convolution, batch normalisation, ReLU."""

import math
from collections.abc import Iterator
from typing import Any

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
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Two-dimensional convolution (cross-correlation: the kernel is not flipped) of `input` (N, C, H, W) with `weight`
(F, C / groups, R, S), both float32, then batch normalisation of its F channels, then ReLU:

    z[n, f, i, j] = bias[f] + sum_{c, r, s} weight[f, c, r, s] * input[n, g * (C / groups) + c, h, w]
    h = i * stride + r * dilation - padding,    w = j * stride + s * dilation - padding
    y[n, f, i, j] = max(0, (z[n, f, i, j] - mean[f]) / sqrt(var[f] + eps) * bn_weight[f] + bn_bias[f])

where g = f // (F / groups) is the group of filter f, and an input element outside the image counts as 0.
`bias` (F,) counts as 0 when it is None. `stride`, `padding` and `dilation` are integers that hold for both directions;
`groups` divides C and F. The result is y, (N, F, OH, OW), float32, with

    OH = (H + 2 * padding - dilation * (R - 1) - 1) // stride + 1,    OW likewise from W and S.

training=False: mean and var are `running_mean` and `running_var`, which are given and stay as they are.
training=True: mean[f] and var[f] are those of z[:, f], m = N * OH * OW values (2 at least) with
var = (1/m) sum (z - mean)**2, and then the running statistics, unless they are None, are changed in place, with the
*unbiased* variance:
    running_mean = (1 - momentum) * running_mean + momentum * mean
    running_var  = (1 - momentum) * running_var  + momentum * var * m / (m - 1)

`bn_weight` and `bn_bias` may each be None (1 and 0). They and the running statistics are contiguous float32 vectors of
F values; the other tensors may have any strides. Everything is full float32: tf32 is too coarse, on a GPU `tl.dot`
needs `input_precision="ieee"`; the variance survives a mean that is large beside the deviation, which
E[z**2] - E[z]**2 does not.
When training, a NaN in a channel of z makes this channel's results and running statistics NaN and no other's. In
inference NaN and infinities stay in the results whose window holds them; the ReLU keeps NaN. `inplace` allows the
ReLU to work on what precedes it: nothing of it can be seen from outside.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    bn_weight: torch.Tensor | None = None,
    bn_bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
    inplace: bool = False,
) -> torch.Tensor:
    z = torch.nn.functional.conv2d(input, weight, bias, stride, padding, dilation, groups)
    y = torch.nn.functional.batch_norm(z, running_mean, running_var, bn_weight, bn_bias, training, momentum, eps)
    return torch.relu(y)


def running(draw: Draw, filters: int) -> dict[str, Any]:
    """A running mean and a running variance, by parameter name."""
    return {"running_mean": draw.normal(filters), "running_var": draw.uniform(filters, low=0.5, high=2.0)}


def affine(draw: Draw, filters: int) -> dict[str, Any]:
    """A weight and a bias of the normalisation, by parameter name."""
    return {"bn_weight": draw.normal(filters, mean=1.0, std=0.5), "bn_bias": draw.normal(filters)}


def public(draw: Draw) -> Iterator[Case]:
    inference = running(draw, 5) | affine(draw, 5)
    yield Case("inference", layer(draw, (2, 3, 7, 9), (5, 3, 3, 3)), inference)
    options = {"stride": 2, "padding": 1, "training": True}
    yield Case("training, stride and padding", layer(draw, (3, 3, 9, 9), (7, 3, 3, 3)), options | running(draw, 7))
    options = {"groups": 3, "training": True}
    yield Case("training, groups", layer(draw, (2, 6, 7, 7), (9, 2, 3, 3))[:2], options | affine(draw, 9))


def hidden(draw: Draw) -> Iterator[Case]:
    for i, (label, args, options) in enumerate(geometries(draw)):
        state = running(draw, args[1].shape[0]) | affine(draw, args[1].shape[0])
        mode = ("inference", "training")[i % 2]
        yield Case(f"{label}, {mode}", args, {**options, **state, "training": mode == "training"})
    for label, args, options in extremes(draw):
        yield Case(f"{label}, inference", args, options | running(draw, args[1].shape[0]))
    h, w = odd_sizes(draw)
    input, weight, bias = layer(draw, (draw.size(2, 3), 3, h, w), (5, 3, 3, 3))
    far = bias + draw.pick([4000.0, -5000.0])
    yield Case("mean far above the deviation", (input, weight, far), {"training": True} | running(draw, 5))
    changed = {"training": True, "momentum": draw.pick([0.3, 0.7]), "eps": 0.05}
    yield Case("momentum and eps, training", (input * 0.1, weight), changed | running(draw, 5) | affine(draw, 5))
    small = running(draw, 5)
    small["running_var"] *= 0.05
    yield Case("eps, inference", (input * 0.1, weight), {"eps": 0.05} | small | affine(draw, 5))
    special = input.clone()
    special[0, 0, draw.size(0, h - 1), draw.size(0, w - 1)] = math.nan
    # groups of one channel each: the NaN stays in one result channel
    alone = special, draw.normal(3, 1, 3, 3)
    yield Case("NaN, training", alone, {"padding": 1, "groups": 3, "training": True} | running(draw, 3))


def timed(draw: Draw) -> Iterator[Case]:
    for i, (label, args, options) in enumerate(large_layers(draw)):
        state = running(draw, args[1].shape[0]) | affine(draw, args[1].shape[0])
        mode = ("training", "inference")[i % 2]
        yield Case(f"{label}, {mode}", args, {**options, **state, "training": mode == "training"})


def stand_ins(draw: Draw) -> Iterator[Case]:
    for i, (label, args, options) in enumerate(small_layers(draw)):
        state = running(draw, args[1].shape[0]) | affine(draw, args[1].shape[0])
        mode = ("training", "inference")[i % 2]
        yield Case(f"{label}, {mode}", args, {**options, **state, "training": mode == "training"})


def magnitude(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: int,
    padding: int,
    dilation: int,
    groups: int,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    bn_weight: torch.Tensor | None,
    bn_bias: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    inplace: bool,
) -> dict[str, torch.Tensor]:
    """Terms before any of them cancel, and what errors of this size in z do to mean and variance."""
    conv = input.double(), weight.double(), None if bias is None else bias.double(), stride, padding, dilation, groups
    z = torch.nn.functional.conv2d(*conv).transpose(1, -1)
    size = conv_size(*conv).transpose(1, -1)
    if training or running_mean is None or running_var is None:
        mean, var = z.mean((0, 1, 2)), z.var((0, 1, 2), correction=0)
        shift, spread = size.mean((0, 1, 2)), size.square().mean((0, 1, 2)).sqrt()
    else:
        mean, var = running_mean.double(), running_var.double()
        shift, spread = mean.abs(), torch.zeros_like(mean)
    deviation = (var + eps).sqrt()
    total = (size + shift) / deviation + ((z - mean) / deviation).abs() * (1 + spread / deviation)
    if bn_weight is not None:
        total = total * bn_weight.double().abs()
    if bn_bias is not None:
        total = total + bn_bias.double().abs()
    sizes = {"result": total.transpose(1, -1)}
    if training and running_mean is not None and running_var is not None:
        old_mean, old_var = ((1 - momentum) * old.double().abs() for old in (running_mean, running_var))
        sizes["running_mean after the call"] = old_mean + momentum * shift
        sizes["running_var after the call"] = old_var + momentum * (var + 2 * var.sqrt() * spread)
    return sizes


def slack(
    input: torch.Tensor, weight: torch.Tensor, stride: int, padding: int, dilation: int, groups: int, training: bool,
    **_: Any,
) -> float:  # fmt: skip
    if not training:
        return terms(weight)
    n, _f, height, width = conv_shape(input, weight, stride, padding, dilation, groups)
    return terms(weight) + 4 * math.sqrt(n * height * width)


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    bn_weight: torch.Tensor | None = None,
    bn_bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
    inplace: bool = False,
) -> Cost:
    conv = conv_cost(input, weight, bias, stride, padding, dilation, groups, extra_flops=8 if training else 3)
    statistics = nbytes(running_mean, running_var) * (2 if training else 1)
    return Cost(conv.bytes_min + statistics + nbytes(bn_weight, bn_bias), conv.flops)


TASK = Task(
    id="Fusion/fused_relu_batch_norm_conv2d",
    entry="fused_relu_batch_norm_conv2d",
    aliases=("relu_batch_norm_conv2d",),
    signature=(
        "fused_relu_batch_norm_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, "
        "running_mean=None, running_var=None, bn_weight=None, bn_bias=None, training=False, momentum=0.1, eps=1e-05, "
        "inplace=False)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
    mutates=("running_mean", "running_var"),
)
