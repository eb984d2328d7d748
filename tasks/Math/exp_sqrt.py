"""Math/exp_sqrt: the square root of an exponential."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Exponential, and then the square root of it, element by element:

    y = sqrt(exp(x)) = exp(x / 2)

Computed in float32; the relative error may be a few units of 2**-23, and |x| times as many for the rounding of exp's
argument. Either form will do: no x is between 88 and 180, nor between -210 and -87, where exp(x) itself overflows or
underflows and its root does not. NaN gives NaN, +inf and x >= 180 give +inf, -inf and x <= -210 give 0 (or a value
below the smallest normal float32).

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32,
of the same shape. `out`, when given, is a contiguous float32 tensor of the input's shape: the result is written into
it, and `out` itself is returned.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.sqrt(torch.exp(input))
    return y if out is None else out.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, std=10.0).clamp(-86.0, 87.0)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.0, 87.5, -86.5, 200.0, -400.0]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def magnitude(input: torch.Tensor, out: torch.Tensor | None) -> dict[str, torch.Tensor]:
    """exp amplifies the rounding of its argument by the argument's own size."""
    x = input.double()
    return unary.sizes(torch.sqrt(torch.exp(x)) * (1 + x.abs()), out=out)


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 2)


TASK = Task(
    id="Math/exp_sqrt",
    entry="exp_sqrt",
    signature="exp_sqrt(input, out=None)",
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
