"""Index/index_select: the slices of a tensor at given indices."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Exact
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
The slices of `input` along dimension `dim` at the places that `index` names, in its order:

    y[..., j, ...] = input[..., index[j], ...]      j and index[j] stand at dimension dim

`input` is float32 with one to five dimensions and any strides; `dim` may be negative (it counts from the end). `index`
is an int64 vector with any stride, its values in 0 .. n - 1, n the size of `dim`; they may be repeated, and may be none
at all (the result is empty then). The result is a new float32 tensor whose dimension `dim` has the length of
`index`. Values are copied as they are, NaN and infinity included.
"""


def reference(input: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    return torch.index_select(input, dim, index)


def some(draw: Draw, n: int, count: int) -> torch.Tensor:
    return draw.integers(0, n - 1, count)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("rows", (draw.normal(9, 20), 0, some(draw, 9, 5)))
    yield Case("columns", (draw.normal(7, 33), 1, some(draw, 33, 50)))
    yield Case("middle dimension", (draw.normal(3, 8, 11), -2, some(draw, 8, 3)))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(5, 9), draw.size(35, 130)
    yield Case(
        "vector, several blocks", (draw.normal(10 * cols), 0, some(draw, 10 * cols, 2 * draw.size(550, 900) + 1))
    )
    yield Case("repeated indices", (draw.normal(rows, cols), -1, some(draw, 3, 40)))
    yield Case("long rows", (draw.normal(rows, 1100 + cols), 0, some(draw, rows, 3)))
    yield Case("four dimensions", (draw.normal(2, rows, 7, 13), 1, some(draw, rows, 4)))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)), 1, some(draw, cols, cols // 3)))
    yield Case("transposed view", (draw.normal(rows, cols).T, 0, some(draw, cols, 11)))
    turned = draw.normal(5, 6, rows, 7).permute(2, 0, 3, 1)
    yield Case("permuted view, last dimension", (turned, 3, some(draw, 6, 2)))
    yield Case("index of stride 2", (draw.normal(cols, 6), 0, draw.strided(some(draw, cols, 15))))
    yield Case("no indices", (draw.normal(rows, cols), 0, some(draw, rows, 0)))
    yield Case("size 1", (draw.normal(rows, 1), 1, torch.zeros(draw.size(2, 5), dtype=torch.int64)))
    special = draw.normal(rows, cols, std=1e20)
    special[0], special[1, ::3], special[2] = math.nan, math.inf, -math.inf
    yield Case("NaN and infinity", (special, 0, some(draw, rows, 7)))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("8192 of 4096 rows of 2048", (draw.normal(4096, 2048), 0, some(draw, 4096, 8192)))
    yield Case("3000 of 4000 columns, 4099 rows", (draw.normal(4099, 4000), 1, some(draw, 4000, 3000)))
    yield Case("64 x 500 x 700, middle", (draw.normal(64, 500, 700), 1, some(draw, 500, 400)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("100 of 80 rows of 90", (draw.normal(80, 90), 0, torch.arange(100) % 80))
    yield Case("3 x 60 x 70, middle", (draw.normal(3, 60, 70), 1, torch.arange(50)))


def cost(input: torch.Tensor, dim: int, index: torch.Tensor) -> Cost:
    """Each slice that is named is read once, each result written once."""
    slices = nbytes(input) // input.shape[dim]
    return Cost(nbytes(index) + slices * (int(torch.unique(index).numel()) + index.numel()), 0)


TASK = Task(
    id="Index/index_select",
    entry="index_select",
    signature="index_select(input: torch.Tensor, dim: int, index: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
)
