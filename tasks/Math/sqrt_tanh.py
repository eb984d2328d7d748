"""Math/sqrt_tanh: the hyperbolic tangent of a square root."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Square root, and then the hyperbolic tangent of it, element by element:

    y = tanh(sqrt(x))

It is computed in float32. An absolute error of 4 * 2**-23 is allowed beside 4 units in the last place, so tanh may be
made of exponentials, as long as nothing overflows into NaN. Negative x gives NaN, also -inf; NaN gives NaN, +inf and
large values give 1.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32,
of the same shape. `out`, when given, is a contiguous float32 tensor of the input's shape: the result is written into
it, and `out` itself is returned.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.tanh(torch.sqrt(input))
    return y if out is None else out.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, mean=2.0, std=2.0)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.0, 5000.0, 1e30, -1e-20, 1e-20]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def magnitude(input: torch.Tensor, out: torch.Tensor | None) -> dict[str, torch.Tensor]:
    """The terms that cancel for small x are of size 1."""
    return unary.sizes(torch.ones_like(input, dtype=torch.float64), out=out)


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 6)


TASK = Task(
    id="Math/sqrt_tanh",
    entry="sqrt_tanh",
    signature="sqrt_tanh(input, out=None)",
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
