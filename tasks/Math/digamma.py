"""Math/digamma: the logarithmic derivative of the gamma function."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The digamma function of each element, psi(x) = d/dx log gamma(x). It satisfies

    psi(x + 1) = psi(x) + 1/x,      psi(1 - x) = psi(x) + pi / tan(pi x),
    psi(x) ~ log x - 1/(2x) - 1/(12 x^2) + 1/(120 x^4) - 1/(252 x^6) + ...   for large x

`input_tensor` is float32, with any number of dimensions (perhaps none) and any strides; an empty tensor gives an empty
one. The result is a new float32 tensor of its shape.
Special values: psi(0) = -inf, psi(-0.0) = +inf, NaN at the negative integers and at -inf, psi(+inf) = +inf, NaN for
NaN. Negative values that are not integers occur, down to about -50.

The error may be 4 eps |psi(x)| + 8 eps (|psi(x)| + |x| psi'(x) + 1), eps of float32: 1.2e-7. The term |x| psi'(x) is
what rounding the argument costs (much, between the negative integers); with the 1 it leaves an absolute error of about
3e-6 near the zero at 1.4616.
"""


def reference(input_tensor: torch.Tensor) -> torch.Tensor:
    return torch.digamma(input_tensor)


def magnitude(input_tensor: torch.Tensor) -> torch.Tensor:
    x = input_tensor.double()
    return torch.digamma(x).abs() + x.abs() * torch.polygamma(1, x) + 1


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=0.01, high=20.0)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield Case("negative", (draw.uniform(3, 21, low=-6.0, high=0.0),))


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield Case("negative values", (draw.uniform(3, draw.size(35, 130), low=-50.0, high=0.5),))
    yield Case("near the zero", (draw.normal(draw.size(35, 130), mean=1.4616321, std=draw.pick((1e-5, 0.01))),))
    yield Case("large and small", (draw.normal(draw.size(35, 130), std=8).exp(),))
    special = (math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0, -7.0, -0.5, 1e-6, -1e-6, 1.0)
    yield Case("poles, NaN and infinity", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values, ((1500, 4099), (4096, 4096)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input_tensor: torch.Tensor) -> Cost:
    return unary.cost_of(input_tensor, 30)


TASK = Task(
    id="Math/digamma",
    entry="digamma",
    signature="digamma(input_tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input_tensor: 8.0, magnitude=magnitude),
    cost=cost,
)
