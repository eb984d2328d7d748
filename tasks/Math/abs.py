"""Math/abs: the absolute value."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Exact
from tasks.task import Case, Cost, Task

TEXT = """\
Absolute value, element by element:

    y = |x|

NaN gives NaN, either infinity gives +inf, -0.0 gives 0.0. Values are otherwise copied as they are.

`input_tensor` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is
float32, of the same shape. `out`, when given, is a contiguous float32 tensor of the input's shape: the result is
written into it, and `out` itself is returned.
"""


def reference(input_tensor: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.abs(input_tensor)
    return y if out is None else out.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, std=10.0)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.0, -0.0, -1e-30, -1e30]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input_tensor: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input_tensor, 1)


TASK = Task(
    id="Math/abs",
    entry="abs",
    signature="abs(input_tensor, out=None)",
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
