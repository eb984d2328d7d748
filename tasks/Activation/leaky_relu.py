"""Activation/leaky_relu: the leaky rectified linear unit."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Leaky rectified linear unit, element by element:

    y = x                      for x > 0
    y = negative_slope * x     otherwise

`negative_slope` is any finite number: it may be above 1 or negative, and the sign of x decides, not which of the two
values is larger. Float32 throughout. NaN gives NaN, +inf gives +inf, -inf gives negative_slope * -inf.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32,
of the same shape. With `inplace` true `input` is contiguous, the result is written into it, and `input` itself is
returned; otherwise `input` is left alone.
"""


def reference(input: torch.Tensor, negative_slope: float = 0.01, inplace: bool = False) -> torch.Tensor:
    y = torch.nn.functional.leaky_relu(input, negative_slope)
    return input.copy_(y) if inplace else y


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield Case("in place", (values(draw, 5, 21),), {"inplace": True})


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield Case("in place", (values(draw, draw.size(3, 9), draw.size(35, 130)),), {"inplace": True})
    special = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e30, -1e30]
    yield Case("special values", (unary.among(draw, values, special),))
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("slope above 1", (values(draw, rows, cols), draw.uniform(1, low=1.2, high=3.0).item()))
    slope = draw.uniform(1, low=0.1, high=0.6).item()
    yield Case("slope, in place", (values(draw, cols, rows), slope, True))
    yield Case("negative slope, strided view", (draw.strided(values(draw, rows, cols)),), {"negative_slope": -slope})


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input: torch.Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Cost:
    return unary.cost_of(input, 1)


TASK = Task(
    id="Activation/leaky_relu",
    entry="leaky_relu",
    signature="leaky_relu(input, negative_slope=0.01, inplace=False)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(),
    cost=cost,
    mutates=("input",),
)
