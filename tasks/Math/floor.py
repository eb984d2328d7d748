"""Math/floor: rounding down."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Exact
from tasks.task import Case, Cost, Task

TEXT = """\
Rounding down to an integral value, element by element:

    y = the largest integral value that is not above x

The result is exact. Values beyond the range of any integer type are integral already, and stay as they are. NaN gives
NaN, infinities give themselves. The sign of a zero does not matter.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32 of
the same shape. `out`, when given, is a contiguous float32 tensor of the input's shape: the result is written into
it, and `out` itself is returned.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.floor(input)
    return y if out is None else out.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, std=30.0)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.5, -0.5, -1.0, 3e9, -3e9, 1e30, 0.99999994, -7.0000005]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 1)


TASK = Task(
    id="Math/floor",
    entry="floor",
    signature="floor(input: torch.Tensor, out: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
