"""Activation/sigmoid: the logistic function."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Logistic function, element by element:

    y = 1 / (1 + exp(-x))

It is computed in float32. The relative error may be a few units of 2**-23, and |x| times as many where exp(-x) matters:
exp amplifies the rounding of its argument. NaN gives NaN, +inf gives 1, -inf gives 0; finite values never give NaN,
however large.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32,
of the same shape. `out`, when given, is a contiguous float32 tensor of the input's shape: the result is written into
it, and `out` itself is returned.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.sigmoid(input)
    return y if out is None else out.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, std=4.0)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    special = [math.nan, math.inf, -math.inf, 100.0, -100.0, 1e30, -1e30, 0.0]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def magnitude(input: torch.Tensor, out: torch.Tensor | None) -> dict[str, torch.Tensor]:
    """y, and what the rounding of exp's argument does to it."""
    x = input.double()
    y = torch.sigmoid(x)
    return unary.sizes(y + (y * (1 - y) * x.abs()).nan_to_num(0.0), out=out)


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 4)


TASK = Task(
    id="Activation/sigmoid",
    entry="sigmoid",
    signature="sigmoid(input, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, out: 4.0, magnitude=magnitude),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
