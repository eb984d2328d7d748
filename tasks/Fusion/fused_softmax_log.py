"""Fusion/fused_softmax_log: the softmax of logarithms, along one dimension."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Softmax along dimension `dim` (negative values count from the end) of the natural logarithm of the input:

    y[i] = exp(log(x[i])) / sum_j exp(log(x[j])),    which is x[i] / sum_j x[j] for positive x

`input` is float32 with any number of dimensions (at least one) and any strides. With dtype=torch.float64 the input is
converted to it first, and everything is float64; otherwise the result and the arithmetic are float32.
Sums must not overflow, however large the finite values are (divide by the maximum, or subtract its logarithm), and the
small elements beside large ones keep their relative precision.
0 gives 0 beside positive numbers. A slice with a NaN, a negative number or +inf, or of nothing but zeros, gives NaN
throughout.
"""


def reference(input: torch.Tensor, dim: int = -1, dtype: torch.dtype | None = None) -> torch.Tensor:
    logarithms = torch.log(input if dtype is None else input.to(dtype))
    return torch.softmax(logarithms, dim)


def positive(draw: Draw, *shape: int, std: float = 1.5) -> torch.Tensor:
    return draw.normal(*shape, std=std).exp()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("last dimension", (positive(draw, 5, 33),))
    yield Case("first dimension", (positive(draw, 19, 7), 0))
    yield Case("float64 result", (positive(draw, 3, 20), -1), {"dtype": torch.float64})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(2, 9), draw.size(35, 130)
    yield Case("many orders of magnitude", (positive(draw, rows, cols, std=12.0),))
    yield Case("large values, whose sum overflows", (draw.uniform(rows, cols, low=1e38, high=3e38),))
    yield Case("small values", (draw.uniform(rows, cols, low=1e-36, high=1e-35), 1))
    yield Case("one column", (positive(draw, rows, 1), 1))
    yield Case("middle dimension", (positive(draw, 3, draw.size(5, 40), 4), 1))
    yield Case("vector, float64 result", (positive(draw, draw.size(200, 300)), 0), {"dtype": torch.float64})
    yield Case("strided view", (draw.strided(positive(draw, rows, draw.size(20, 60))), -1))
    yield Case("transposed view", (positive(draw, cols, rows).T, 0))
    special = positive(draw, 6, cols)
    special[0, draw.size(0, cols - 1)] = math.nan
    special[1, draw.size(0, cols - 1)] = -1.0
    special[2, draw.size(0, cols - 1)] = math.inf
    special[3, : cols // 2] = 0.0
    special[4] = 0.0
    yield Case("zeros, a negative number, NaN and infinity", (special, 1))


def timed(draw: Draw) -> Iterator[Case]:
    for rows, cols in ((4096, 1000), (6000, 4096), (16000, 2000)):
        yield Case(f"{rows} x {cols}", (positive(draw, rows, cols), -1))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, cols in ((24, 200), (10, 1500)):
        yield Case(f"{rows} x {cols}", (positive(draw, rows, cols), -1))


def slack(input: torch.Tensor, dim: int, dtype: torch.dtype | None) -> float:
    """Rounding a logarithm changes its exponential by its own size, at most 104 in float32; a few bits of the sum."""
    sizes = input.double().log().abs()
    return 4 * math.sqrt(max(1, input.shape[dim])) + 4 * float(sizes.nan_to_num(0.0, 0.0, 0.0).max())


def cost(input: torch.Tensor, dim: int = -1, dtype: torch.dtype | None = None) -> Cost:
    return Cost(input.numel() * (input.element_size() + (dtype or input.dtype).itemsize), 4 * input.numel())


TASK = Task(
    id="Fusion/fused_softmax_log",
    entry="fused_softmax_log",
    aliases=("softmax_log",),
    signature="fused_softmax_log(input, dim=-1, dtype=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=8, slack=slack),
    cost=cost,
)
