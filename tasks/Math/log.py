"""Math/log: the natural logarithm."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Natural logarithm, element by element:

    y = log(x)

It is computed in float32 with an error of at most 4 units in the last place, also for x close to 1, where y is close
to 0. 0 (of either sign) gives -inf, negative values give NaN, also -inf; NaN gives NaN, +inf gives +inf.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32,
of the same shape. `out`, when given, is a contiguous float32 tensor of the input's shape: the result is written into
it, and `out` itself is returned.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.log(input)
    return y if out is None else out.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return torch.exp(draw.normal(*shape, std=4.0))


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0, 1.0, 1.0000001, 0.99999994, 1e-30, 1e30]
    yield Case("special values", (unary.among(draw, values, special),))
    yield Case("close to 1", (draw.normal(draw.size(200, 400), mean=1.0, std=0.001),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 10)


TASK = Task(
    id="Math/log",
    entry="log",
    signature="log(input: torch.Tensor, out: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
