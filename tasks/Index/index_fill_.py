"""Index/index_fill_: fill the slices at some indices, in place."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Exact
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Fill, in place, every slice of `x` along dimension `dim` whose index is in `index`, with `value`:

    x[..., index[j], ...] = value     for every j; index[j] selects along dimension dim

The order of the arguments is dim, x, index, value. `dim` may be negative (it counts from the end). `x` is a float32
tensor of one to five dimensions with any strides (none of them 0); it is changed where it lies, whatever its strides,
and `x` itself is returned. Elements of the slices that aren't named keep their values.
`index` is an int64 vector, not empty, with any stride. Its values lie in -n .. n - 1, n the size of `dim`; negative
ones count from the end. Indices may be repeated. `value` is a Python number, perhaps infinite or NaN.
"""


def reference(dim: int, x: torch.Tensor, index: torch.Tensor, value: float) -> torch.Tensor:
    return x.index_fill_(dim, index, value)


def some(draw: Draw, n: int, count: int) -> torch.Tensor:
    return draw.integers(0, n - 1, count)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("columns", (1, draw.normal(7, 33), some(draw, 33, 5), 2.5))
    yield Case("rows", (0, draw.normal(9, 20), some(draw, 9, 3), 0.0))
    yield Case("middle dimension", (-2, draw.normal(3, 8, 11), some(draw, 8, 3), -1))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(5, 9), draw.size(35, 130)
    yield Case("vector, several blocks", (0, draw.normal(20 * cols), some(draw, 20 * cols, 10 * cols), 3.0))
    yield Case("repeated indices", (-1, draw.normal(rows, cols), some(draw, 5, 30), -2.0))
    yield Case("negative indices", (0, draw.normal(cols, rows), some(draw, cols, 9) - cols, 7.25))
    yield Case("four dimensions", (1, draw.normal(2, rows, 7, 13), some(draw, rows, 2), 4.0))
    yield Case("strided view", (1, draw.strided(draw.normal(rows, cols)), some(draw, cols, cols // 3), 9.0))
    yield Case("transposed view", (0, draw.normal(rows, cols).T, some(draw, cols, 11), 9.0))
    turned = draw.normal(5, 6, rows, 7).permute(2, 0, 3, 1)
    yield Case("permuted view, last dimension", (3, turned, some(draw, 6, 2), 0.5))
    yield Case("index of stride 2", (0, draw.normal(cols, 6), draw.strided(some(draw, cols, 15)), 1.0))
    yield Case("size 1", (1, draw.normal(rows, 1), torch.zeros(1, dtype=torch.int64), 5.0))
    special = draw.normal(rows, cols)
    special[0], special[1, ::3] = math.nan, math.inf
    value = draw.pick((math.nan, math.inf, -math.inf))
    yield Case("NaN and infinity", (1, special, some(draw, cols, 7), value))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("2048 of 4096 rows of 4096", (0, draw.normal(4096, 4096), some(draw, 4096, 2048), 1.5))
    yield Case("1000 of 3000 columns, 4099 rows", (1, draw.normal(4099, 3000), some(draw, 3000, 1000), 1.5))
    yield Case("64 x 500 x 700, middle", (1, draw.normal(64, 500, 700), some(draw, 500, 400), 1.5))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("70 of 100 rows of 90", (0, draw.normal(100, 90), torch.arange(70) + 20, 1.5))
    yield Case("3 x 60 x 70, middle", (1, draw.normal(3, 60, 70), torch.arange(50), 1.5))


def cost(dim: int, x: torch.Tensor, index: torch.Tensor, value: float) -> Cost:
    written = nbytes(x) // x.shape[dim] * int(torch.unique(index % x.shape[dim]).numel())
    return Cost(nbytes(index) + written, 0)


TASK = Task(
    id="Index/index_fill_",
    entry="index_fill_",
    signature="index_fill_(dim, x, index, value)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
    mutates=("x",),
)
