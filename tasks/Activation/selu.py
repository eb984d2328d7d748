"""Activation/selu: the scaled exponential linear unit."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Scaled exponential linear unit, element by element:

    y = scale * x                        for x > 0
    y = scale * alpha * (exp(x) - 1)     for x <= 0
    alpha = 1.6732632423543772,    scale = 1.0507009873554805

It is computed in float32. An absolute error of a few units of 2**-23 is allowed where exp(x) - 1 cancels.
NaN gives NaN, +inf gives +inf, -inf gives -scale * alpha; large positive values don't overflow.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32,
of the same shape. With `inplace` true `input` is contiguous, the result is written into it, and `input` itself is
returned; otherwise `input` is left alone.
"""


def reference(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    y = torch.selu(input)
    return input.copy_(y) if inplace else y


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, std=2.0)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield Case("in place", (values(draw, 5, 21),), {"inplace": True})


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield Case("in place", (values(draw, draw.size(3, 9), draw.size(35, 130)),), {"inplace": True})
    special = [math.nan, math.inf, -math.inf, 0.0, 100.0, -100.0, 1e30, -1e30]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def magnitude(input: torch.Tensor, inplace: bool) -> dict[str, torch.Tensor]:
    """For x <= 0 the terms exp(x) and 1, scaled, and |x exp(x)| for the rounding of exp's argument."""
    x = input.double()
    below = 1.7581 * (1 + x.clamp_max(0).exp())
    size = torch.where(x > 0, 1.0507 * x, below)
    return unary.sizes(size, input=input if inplace else None)


def cost(input: torch.Tensor, inplace: bool = False) -> Cost:
    return unary.cost_of(input, 4)


TASK = Task(
    id="Activation/selu",
    entry="selu",
    signature="selu(input: torch.Tensor, inplace: bool=False)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, inplace: 4.0, magnitude=magnitude),
    cost=cost,
    mutates=("input",),
)
