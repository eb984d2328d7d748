"""Math/sqrt_exp: the exponential of a square root."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Square root, and then the exponential of it, element by element:

    y = exp(sqrt(x))

Computed in float32; the relative error may be a few units of 2**-23, and sqrt(x) times as many, since exp amplifies the
rounding of its argument. Negative x gives NaN, also -inf; NaN gives NaN, 0 gives 1, +inf and what overflows give +inf.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32,
of the same shape. `out`, when given, is a contiguous float32 tensor of the input's shape: the result is written into
it, and `out` itself is returned.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.exp(torch.sqrt(input))
    return y if out is None else out.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=-5.0, high=90.0)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.0, 7500.0, 1e7, 1e30, -1e-20, 1e-20]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def magnitude(input: torch.Tensor, out: torch.Tensor | None) -> dict[str, torch.Tensor]:
    """exp amplifies the rounding of its argument by the argument's own size."""
    root = torch.sqrt(input.double())
    return unary.sizes(torch.exp(root) * (1 + root), out=out)


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 2)


TASK = Task(
    id="Math/sqrt_exp",
    entry="sqrt_exp",
    signature="sqrt_exp(input, out=None)",
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
