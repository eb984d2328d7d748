"""Math/bitwise_and: bitwise AND of integers or booleans."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Exact
from tasks.task import Case, Cost, Task

TEXT = """\
Bitwise AND, element by element:

    y = input & other

`input` and `other` are both int32 (two's complement, negative values included) or both bool (logical AND), with any
number of dimensions (none too) and any strides; they may be empty. They are broadcast against each other, and the
result has the common shape and the same dtype.
`out`, when given, is a contiguous tensor of the result's shape and dtype: the result is written into it, and `out`
itself is returned.
"""


def reference(input: torch.Tensor, other: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.bitwise_and(input, other)
    return y if out is None else out.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.integers(-(2**31), 2**31 - 1, *shape, dtype=torch.int32)


def flags(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.mask(*shape, p=0.6)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("two matrices", (values(draw, 7, 33), values(draw, 7, 33)))
    yield Case("other of one row", (values(draw, 5, 21), values(draw, 21)))
    yield Case("booleans", (flags(draw, 3, 19), flags(draw, 3, 19)))


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.pairs(draw, values, values)
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    given = {"out": values(draw, rows, cols)}
    yield Case("out given", (values(draw, rows, cols), values(draw, rows, cols)), given)
    yield Case("booleans, column", (draw.strided(flags(draw, rows, cols)), flags(draw, rows, 1)))
    masks = torch.tensor([0, -1, 1, 2**31 - 1, -(2**31)], dtype=torch.int32)
    yield Case("masks", (values(draw, cols, 5), masks))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large_pairs(draw, values, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small_pairs(draw, values, values)


def cost(input: torch.Tensor, other: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of_pair(input, other, 1)


TASK = Task(
    id="Math/bitwise_and",
    entry="bitwise_and",
    signature="bitwise_and(input, other, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
