"""Reduce/argmax: the index of the first maximum along a dimension."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Exact
from tasks.task import Case, Cost, Task

TEXT = """\
Index of the largest value of `input_tensor` along dimension `dim`, as int64.

`dim` may be negative (it counts from the end) or None: then the index is that into the flattened (row-major) tensor.
The reduced dimension is removed, or kept with size 1 where `keepdim` is true (with `dim=None`: all dimensions are
removed, or all kept with size 1). It is never empty.
Of several equal maxima the first index counts; -0.0 equals 0.0. NaN counts as larger than everything, +inf included,
so a slice with NaNs gives the index of its first NaN. A slice of nothing but -inf gives 0.
The input is float32 or int64, with any number of dimensions (at least one) and any strides. Values are compared at
full precision: neither float32 nor int64 may be rounded to a narrower type.
"""


def reference(input_tensor: torch.Tensor, dim: int | None, keepdim: bool = False) -> torch.Tensor:
    return torch.argmax(input_tensor, dim, keepdim)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("last dimension", (draw.normal(6, 37), 1))
    yield Case("first dimension, kept", (draw.normal(21, 9), 0), {"keepdim": True})
    yield Case("whole tensor", (draw.normal(7, 30), None))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("middle dimension", (draw.normal(3, draw.size(35, 60), draw.size(5, 19)), -2, draw.pick([True, False])))
    yield Case("size 1 along dim", (draw.normal(rows, 1, 5), 1))
    yield Case("longer than one block", (draw.normal(2, draw.size(1030, 1900)), -1, True))
    yield Case("ties", (draw.integers(0, 3, rows, cols).float(), 1))
    yield Case("large values close together", (draw.normal(rows, cols, mean=1000.0, std=0.25), -1))
    wide = 2**60 + draw.integers(0, 200, cols, rows)
    yield Case("int64 beyond float precision", (wide * (1 - 2 * draw.size(0, 1)), 0))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)), -1))
    yield Case("transposed view, whole tensor", (draw.normal(cols, rows).T, None, True))
    special = draw.normal(6, cols)
    half = cols // 2
    special[0, [half, cols - 2]] = math.nan
    special[1, 0], special[1, half] = math.inf, math.nan
    special[2] = -math.inf
    special[3] = draw.uniform(cols, low=-9.0, high=-8.0)
    special[4] = special[4].abs().neg()
    special[4, [half, half + 5]] = torch.tensor([-0.0, 0.0])
    special[5, [half - 3, half]] = math.inf
    yield Case("NaN, infinity and signed zeros", (special, 1))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("16384 x 2048, last", (draw.normal(16384, 2048), -1))
    yield Case("1024 x 32000, last", (draw.normal(1024, 32000), -1))
    yield Case("40 x 400 x 2000, middle", (draw.normal(40, 400, 2000), 1))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, last", (draw.normal(24, 600), -1))
    yield Case("4 x 50 x 70, middle", (draw.normal(4, 50, 70), 1))


def cost(input_tensor: torch.Tensor, dim: int | None, keepdim: bool = False) -> Cost:
    n = input_tensor.numel()
    results = n // input_tensor.shape[dim] if dim is not None else 1
    return Cost(n * input_tensor.element_size() + results * torch.int64.itemsize, n)


TASK = Task(
    id="Reduce/argmax",
    entry="argmax",
    signature="argmax(input_tensor, dim, keepdim=False)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
)
