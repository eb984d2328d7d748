"""Activation/relu: max(x, 0)."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Exact
from tasks.task import Case, Cost, Task

TEXT = """\
Rectified linear unit, element by element:

    y = x if x > 0, and 0 otherwise

Values are copied as they are. NaN gives NaN, +inf gives +inf, -inf gives 0.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32,
of the same shape. With `inplace` true `input` is contiguous, the result is written into it, and `input` itself is
returned; otherwise `input` is left alone.
"""


def reference(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    y = torch.relu(input)
    return input.copy_(y) if inplace else y


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield Case("in place", (values(draw, 5, 21),), {"inplace": True})


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield Case("in place", (values(draw, draw.size(3, 9), draw.size(35, 130)),), {"inplace": True})
    special = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-30, -1e30]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input: torch.Tensor, inplace: bool = False) -> Cost:
    return unary.cost_of(input, 1)


TASK = Task(
    id="Activation/relu",
    entry="relu",
    signature="relu(input: torch.Tensor, inplace: bool=False)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
    mutates=("input",),
)
