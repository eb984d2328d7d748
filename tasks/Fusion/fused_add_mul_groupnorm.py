"""Fusion/fused_add_mul_groupnorm: (a + b) * b, normalised in groups of channels."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.fused import affine
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
An addition, a multiplication by the same second input, and group normalisation:

    m = (input1 + input2) * input2
    y[n, c, ...] = (m[n, c, ...] - mean) / sqrt(var + eps) * weight[c] + bias[c]

where mean = (1/k) sum m and var = (1/k) sum (m - mean)**2 are over the k values of sample n in the group of c: the C
channels are cut into `num_groups` groups of C / num_groups neighbours (num_groups divides C).
`input1` is float32 of shape (N, C), (N, C, L) or (N, C, H, W); `input2` is float32 and broadcast to that shape. Both
have any strides. `weight` and `bias` are contiguous float32 vectors of C values. The result is float32.
`out`, when given, is a contiguous float32 tensor of the shape of `input1`: the result is written into it, and `out`
itself is returned.
Numerical contract: float32 throughout, with a variance that survives a mean that is large beside the deviation:
E[m**2] - E[m]**2 does not; two passes, Welford's update or merging partial means does. A NaN or an infinity makes all
values of its sample and group NaN, and no others.
"""


def reference(
    input1: torch.Tensor,
    input2: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    num_groups: int,
    eps: float = 1e-05,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    product = (input1 + input2) * input2
    # not group_norm: in float32 its CPU kernel squares before it subtracts the mean
    grouped = product.reshape(product.shape[0], num_groups, -1)
    centred = grouped - grouped.mean(2, keepdim=True)
    normalised = centred / (centred.square().mean(2, keepdim=True) + eps).sqrt()
    channels = (-1, *(1,) * (input1.dim() - 2))
    result = normalised.reshape(input1.shape) * weight.view(channels) + bias.view(channels)
    return result if out is None else out.copy_(result)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("image", (draw.normal(2, 6, 5, 7), draw.normal(2, 6, 5, 7), *affine(draw, 6), 3))
    yield Case("two dimensions", (draw.normal(9, 20), draw.normal(9, 20), *affine(draw, 20), 4))


def hidden(draw: Draw) -> Iterator[Case]:
    n, length, groups = draw.size(2, 4), draw.size(17, 40), draw.pick([2, 3])

    def both(*shape: int, mean: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
        return draw.normal(*shape, mean=mean), draw.normal(*shape)

    yield Case("one group", (*both(n, 5, length), *affine(draw, 5), 1))
    yield Case("each channel a group, eps", (*both(n, 4, length), *affine(draw, 4), 4, draw.pick([0.1, 0.5])))
    far = draw.normal(n, 6, length, mean=draw.pick([900.0, 1500.0])), draw.normal(n, 6, length, mean=2.0, std=1e-4)
    yield Case("mean far above the deviation", (*far, *affine(draw, 6), groups))
    yield Case("groups longer than a block", (*both(1, 4, draw.size(700, 900)), *affine(draw, 4), 2))
    row = (draw.normal(n, 6, 5, 7), draw.normal(6, 1, 1), *affine(draw, 6), groups)
    yield Case("input2 one value a channel", row)
    yield Case("one value a group", (*both(n, 3), *affine(draw, 3), 3))
    first, second = both(n, 6, 5, 9, mean=1.0)
    views = (draw.strided(first), second.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2))
    yield Case("strided view, channels last", (*views, *affine(draw, 6), groups))
    first, second = both(n, 6, 9, 5)
    yield Case("transposed view", (first.transpose(2, 3), second.transpose(2, 3), *affine(draw, 6), groups))
    given = {"out": draw.normal(n, 6, length)}
    yield Case("out given", (*both(n, 6, length), *affine(draw, 6), groups), given)
    first, second = both(2, 6, length)
    first[0, 0, draw.size(0, length - 1)] = math.nan
    second[1, 5, draw.size(0, length - 1)] = math.inf
    yield Case("NaN and infinity", (first, second, *affine(draw, 6), groups))


def timed(draw: Draw) -> Iterator[Case]:
    for shape, groups in (((16, 64, 112, 112), 32), ((64, 300, 28, 28), 30), ((16, 128, 5000), 8)):
        inputs = (draw.normal(*shape), draw.normal(*shape), *affine(draw, shape[1]))
        yield Case(f"{' x '.join(map(str, shape))}, {groups} groups", (*inputs, groups))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for shape, groups in (((2, 6, 24, 25), 3), ((5, 20, 90), 4)):
        inputs = (draw.normal(*shape), draw.normal(*shape), *affine(draw, shape[1]))
        yield Case(f"{' x '.join(map(str, shape))}, {groups} groups", (*inputs, groups))


def slack(input1: torch.Tensor, num_groups: int, **_: Any) -> float:
    return 4 * math.sqrt(input1[0].numel() / num_groups)


def magnitude(
    input1: torch.Tensor,
    input2: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    num_groups: int,
    eps: float,
    out: torch.Tensor | None,
) -> torch.Tensor:
    """Before they cancel: (t + the mean of t) / sqrt(var + eps) * |weight| + |bias|, with t = (|a| + |b|) * |b|."""
    a, b = input1.double(), input2.double()
    product = ((a + b) * b).reshape(a.shape[0], num_groups, -1)
    terms = ((a.abs() + b.abs()) * b.abs()).reshape(a.shape[0], num_groups, -1)
    scale = (product.var(2, correction=0, keepdim=True) + eps).sqrt()
    channels = (-1, *(1,) * (a.dim() - 2))
    size = ((terms + terms.mean(2, keepdim=True)) / scale).reshape(a.shape)
    return size * weight.double().abs().view(channels) + bias.double().abs().view(channels)


def cost(
    input1: torch.Tensor,
    input2: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    num_groups: int,
    eps: float = 1e-05,
    *,
    out: torch.Tensor | None = None,
) -> Cost:
    return Cost(2 * nbytes(input1) + nbytes(input2, weight, bias), 9 * input1.numel())


TASK = Task(
    id="Fusion/fused_add_mul_groupnorm",
    entry="fused_add_mul_groupnorm",
    aliases=("add_mul_groupnorm",),
    signature="fused_add_mul_groupnorm(input1, input2, weight, bias, num_groups, eps=1e-05, *, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
