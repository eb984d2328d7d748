"""Math/asin: the inverse sine."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Inverse sine in radians, element by element:

    y = asin(x),    -pi/2 <= y <= pi/2

It is computed in float32, with an error of at most 4 units in the last place over the whole range: close to 0 (where
y is close to x), and close to -1 and 1, too, where the slope is without bound and 1 - x**2 cancels unless it is
written as (1 - x) * (1 + x). NaN, and everything outside -1..1, gives NaN.

`input_tensor` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is
float32, of the same shape.
"""


def reference(input_tensor: torch.Tensor) -> torch.Tensor:
    return torch.asin(input_tensor)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=-1.0, high=1.0)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    special = [math.nan, math.inf, 1.0, -1.0, 0.0, 0.5, 1.5, -1.0000001, 0.99999994, 1e-10, -1e-5]
    yield Case("special values", (unary.among(draw, values, special),))
    near = 1 - 10.0 ** draw.uniform(draw.size(200, 400), low=-7.0, high=-1.0)
    yield Case("close to 1", (near * (2 * draw.mask(near.numel()) - 1),))
    tiny = 10.0 ** draw.uniform(draw.size(200, 400), low=-12.0, high=-1.0)
    yield Case("close to 0", (tiny * (2 * draw.mask(tiny.numel()) - 1),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input_tensor: torch.Tensor) -> Cost:
    return unary.cost_of(input_tensor, 12)


TASK = Task(
    id="Math/asin",
    entry="asin",
    signature="asin(input_tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(),
    cost=cost,
)
