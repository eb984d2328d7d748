"""Math/erf: the error function."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Error function, element by element:

    y = 2 / sqrt(pi) * (integral of exp(-t**2) for t from 0 to x)

It is computed in float32 with an error of at most 4 units in the last place, close to 0 as well, where y is close to
2 x / sqrt(pi). NaN gives NaN, +inf gives 1, -inf gives -1.

`input_tensor` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is
float32, of the same shape.
"""


def reference(input_tensor: torch.Tensor) -> torch.Tensor:
    return torch.erf(input_tensor)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, std=1.5)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.0, 4.0, -30.0, 1e30, 1e-6, -1e-20]
    yield Case("special values", (unary.among(draw, values, special),))
    tiny = 10.0 ** draw.uniform(draw.size(200, 400), low=-12.0, high=-1.0)
    yield Case("close to 0", (tiny * (2 * draw.mask(tiny.numel()) - 1),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input_tensor: torch.Tensor) -> Cost:
    return unary.cost_of(input_tensor, 20)


TASK = Task(
    id="Math/erf",
    entry="erf",
    signature="erf(input_tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(),
    cost=cost,
)
