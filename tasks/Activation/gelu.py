"""Activation/gelu: the Gaussian error linear unit, in either form."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
GELU, element by element:

    approximate='none':  y = x/2 * (1 + erf(x / sqrt(2)))
    approximate='tanh':  y = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3)))

It is computed in float32: each element may be off by a few units of 2**-23 * |x|, since the two terms of the sum cancel
for negative x. NaN and -inf give NaN, +inf gives +inf; finite values never give NaN, however large.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32,
of the same shape.
"""


def reference(input: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    return torch.nn.functional.gelu(input, approximate=approximate)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, std=1.5)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield Case("tanh form", (values(draw, 5, 50),), {"approximate": "tanh"})


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.0, 60.0, -60.0, 1e15, -1e15]
    yield Case("special values", (unary.among(draw, values, special),))
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("tanh form", (values(draw, draw.size(1100, 2000)),), {"approximate": "tanh"})
    tail = draw.uniform(rows, cols, low=-7.0, high=-1.0)
    yield Case("negative tail", (tail,), {"approximate": draw.pick(["none", "tanh"])})
    yield Case("tanh form, strided view", (draw.strided(values(draw, rows, cols)),), {"approximate": "tanh"})
    yield Case("special values, tanh form", (unary.among(draw, values, special),), {"approximate": "tanh"})


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def magnitude(input: torch.Tensor, approximate: str) -> torch.Tensor:
    """1 + erf and 1 + tanh cancel for negative x: their float32 error is relative to 1, so that of y is to x."""
    return input.double().abs()


def cost(input: torch.Tensor, approximate: str = "none") -> Cost:
    return unary.cost_of(input, 10)


TASK = Task(
    id="Activation/gelu",
    entry="gelu",
    signature="gelu(input: torch.Tensor, approximate: str='none')",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, approximate: 4.0, magnitude=magnitude),
    cost=cost,
)
