"""Activation/tanh: the hyperbolic tangent."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Hyperbolic tangent, element by element:

    y = tanh(x) = (exp(x) - exp(-x)) / (exp(x) + exp(-x))

It is computed in float32. An absolute error of 4 * 2**-23 is allowed beside 4 units in the last place, so forms such as
1 - 2 / (exp(2 x) + 1) will do, as long as nothing overflows into NaN: NaN gives NaN, +inf and large values give 1,
-inf and large negative values give -1.

`input_tensor` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is
float32, of the same shape. `out_tensor`, when given, is a contiguous float32 tensor of the input's shape: the result
is written into it, and `out_tensor` itself is returned.
"""


def reference(input_tensor: torch.Tensor, out_tensor: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.tanh(input_tensor)
    return y if out_tensor is None else out_tensor.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, std=2.0)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values, "out_tensor")
    special = [math.nan, math.inf, -math.inf, 60.0, -60.0, 1e30, -1e30, 0.0]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def magnitude(input_tensor: torch.Tensor, out_tensor: torch.Tensor | None) -> dict[str, torch.Tensor]:
    """The terms that cancel for small x are of size 1."""
    return unary.sizes(torch.ones_like(input_tensor, dtype=torch.float64), out_tensor=out_tensor)


def cost(input_tensor: torch.Tensor, out_tensor: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input_tensor, 6)


TASK = Task(
    id="Activation/tanh",
    entry="tanh",
    signature="tanh(input_tensor, out_tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input_tensor, out_tensor: 4.0, magnitude=magnitude),
    cost=cost,
    mutates=("out_tensor",),
    writes_to="out_tensor",
)
