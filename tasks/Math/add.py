"""Math/add: scaled addition."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Sum of `input` and a multiple of `other`, element by element:

    y = input + alpha * other

`alpha` is a Python number. Computed in float32, at most a few units of 2**-23 of |input| + |alpha * other| off (the
product may be rounded or not). NaN and infinity go through as in any sum: inf - inf is NaN.

`input` and `other` are float32 tensors with any number of dimensions (none too) and any strides; they may be empty.
They are broadcast against each other, and the result has the common shape. `other` may be a Python number, too.
`out`, when given, is a contiguous float32 tensor of the result's shape: the result is written into it, and `out`
itself is returned.
"""


def reference(
    input: torch.Tensor, other: torch.Tensor | float, alpha: float = 1, out: torch.Tensor | None = None
) -> torch.Tensor:
    y = input + alpha * other
    return y if out is None else out.copy_(y)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("two matrices", (unary.normal(draw, 7, 33), unary.normal(draw, 7, 33)))
    yield Case("other of one row", (unary.normal(draw, 5, 21), unary.normal(draw, 21)), {"alpha": 2.5})
    yield Case("a number", (draw.normal(3, 19), 1.75))


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.pairs(draw, unary.normal, unary.normal)
    yield unary.pair_out_given(draw, unary.normal, unary.normal)
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    alpha = draw.uniform(1, low=-4.0, high=-0.5).item()
    yield Case("alpha", (draw.normal(rows, cols), draw.normal(rows, cols)), {"alpha": alpha})
    yield Case("alpha and a number, strided view", (draw.strided(draw.normal(rows, cols)), 3), {"alpha": 0.25})
    special = [math.nan, math.inf, -math.inf, math.inf, 1e30]
    yield Case("special values", (unary.among(draw, unary.normal, special), draw.pick([math.inf, -math.inf])))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large_pairs(draw, unary.normal, unary.normal)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small_pairs(draw, unary.normal, unary.normal)


def magnitude(
    input: torch.Tensor, other: torch.Tensor | float, alpha: float, out: torch.Tensor | None
) -> dict[str, torch.Tensor]:
    """The terms before they cancel."""
    scaled = alpha * torch.as_tensor(other, dtype=torch.float64)
    return unary.sizes(input.double().abs() + scaled.abs(), out=out)


def cost(input: torch.Tensor, other: torch.Tensor | float, alpha: float = 1, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of_pair(input, other, 2)


TASK = Task(
    id="Math/add",
    entry="add",
    signature="add(input, other, alpha=1, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, other, alpha, out: 2.0, magnitude=magnitude),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
