"""Math/cos: the cosine."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Cosine of an angle in radians, element by element:

    y = cos(x)

It is computed in float32 with an absolute error of at most 4 * 2**-23 beside 4 units in the last place, for |x| up to
10000: large angles must be reduced carefully, x - round(x / (2 pi)) * (2 pi) in float32 is too coarse. NaN and
infinities give NaN.

`input_tensor` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is
float32, of the same shape.
"""


def reference(input_tensor: torch.Tensor) -> torch.Tensor:
    return torch.cos(input_tensor)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, std=8.0)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.0, 1.5707964, -3.1415927, 1e-20]
    yield Case("special values", (unary.among(draw, values, special),))
    yield Case("large angles", (draw.uniform(draw.size(3, 9), draw.size(35, 130), low=-1e4, high=1e4),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def magnitude(input_tensor: torch.Tensor) -> torch.Tensor:
    """The error is an absolute one: y may be close to 0."""
    return torch.ones_like(input_tensor, dtype=torch.float64)


def cost(input_tensor: torch.Tensor) -> Cost:
    return unary.cost_of(input_tensor, 10)


TASK = Task(
    id="Math/cos",
    entry="cos",
    signature="cos(input_tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input_tensor: 4.0, magnitude=magnitude),
    cost=cost,
)
