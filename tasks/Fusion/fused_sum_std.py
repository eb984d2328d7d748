"""Fusion/fused_sum_std: sums over some dimensions, and the standard deviation of all these sums."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.fused import Dims, behind, results, spread
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Sums over the dimensions `dim`, and the standard deviation of all the sums, a tensor without dimensions:

    s[j] = sum over the elements of `dim` of input,    one for each of the m places along the other dimensions
    y = sqrt(1 / (m - correction) * sum_j (s[j] - mean)**2),    mean = (1/m) * sum_j s[j]

`dim` is an int or a tuple of ints (negative values count from the end; the dimensions need not be adjacent); None
stands for all dimensions, which leaves a single sum. m is more than `correction` (a whole number, 0 or more).
`keepdim` concerns the sums, and so makes no difference to the result. `input` is float32 with at least one dimension
and any strides. Sums and deviation are float32, and so is the result; with dtype=torch.float64 the input is converted
first, and everything is float64 (no other dtype is asked for).
`out`, when given, is a tensor without dimensions, of the result's dtype: the result is written into it, and `out`
itself is returned.
Numerical contract: a deviation that survives a mean that is large beside it: E[s**2] - E[s]**2 does not; two passes,
Welford's update or merging partial means does. A NaN or an infinity anywhere gives NaN.
"""


def reference(
    input: torch.Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    correction: int = 1,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    result = torch.sum(input, dim, keepdim, dtype=dtype).std(correction=correction)
    return result if out is None else out.copy_(result)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("last dimension", (draw.normal(9, 33), -1))
    yield Case("first dimension, no correction", (draw.normal(40, 13), 0), {"correction": 0})
    yield Case("float64", (draw.normal(7, 50), 1), {"dtype": torch.float64})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(5, 9), draw.size(35, 130)
    yield Case("mean far above the deviation", (draw.normal(cols, rows, mean=draw.pick([300.0, 500.0])), 1))
    yield Case("many sums", (draw.normal(draw.size(1100, 1250), 3, mean=1.0), 1))
    yield Case("long sums", (draw.normal(2, draw.size(1400, 1900)), -1))
    yield Case("middle dimension, correction 2", (draw.normal(3, draw.size(50, 70), 9), -2), {"correction": 2})
    yield Case("dimensions that are not adjacent", (draw.normal(draw.size(5, 11), 7, draw.size(5, 40)), (0, 2)))
    yield Case("size 1 along dim", (draw.normal(rows, 1, 5), 1))
    yield Case("two sums", (draw.normal(2, cols), 1))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)), 0))
    yield Case("transposed view, float64", (draw.normal(cols, rows).T, -1), {"dtype": torch.float64})
    yield Case("out given", (draw.normal(rows, cols), 0), {"out": draw.normal(), "correction": 0})
    special = draw.normal(rows, cols)
    special[draw.size(0, rows - 1), draw.size(0, cols - 1)] = draw.pick([math.nan, math.inf])
    yield Case("NaN or infinity", (special, 1))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("16384 x 1500, last", (draw.normal(16384, 1500), -1))
    yield Case("64 x 250 x 2000, middle", (draw.normal(64, 250, 2000), 1))
    yield Case("3000 x 4096, first", (draw.normal(3000, 4096), 0))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, last", (draw.normal(24, 600), -1))
    yield Case("90 x 100, first", (draw.normal(90, 100), 0))


def slack(input: torch.Tensor, dim: Dims, **_: Any) -> float:
    return 4 * math.sqrt(behind(input, dim)) + 4 * math.sqrt(results(input, dim))


def magnitude(input: torch.Tensor, dim: Dims, **_: Any) -> torch.Tensor:
    """What rounding the terms of each sum does to the deviation."""
    return spread(torch.sum(input.double().abs(), dim), None)


def cost(
    input: torch.Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    correction: int = 1,
    out: torch.Tensor | None = None,
) -> Cost:
    return Cost(input.numel() * input.element_size() + (dtype or input.dtype).itemsize, input.numel())


TASK = Task(
    id="Fusion/fused_sum_std",
    entry="fused_sum_std",
    aliases=("sum_std",),
    signature="fused_sum_std(input, dim=None, keepdim=False, dtype=None, correction=1, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
