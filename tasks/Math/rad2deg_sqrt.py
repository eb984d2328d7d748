"""Math/rad2deg_sqrt: radians to degrees and the square root, as a pair."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
A tuple of two tensors, each computed from the input, element by element:

    x * (180 / pi),    sqrt(x)

Both are computed in float32, with errors of a few units in the last place. The square root of negative values is NaN.
NaN gives NaN twice, +inf gives +inf twice, -inf gives -inf and NaN.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. Both results are
float32, of the same shape.
"""


def reference(input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.rad2deg(input), torch.sqrt(input)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, mean=1.0, std=3.0)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.0, 1e30, -1e30, 1e-20]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input: torch.Tensor) -> Cost:
    return unary.cost_of(input, 2, 2)


TASK = Task(
    id="Math/rad2deg_sqrt",
    entry="rad2deg_sqrt",
    signature="rad2deg_sqrt(input: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(),
    cost=cost,
)
