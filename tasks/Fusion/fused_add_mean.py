"""Fusion/fused_add_mean: the mean of a scaled sum over some or all dimensions."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.fused import Dims, behind, results
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Mean of a scaled sum over the dimensions `dim`:

    y = (1/n) * sum_i (input[i] + alpha * other[i]),    n = number of elements that are reduced (at least 1)

`input` is a float32 tensor, `other` a float32 tensor or a number; tensors are broadcast against each other (either may
be the smaller one) and have any strides. `alpha` is a number. `dim` is an int, a tuple of ints (negative values count
from the end of the common shape; the dimensions need not be adjacent), or None for all dimensions. Reduced dimensions
are removed, or kept with size 1 where `keepdim` is true.
With `dtype` given the result has that dtype, otherwise it is float32. Sums are computed in float32, or in float64
where `dtype` is float64 (the tensors are converted first); a float16 or bfloat16 result is rounded once, at the end.
`out`, when given, is a contiguous tensor of the result's shape and dtype: the result is written into it, and `out`
itself is returned.
A slice whose sums hold a NaN, or infinities of both signs, gives NaN; with infinities of one sign, that infinity.
"""


def reference(
    input: torch.Tensor,
    other: torch.Tensor | float,
    dim: Dims = None,
    alpha: float = 1,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    work = torch.promote_types(input.dtype, dtype or input.dtype)
    total = input.to(work) + alpha * (other.to(work) if isinstance(other, torch.Tensor) else other)
    every = tuple(range(total.dim())) if dim is None else dim
    mean = total.mean(every, keepdim).to(dtype or input.dtype)
    return mean if out is None else out.copy_(mean)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("all dimensions", (draw.normal(9, 33), draw.normal(9, 33)))
    yield Case(
        "last dimension, kept, one row", (draw.normal(7, 50), draw.normal(50), -1), {"alpha": 2.5, "keepdim": True}
    )
    wide = (draw.normal(40, 13), draw.normal(40, 13), 0)
    yield Case("first dimension, float64 result", wide, {"dtype": torch.float64})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(2, 9), draw.size(35, 130)

    def both(*shape: int, mean: float = 0.0, std: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
        return draw.normal(*shape, mean=mean, std=std), draw.normal(*shape, mean=mean, std=std)

    yield Case("large values", (*both(rows, cols, mean=300.0, std=1000.0), 1), {"alpha": draw.pick([-0.7, 1.3])})
    yield Case("all dimensions, several blocks", both(2, draw.size(1300, 1900), mean=0.5))
    yield Case("size 1 along dim", (*both(rows, 1, 5), 1), {"alpha": 2, "keepdim": draw.pick([True, False])})
    yield Case("middle dimension", (*both(3, draw.size(70, 90), draw.size(5, 11)), -2))
    apart = both(draw.size(5, 11), 7, draw.size(5, 40))
    yield Case("dimensions that are not adjacent", (*apart, (0, 2)), {"alpha": 0.5, "keepdim": True})
    yield Case("other of one column", (draw.normal(rows, cols), draw.normal(rows, 1), 0), {"alpha": 3})
    yield Case("input of one row", (draw.normal(cols), draw.normal(rows, cols), 1))
    yield Case("other a number", (draw.normal(rows, cols), 1.5, -1), {"alpha": -2})
    first, second = both(rows, cols)
    views = (draw.strided(first), second.t().contiguous().t())
    yield Case("strided and transposed views", (*views, -1))
    yield Case("out given", (*both(rows, cols), 0), {"alpha": 0.3, "out": draw.normal(cols)})
    half = {"dtype": torch.float16, "out": draw.normal(rows, 1, dtype=torch.float16)}
    yield Case("float16 result, out given", (*both(rows, cols, mean=0.5), (1,)), {"keepdim": True, **half})
    first, second = both(4, cols)
    first[0, draw.size(0, cols - 1)] = math.nan
    second[1, draw.size(0, cols - 1)] = math.inf
    first[2, 0] = -math.inf
    first[3, 0], second[3, 1] = math.inf, -math.inf
    yield Case("NaN and infinity", (first, second, 1))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("8192 x 1900, last", (draw.normal(8192, 1900), draw.normal(8192, 1900), -1), {"alpha": 0.5})
    yield Case("64 x 250 x 1000, middle", (draw.normal(64, 250, 1000), draw.normal(64, 250, 1000), 1))
    yield Case("4096 x 5000 and one row, all", (draw.normal(4096, 5000), draw.normal(5000)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, last", (draw.normal(24, 600), draw.normal(24, 600), -1))
    yield Case("16 x 1000, all", (draw.normal(16, 1000), draw.normal(16, 1000)))


def terms(input: torch.Tensor, other: torch.Tensor | float, alpha: float) -> torch.Tensor:
    added = other.double() if isinstance(other, torch.Tensor) else torch.tensor(other, dtype=torch.float64)
    return input.double().abs() + (alpha * added).abs()


def slack(input: torch.Tensor, other: torch.Tensor | float, dim: Dims, alpha: float, **_: Any) -> float:
    return 4 * math.sqrt(behind(terms(input, other, alpha), dim))


def magnitude(
    input: torch.Tensor, other: torch.Tensor | float, dim: Dims, alpha: float, keepdim: bool, **_: Any
) -> torch.Tensor:
    every = terms(input, other, alpha)
    return every.mean(tuple(range(every.dim())) if dim is None else dim, keepdim)


def cost(
    input: torch.Tensor,
    other: torch.Tensor | float,
    dim: Dims = None,
    alpha: float = 1,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> Cost:
    added = other if isinstance(other, torch.Tensor) else None
    total = input.to("meta") + (0 if added is None else added.to("meta"))
    written = results(total, dim) * (dtype or input.dtype).itemsize
    return Cost(nbytes(input, added) + written, 3 * total.numel())


TASK = Task(
    id="Fusion/fused_add_mean",
    entry="fused_add_mean",
    aliases=("add_mean",),
    signature="fused_add_mean(input, other, dim=None, alpha=1, keepdim=False, dtype=None, out=None)",
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
