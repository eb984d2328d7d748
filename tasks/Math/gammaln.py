"""Math/gammaln: the logarithm of the absolute value of the gamma function."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
log |gamma(x)| of each element, where gamma(x + 1) = x gamma(x), gamma(1) = 1. Useful facts:

    log gamma(x) ~ (x - 1/2) log x - x + log(2 pi) / 2 + 1/(12 x) - 1/(360 x^3) + ...   for large x
    log |gamma(x)| = log(pi / |x sin(pi x)|) - log gamma(-x)                             for x < 0

`input` is float32, with any number of dimensions (perhaps none) and any strides; an empty tensor gives an empty one.
The result is float32, of its shape. With `out` given (contiguous, of that shape and dtype) the result is written into
`out`, and `out` itself is returned.
Special values: +inf at 0, at the negative integers and at both infinities; NaN for NaN. Negative values that are not
integers occur, down to about -50. Results too large for float32 are +inf.

The error may be 4 eps |y| + 8 eps (|y| + |x psi(x)| + 2), with y the result, eps of float32 (1.2e-7) and psi the
derivative of log gamma: |x psi(x)| is what rounding the argument costs, and the 2 leaves an absolute error of about
2e-6 near the zeros at 1 and 2.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    values: torch.Tensor = torch.special.gammaln(input)
    return values if out is None else out.copy_(values)


def magnitude(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    x = input.double()
    return torch.lgamma(x).abs() + (x * torch.digamma(x)).abs() + 2


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=0.01, high=30.0)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield unary.out_given(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    yield Case("negative values", (draw.uniform(3, draw.size(35, 130), low=-50.0, high=0.5),))
    near = draw.normal(2, draw.size(35, 130), std=draw.pick((1e-4, 0.2))) + torch.tensor([[1.0], [2.0]])
    yield Case("near the zeros", (near,))
    yield Case("large and small", (draw.normal(draw.size(35, 130), std=12).exp(),))
    special = (math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0, -7.0, -0.5, 1.0, 2.0, 2e38)
    yield Case("poles, NaN and infinity", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values, ((1500, 4099), (4096, 4096)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 30)


TASK = Task(
    id="Math/gammaln",
    entry="gammaln",
    signature="gammaln(input: torch.Tensor, out: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, out: 8.0, magnitude=magnitude),
    cost=cost,
    aliases=("lgamma",),
    writes_to="out",
)
