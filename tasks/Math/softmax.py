"""Math/softmax: exp(x - max) over its sum, along one dimension."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Softmax along dimension `dim` (negative values count from the end):

    y[i] = exp(x[i] - m) / sum_j exp(x[j] - m),    m = max_j x[j]

`input` has any number of dimensions and any strides. With `dtype` given, the input is converted to it first and
the result has that dtype; otherwise the result has the input's dtype. Compute in the dtype of the result: a float32
result in float32, a float64 result in float64 arithmetic throughout, exponentials and sums included.
A slice that holds a NaN, or +inf, or nothing but -inf, gives NaN throughout; -inf beside finite values gives 0.
"""


def reference(input: torch.Tensor, dim: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    return torch.softmax(input, dim, dtype=dtype)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("last dimension", (draw.normal(5, 33), 1))
    yield Case("first dimension", (draw.normal(19, 7), 0))
    yield Case("float64 result", (draw.normal(3, 20), -1), {"dtype": torch.float64})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(2, 9), draw.size(35, 130)
    yield Case("large values", (draw.normal(rows, cols, mean=300.0, std=40.0), -1))
    yield Case("one column", (draw.normal(draw.size(2, 9), 1), 1))
    yield Case("middle dimension", (draw.normal(3, draw.size(5, 40), 4), 1))
    yield Case("strided view", (draw.strided(draw.normal(rows, draw.size(20, 60))), -1))
    mixed = draw.normal(rows, cols)
    mixed[draw.size(1, rows - 1)] *= 300
    yield Case("one row of large values", (mixed, 1))
    special = draw.normal(4, cols)
    special[0, draw.size(0, cols - 1)] = math.nan
    special[1] = -math.inf
    special[2, : cols // 2] = -math.inf
    yield Case("NaN and infinity", (special, 1))


def timed(draw: Draw) -> Iterator[Case]:
    for rows, cols in ((4096, 1024), (8192, 4000), (16384, 2048)):
        yield Case(f"{rows} x {cols}", (draw.normal(rows, cols), -1))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, cols in ((24, 200), (10, 1500)):
        yield Case(f"{rows} x {cols}", (draw.normal(rows, cols), -1))


def cost(input: torch.Tensor, dim: int, dtype: torch.dtype | None = None) -> Cost:
    out = dtype or input.dtype
    return Cost(input.numel() * (input.element_size() + out.itemsize), 5 * input.numel())


TASK = Task(
    id="Math/softmax",
    entry="softmax",
    signature="softmax(input: torch.Tensor, dim: int, dtype: torch.dtype=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # exp amplifies the rounding of its argument by the argument's own size
    judge=Elementwise(ulps=8, slack=lambda input, dim, dtype: 4 * math.sqrt(max(1, input.shape[dim]))),
    cost=cost,
)
