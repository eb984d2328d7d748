"""Fusion/fused_gelu_std: the standard deviation of GELU over some or all dimensions."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.fused import Dims, behind, results, spread
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Standard deviation, over the dimensions `dim`, of GELU of the elements:

    approximate='none':  g = x/2 * (1 + erf(x / sqrt(2)))
    approximate='tanh':  g = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3)))
    y = sqrt(1 / (n - correction) * sum_i (g[i] - mean)**2),    mean = (1/n) * sum_i g[i]

where n is the number of elements that are reduced, more than `correction` (a whole number, 0 or more). `dim` is an
int, a tuple of ints (negative values count from the end; the dimensions need not be adjacent), or None for all
dimensions. Reduced dimensions are removed, or kept with size 1 where `keepdim` is true. `input` is float32 with at
least one dimension and any strides; the result is float32.
`out`, when given, is a contiguous float32 tensor of the result's shape: the result is written into it, and `out`
itself is returned.
Numerical contract: float32 throughout, with a deviation that survives a mean that is large beside it:
E[g**2] - E[g]**2 does not; two passes, Welford's update or merging partial means does. A slice with a NaN or an
infinity gives NaN.
"""


def reference(
    input: torch.Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    correction: int = 1,
    approximate: str = "none",
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    values = torch.nn.functional.gelu(input, approximate=approximate)
    result = torch.std(values, dim, correction=correction, keepdim=keepdim)
    return result if out is None else out.copy_(result)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("all dimensions", (draw.normal(9, 33),))
    yield Case("last dimension, kept, tanh form", (draw.normal(7, 50), -1), {"keepdim": True, "approximate": "tanh"})
    yield Case("first dimension, no correction", (draw.normal(40, 13), 0), {"correction": 0})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(2, 9), draw.size(35, 130)
    far = draw.normal(rows, cols, mean=draw.pick([3000.0, 5000.0]))
    yield Case("mean far above the deviation", (far, 1))
    yield Case("all dimensions, several blocks", (draw.normal(3, draw.size(1400, 1900)),))
    yield Case(
        "tanh form, negative values",
        (draw.uniform(rows, cols, low=-4.0, high=0.0), 1),
        {"approximate": "tanh"},
    )
    yield Case("size 1 along dim, no correction", (draw.normal(rows, 1, 5), 1), {"keepdim": True, "correction": 0})
    yield Case(
        "middle dimension, correction 2",
        (draw.normal(3, draw.size(70, 90), draw.size(5, 11)), -2),
        {"correction": 2},
    )
    apart = draw.normal(draw.size(5, 11), 7, draw.size(5, 40))
    yield Case("dimensions that are not adjacent", (apart, (0, 2)), {"keepdim": True})
    yield Case("two elements", (draw.normal(rows, 2), -1))
    yield Case("equal elements", (draw.normal(rows, 1).repeat(1, cols), 1))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)), -1))
    yield Case("transposed view, all dimensions", (draw.normal(cols, rows).T,), {"keepdim": True})
    yield Case("out given", (draw.normal(rows, cols), 0), {"out": draw.normal(cols), "correction": 0})
    special = draw.normal(4, cols)
    special[0, draw.size(0, cols - 1)] = math.nan
    special[1, draw.size(0, cols - 1)] = math.inf
    special[2, 0] = -math.inf
    yield Case("NaN and infinity", (special, 1))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("16384 x 1500, last", (draw.normal(16384, 1500), -1))
    yield Case("64 x 250 x 2000, middle", (draw.normal(64, 250, 2000), 1))
    yield Case("4096 x 5000, all", (draw.normal(4096, 5000),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, last", (draw.normal(24, 600), -1))
    yield Case("16 x 1000, all", (draw.normal(16, 1000),))


def slack(input: torch.Tensor, dim: Dims, **_: Any) -> float:
    return 4 * math.sqrt(behind(input, dim))


def magnitude(input: torch.Tensor, dim: Dims, keepdim: bool, **_: Any) -> torch.Tensor:
    """GELU's own error is relative to x (1 + erf cancels for negative x), and |x| is more than |g|."""
    return spread(input.double(), dim, keepdim)


def cost(
    input: torch.Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    correction: int = 1,
    approximate: str = "none",
    out: torch.Tensor | None = None,
) -> Cost:
    return Cost((input.numel() + results(input, dim)) * input.element_size(), 14 * input.numel())


TASK = Task(
    id="Fusion/fused_gelu_std",
    entry="fused_gelu_std",
    aliases=("gelu_std",),
    signature="fused_gelu_std(input, dim=None, keepdim=False, correction=1, approximate='none', out=None)",
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
