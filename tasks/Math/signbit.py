"""Math/signbit: whether the sign bit is set."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Exact
from tasks.task import Case, Cost, Task

TEXT = """\
Whether the sign bit of each float32 element is set: true for negative values, for -0.0 and for -inf; false for
positive values, 0.0 and +inf. A NaN in the input has no sign bit and gives false.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is a bool
tensor of the same shape. `out`, when given, is a contiguous bool tensor of the input's shape: the result is written
into it, and `out` itself is returned.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.signbit(input)
    return y if out is None else out.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values, dtype=torch.bool)
    special = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-30, -1e-30, -0.0]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return Cost(input.numel() * (input.element_size() + 1), input.numel())


TASK = Task(
    id="Math/signbit",
    entry="signbit",
    signature="signbit(input: torch.Tensor, out: torch.Tensor=None)",
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
