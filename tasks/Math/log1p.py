"""Math/log1p: log(1 + x)."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Natural logarithm of 1 + x, element by element:

    y = log(1 + x)

It is computed in float32 with a relative error of at most 8 units of 2**-23 for every x: log of the rounded sum 1 + x
won't do, because for small x the sum has lost what makes y (y is close to x, down to the smallest normal numbers).
-1 gives -inf, everything below gives NaN, also -inf; NaN gives NaN, +inf gives +inf.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32,
of the same shape. `out`, when given, is a contiguous float32 tensor of the input's shape: the result is written into
it, and `out` itself is returned.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.log1p(input)
    return y if out is None else out.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    size = 10.0 ** draw.uniform(*shape, low=-9.0, high=4.0, dtype=torch.float64)
    below = -0.999 * 10.0 ** draw.uniform(*shape, low=-9.0, high=0.0, dtype=torch.float64)
    return torch.where(draw.mask(*shape, p=0.3), below, size).float()


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.0, -1.0, -1.0000001, -0.99999994, 1e-30, -1e-20, 1e30, 2e38]
    yield Case("special values", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 12)


TASK = Task(
    id="Math/log1p",
    entry="log1p",
    signature="log1p(input: torch.Tensor, out: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=8),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
