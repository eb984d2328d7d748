"""Index/expand_where: expand a tensor, then choose between it and another one by a condition."""

import math
from collections.abc import Iterator, Sequence

import torch

from tasks.draw import Draw
from tasks.judges import Exact
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Expand `input` to `target_sizes`, then select:

    e = input expanded to target_sizes
    y[i] = e[i] if cond[i] else other[i]

`target_sizes` is a tuple or list of ints. It may have more entries than `input` has dimensions; the new ones come
first. A dimension of size 1 is repeated to the size wanted, any other keeps its size; -1 keeps the size as well (it
stands for no new dimension). `cond` (bool) and `other` (a float32 tensor, or a Python number) are broadcast to
`target_sizes`; neither is larger. `input` is float32. All tensors have at most 5 dimensions after expansion, and any
strides; `target_sizes` may hold a 0, and the result is empty then. It is a new float32 tensor of the expanded shape.

Values are copied as they are, NaN and infinity included; what isn't selected leaves no trace (no arithmetic such as
c * e + (1 - c) * other).
"""


def reference(
    input: torch.Tensor, target_sizes: Sequence[int], cond: torch.Tensor, other: torch.Tensor | float
) -> torch.Tensor:
    return torch.where(cond, input.expand(*target_sizes), other)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("one row repeated", (draw.normal(1, 33), (7, 33), draw.mask(7, 33), draw.normal(7, 33)))
    yield Case("a number", (draw.normal(5, 1), [-1, 19], draw.mask(5, 19), -1.0))
    yield Case("new dimension", (draw.normal(6, 9), (4, 6, 9), draw.mask(4, 6, 9), draw.normal(6, 9)))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    sizes = (rows, cols)
    n = 2 * draw.size(550, 900) + 1
    yield Case("several blocks", (draw.normal(1), (n,), draw.mask(n), draw.normal(n)))
    yield Case("one column repeated", (draw.normal(rows, 1), sizes, draw.mask(*sizes, p=0.8), draw.normal(*sizes)))
    yield Case("nothing to expand", (draw.normal(*sizes), [-1, -1], draw.mask(*sizes), draw.normal(*sizes)))
    middle = (draw.normal(2, 1, 37), (3, 2, rows, -1), draw.mask(3, 2, rows, 37), draw.normal(3, 1, 1, 37))
    yield Case("middle dimension and new one", middle)
    yield Case("condition broadcast", (draw.normal(1, cols), sizes, draw.mask(rows, 1), draw.normal(cols)))
    views = (draw.strided(draw.normal(rows, cols)), sizes, draw.mask(cols, rows).t(), draw.normal(cols, rows).t())
    yield Case("strided and transposed views", views)
    yield Case("a number, several dimensions", (draw.normal(rows, 1, 5), (2, -1, 7, 5), draw.mask(2, rows, 7, 5), 2.5))
    yield Case("one element", (draw.normal(1), (1, 1), draw.mask(1, 1), draw.normal(1, 1)))
    yield Case("empty", (draw.normal(1, cols), (0, cols), draw.mask(0, cols), draw.normal(0, cols)))
    special, other = draw.normal(1, cols, std=1e20), draw.normal(*sizes)
    special[0, draw.size(0, 9)], special[0, draw.size(10, 20)] = math.nan, math.inf
    other[1, draw.size(0, cols - 1)], other[2] = math.nan, -math.inf
    yield Case("NaN and infinity", (special, sizes, draw.mask(*sizes), other))


def timed(draw: Draw) -> Iterator[Case]:
    for rows, cols in ((1500, 4099), (4096, 4096)):
        sizes = (rows, cols)
        yield Case(f"row to {rows} x {cols}", (draw.normal(1, cols), sizes, draw.mask(*sizes), draw.normal(*sizes)))
    sizes = (4096, 4000)
    yield Case("column to 4096 x 4000, a number", (draw.normal(4096, 1), sizes, draw.mask(*sizes), 0.0))


def stand_ins(draw: Draw) -> Iterator[Case]:
    sizes = (40, 250)
    yield Case("row to 40 x 250", (draw.normal(1, 250), sizes, draw.mask(*sizes), draw.normal(*sizes)))
    sizes = (16, 1001)
    yield Case("column to 16 x 1001, a number", (draw.normal(16, 1), sizes, draw.mask(*sizes), 0.0))


def cost(input: torch.Tensor, target_sizes: Sequence[int], cond: torch.Tensor, other: torch.Tensor | float) -> Cost:
    """The mask is read and the result written; of input and other no more is read than is selected."""
    written = nbytes(input.expand(*target_sizes))
    chosen = int(cond.sum()) * (written // max(1, cond.numel()))
    read = min(nbytes(input), chosen)
    if isinstance(other, torch.Tensor):
        read += min(nbytes(other), written - chosen)
    return Cost(nbytes(cond) + read + written, 0)


TASK = Task(
    id="Index/expand_where",
    entry="expand_where",
    signature="expand_where(input, target_sizes, cond, other)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
)
