"""Fusion/fused_dropout_relu_batch_norm_conv2d: convolution, batch norm, ReLU, then dropout."""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.families.dropout import EPS, Dropout, Values, demands, scaled
from tasks.task import Case, Cost, Task, nbytes

TEXT = f"""\
Two-dimensional convolution (cross-correlation), batch normalisation, ReLU and dropout, in this order:

    z[n, f, i, j] = bias[f] + sum_{{c, r, s}} weight[f, c, r, s] * input[n, g * (C / groups) + c, h, w]
    h = i * stride + r * dilation - padding,    w = j * stride + s * dilation - padding
    u = (z - mean[f]) / sqrt(var[f] + 1e-5)
    y = max(u, 0) / (1 - p) where kept, 0 where dropped

`input` is (N, C, H, W), `weight` (F, C / groups, R, S), `bias` (F,) or None (0); all float32, with any strides. g =
f // (F / groups) is the group of filter f; input elements outside the image count as 0. `stride`, `padding` and
`dilation` are integers for both directions. The result is (N, F, OH, OW), float32, with
OH = (H + 2 * padding - dilation * (R - 1) - 1) // stride + 1, and OW likewise from W and S.

mean and var are those of the batch, whatever `training` is, as there are no running statistics: of channel f over n, i
and j, at least two values, var divided by their count. The normalisation has no weight and no bias of its own. (The
convolution's bias therefore cancels; it may be given.) A channel of equal values gives zeros.
With training=False nothing is dropped and nothing scaled: y = max(u, 0). p = 0 keeps all; p = 1 gives zeros.
`inplace` is about an intermediate value: it changes nothing that a caller could see, and the inputs are left alone.

Float32 throughout: tf32 is too coarse for the convolution, on a GPU `tl.dot` needs `input_precision="ieee"`; and the
variance must survive a mean that is large beside the deviation (E[z**2] - E[z]**2 does not). NaN and infinity don't
occur.

{demands()}
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
) -> torch.Tensor:
    z = F.conv2d(input, weight, bias, stride, padding, dilation, groups)
    return F.dropout(F.relu(F.batch_norm(z, None, None, training=True)), p, training, inplace)


def chance(p: float, training: bool, **_: Any) -> float:
    return p if training else 0.0


def values(
    keep: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: int,
    padding: int,
    dilation: int,
    groups: int,
    p: float,
    training: bool,
    inplace: bool,
) -> Values:
    x, w, b = input.double(), weight.double(), None if bias is None else bias.double()
    z = F.conv2d(x, w, b, stride, padding, dilation, groups)
    terms = F.conv2d(x.abs(), w.abs(), None if b is None else b.abs(), stride, padding, dilation, groups)
    over = (0, 2, 3)
    deviation = (z.var(over, correction=0, keepdim=True) + 1e-5).sqrt()
    u = (z - z.mean(over, keepdim=True)) / deviation
    # mean and deviation are off by at most the root mean square of the errors of z
    spread = terms.square().mean(over, keepdim=True).sqrt()
    steps = 8 + 2 * math.sqrt(math.prod(w.shape[1:]))
    error = EPS * (steps * (terms + (1 + u.abs()) * spread) / deviation + 8 * u.abs())
    rate = chance(p, training)
    return Values(scaled(u.relu(), keep, rate), scaled(error, keep, rate))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("dropping half", (draw.normal(2, 3, 11, 13), draw.normal(5, 3, 3, 3)))
    yield Case("stride, padding, p = 0.2", (draw.normal(2, 3, 15, 15), draw.normal(7, 3, 3, 3), None, 2, 1, 1, 1, 0.2))
    yield Case("groups, p = 0.3", (draw.normal(2, 6, 7, 7), draw.normal(8, 3, 3, 3)), {"groups": 2, "p": 0.3})


def hidden(draw: Draw) -> Iterator[Case]:
    h, w = 2 * draw.size(6, 8) + 1, 2 * draw.size(6, 8) + 1
    everything = {"stride": 2, "padding": 3, "dilation": 2, "groups": 2, "training": False}
    yield Case("everything, not training", (draw.normal(2, 6, h, w), draw.normal(10, 3, 3, 2)), everything)
    deep = {"padding": 1, "groups": 3, "p": 0.1}
    yield Case("depthwise, p = 0.1", (draw.normal(2, 3, h, w), draw.normal(6, 1, 3, 3)), deep)
    yield Case("dilation, p = 0.7", (draw.normal(1, 5, h, w), draw.normal(11, 5, 3, 3)), {"dilation": 2, "p": 0.7})
    far = draw.normal(2, 3, h, 9, mean=40.0)
    yield Case("mean far above the deviation, not training", (far, draw.uniform(5, 3, 2, 3)), {"training": False})
    quiet = (draw.normal(2, 3, 7, 9, std=0.001), draw.normal(5, 3, 3, 3))
    yield Case("small values, not training", quiet, {"training": False})
    yield Case("p = 0, one point of two images", (draw.normal(2, 5, 1, 1), draw.normal(3, 5, 1, 1)), {"p": 0.0})
    yield Case("p = 1", (draw.normal(2, 3, 7, 7), draw.normal(3, 3, 3, 3)), {"p": 1.0})
    empty = draw.normal(3, 3, 3, 3)
    empty[1] = 0.0
    yield Case("a filter of zeros, not training", (draw.normal(1, 3, h, 7), empty), {"training": False})
    view = draw.strided(draw.normal(2, 3, h, w)).transpose(2, 3)
    yield Case("strided view", (view, draw.normal(5, 3, 3, 3).transpose(0, 1)[:3].transpose(0, 1)))


def timed(draw: Draw) -> Iterator[Case]:
    for x, w, options in (
        ((16, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}),
        ((16, 128, 56, 56), (256, 128, 3, 3), {"stride": 2, "padding": 1}),
        ((8, 256, 28, 28), (256, 32, 3, 3), {"padding": 2, "dilation": 2, "groups": 8}),
    ):
        yield Case(f"{x} with {w}", (draw.normal(*x), draw.normal(*w), draw.normal(w[0])), {**options, "inplace": True})


def stand_ins(draw: Draw) -> Iterator[Case]:
    for x, w, options in (
        ((1, 5, 15, 15), (35, 5, 3, 3), {"padding": 1}),
        ((1, 6, 29, 29), (10, 3, 3, 3), {"stride": 2, "padding": 1, "groups": 2}),
    ):
        yield Case(f"{x} with {w}", (draw.normal(*x), draw.normal(*w), draw.normal(w[0])), {**options, "inplace": True})


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    *_: Any,
    **__: Any,
) -> Cost:
    places = [
        (size + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
        for size, taps in zip(input.shape[2:], weight.shape[2:], strict=True)
    ]
    results = input.shape[0] * weight.shape[0] * math.prod(places)
    return Cost(nbytes(input, weight) + 4 * results, 2 * results * math.prod(weight.shape[1:]) + 8 * results)


TASK = Task(
    id="Fusion/fused_dropout_relu_batch_norm_conv2d",
    entry="fused_dropout_relu_batch_norm_conv2d",
    aliases=("dropout_relu_batch_norm_conv2d",),
    signature=(
        "fused_dropout_relu_batch_norm_conv2d(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor=None, "
        "stride: int=1, padding: int=0, dilation: int=1, groups: int=1, p: float=0.5, training: bool=True, "
        "inplace: bool=False)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Dropout(chance, values),
    cost=cost,
    stochastic=True,
)
