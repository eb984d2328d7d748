"""Math/div: division, with a choice of rounding."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Quotient, element by element, with q = input / other:

    rounding_mode=None:     y = q
    rounding_mode='trunc':  y = q rounded towards zero to an integral value
    rounding_mode='floor':  y = q rounded down to an integral value

All of it is float32, the rounded quotients too. Without rounding a quotient may be 4 units in the last place off.
Rounded: where q is an integer exactly, y must be that integer (so divide as IEEE demands: `tl.div_rn`; `/` in Triton is
a little less exact, and gives some n * y / y a value below n); where q is not, but within 2 * 2**-23 * |q| of one, the
values of either side of it will do.
Without rounding and with 'trunc', x / 0 is +inf, -inf or (0 / 0) NaN, and infinities and NaN go through as in any
division. With 'floor' values are finite and `other` is not 0.

`input` and `other` are float32 tensors with any number of dimensions (none too) and any strides; they may be empty.
They are broadcast against each other, and the result has the common shape. `other` may be a Python number, too.
`out`, when given, is a contiguous float32 tensor of the result's shape: the result is written into it, and `out`
itself is returned.
"""


def reference(
    input: torch.Tensor,
    other: torch.Tensor | float,
    rounding_mode: str | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    y = torch.div(input, other, rounding_mode=rounding_mode)
    return y if out is None else out.copy_(y)


def divisor(draw: Draw, *shape: int) -> torch.Tensor:
    """Values of either sign that are not close to 0."""
    return draw.uniform(*shape, low=0.1, high=3.0) * (2 * draw.mask(*shape) - 1)


def exact_pair(draw: Draw, rows: int, cols: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Dividends that are multiples of their divisors, exactly."""
    other = draw.integers(1, 99, rows, cols).float() / 8
    return other * draw.integers(-200, 200, rows, cols), other


def public(draw: Draw) -> Iterator[Case]:
    yield Case("two matrices", (unary.normal(draw, 7, 33), divisor(draw, 7, 33)))
    yield Case("other of one row", (unary.normal(draw, 5, 21), divisor(draw, 21)), {"rounding_mode": "floor"})
    yield Case("a number, truncated", (draw.normal(3, 19, std=30.0), 1.75), {"rounding_mode": "trunc"})


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.pairs(draw, unary.normal, divisor)
    yield unary.pair_out_given(draw, unary.normal, divisor)
    rows, cols = draw.size(9, 15), draw.size(65, 130)
    for mode in ("trunc", "floor"):
        yield Case(f"{mode}, exact multiples", exact_pair(draw, rows, cols), {"rounding_mode": mode})
        wide = draw.normal(rows, cols, std=100.0)
        yield Case(f"{mode}, column", (draw.strided(wide), divisor(draw, rows, 1)), {"rounding_mode": mode})
    yield Case("a number", (draw.normal(rows, cols), draw.size(3, 99) / 7))
    special = [math.nan, math.inf, -math.inf, 0.0, 1.0, -1.0]
    other = divisor(draw, 1, 35)
    other[0, ::2] = 0.0
    extremes = torch.tensor(special)[:, None] * torch.ones(35)
    yield Case("special values", (extremes, other))
    yield Case("special values, truncated", (extremes.clone(), other.clone()), {"rounding_mode": "trunc"})


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large_pairs(draw, unary.normal, divisor)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small_pairs(draw, unary.normal, divisor)


def doubt(
    input: torch.Tensor, other: torch.Tensor | float, rounding_mode: str | None, out: torch.Tensor | None
) -> dict[str, torch.Tensor]:
    """A step of the grid, in units of float32's eps, where the quotient is that close to an integer that it is not."""
    eps = torch.finfo(torch.float32).eps
    q = input.double() / other
    away = (q - q.round()).abs()
    close = (away > 0) & (away <= 2 * eps * q.abs())
    return unary.sizes(close / eps if rounding_mode else torch.zeros_like(q), out=out)


def cost(
    input: torch.Tensor,
    other: torch.Tensor | float,
    rounding_mode: str | None = None,
    out: torch.Tensor | None = None,
) -> Cost:
    return unary.cost_of_pair(input, other, 1)


TASK = Task(
    id="Math/div",
    entry="div",
    signature="div(input, other, rounding_mode=None, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, other, rounding_mode, out: 1.0, magnitude=doubt),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
