"""Index/masked_select: the elements under a mask, in order."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Exact
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
The elements of `input` (float32) where `mask` (bool) is true, as a one-dimensional float32 tensor that is exactly as
long as there are true elements (0 if there are none).

`input` and `mask` are broadcast against each other to a common shape first; either may be the smaller one, and either
may have any strides. The order is that of the common shape with the last index running fastest. Values are copied
as they are, NaN and infinity included. Reading the length back to the host with `.item()` is allowed.
"""


def reference(input: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return torch.masked_select(input, mask)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix", (draw.normal(5, 33), draw.mask(5, 33)))
    yield Case("vector, several blocks", (draw.normal(2500), draw.mask(2500, p=0.3)))
    yield Case("mask of one row", (draw.normal(19, 7), draw.mask(7)))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), 2 * draw.size(60, 150) + 1
    yield Case("mask of one column", (draw.normal(rows, cols), draw.mask(rows, 1)))
    yield Case("input of one row", (draw.normal(cols), draw.mask(rows, cols)))
    yield Case("both broadcast", (draw.normal(2, rows, 1), draw.mask(2, 1, 37)))
    yield Case("strided views", (draw.strided(draw.normal(rows, cols)), draw.mask(cols, rows).t()))
    yield Case("nothing selected", (draw.normal(rows, 31), torch.zeros(rows, 31, dtype=torch.bool)))
    yield Case("everything selected", (draw.normal(rows, cols), torch.ones(rows, cols, dtype=torch.bool)))
    yield Case("one element", (draw.normal(1), torch.ones(1, dtype=torch.bool)))
    special = draw.normal(rows, cols, std=1e6)
    special[0, draw.size(0, cols - 1)] = math.nan
    special[1, draw.size(0, cols - 1)] = math.inf
    special[2, :3] = -math.inf
    yield Case("NaN, infinity and large values", (special, draw.mask(rows, cols, p=0.9)))


def timed(draw: Draw) -> Iterator[Case]:
    for rows, cols, p in ((4096, 1024, 0.5), (4096, 4096, 0.1), (16384, 1024, 0.9)):
        yield Case(f"{rows} x {cols}, {p:.0%} selected", (draw.normal(rows, cols), draw.mask(rows, cols, p=p)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, cols, p in ((24, 205, 0.5), (100, 111, 0.1)):
        yield Case(f"{rows} x {cols}, {p:.0%} selected", (draw.normal(rows, cols), draw.mask(rows, cols, p=p)))


def cost(input: torch.Tensor, mask: torch.Tensor) -> Cost:
    """The mask is read once, each result is written once, and no more of the input is read than is selected."""
    written = nbytes(reference(input, mask))
    return Cost(nbytes(mask) + min(written, nbytes(input)) + written, 0)


TASK = Task(
    id="Index/masked_select",
    entry="masked_select",
    signature="masked_select(input: torch.Tensor, mask: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
    allow=frozenset({"_local_scalar_dense"}),
)
