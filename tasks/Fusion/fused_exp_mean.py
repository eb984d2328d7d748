"""Fusion/fused_exp_mean: the mean of exp(x) over some or all dimensions."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Mean of the exponential over the dimensions `dim`:

    y = (1/n) * sum_i exp(x[i]),    n = number of elements that are reduced (at least 1)

`dim` is an int, a tuple of ints (negative values count from the end; the dimensions need not be adjacent), or None
for all dimensions. Reduced dimensions are removed, or kept with size 1 where `keepdim` is true.
`input` is float32 with at least one dimension and any strides. With `dtype` given the result has that dtype,
otherwise the input's. Exponentials and sums are computed in float32, or in float64 where `dtype` is float64 (the
input is converted first); a float16 or bfloat16 result is rounded once, at the end.
`out`, when given, is a contiguous tensor of the result's shape and dtype: the result is written into it, and `out`
itself is returned.
A slice with a NaN gives NaN, with +inf gives inf; -inf adds 0.
"""

Dims = int | tuple[int, ...] | None


def reference(
    input: torch.Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    work = torch.promote_types(input.dtype, dtype or input.dtype)
    every = tuple(range(input.dim())) if dim is None else dim
    mean = input.to(work).exp().mean(every, keepdim).to(dtype or input.dtype)
    return mean if out is None else out.copy_(mean)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("all dimensions", (draw.normal(9, 33),))
    yield Case("last dimension, kept", (draw.normal(7, 50), -1), {"keepdim": True})
    yield Case("first dimension, float64 result", (draw.normal(40, 13), 0), {"dtype": torch.float64})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(2, 9), draw.size(35, 130)
    yield Case("large values", (draw.normal(rows, cols, mean=20.0, std=15.0).clamp_max(80.0), 1))
    yield Case("all dimensions, several blocks", (draw.normal(2, draw.size(1300, 1900)),))
    yield Case("size 1 along dim", (draw.normal(rows, 1, 5), 1, draw.pick([True, False])))
    yield Case("middle dimension", (draw.normal(3, draw.size(70, 90), draw.size(5, 11)), -2))
    yield Case("dimensions that are not adjacent", (draw.normal(draw.size(5, 11), 7, draw.size(5, 40)), (0, 2), True))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)), -1))
    yield Case("transposed view, all dimensions", (draw.normal(cols, rows).T,), {"keepdim": True})
    yield Case("out given", (draw.normal(rows, cols), 0), {"out": draw.normal(cols)})
    half = {"dtype": torch.float16, "out": draw.normal(rows, 1, dtype=torch.float16)}
    yield Case("float16 result, out given", (draw.normal(rows, cols), (1,), True), half)
    special = draw.normal(4, cols)
    special[0, draw.size(0, cols - 1)] = math.nan
    special[1, draw.size(0, cols - 1)] = math.inf
    special[2] = -math.inf
    special[3, : cols // 2] = -math.inf
    yield Case("NaN and infinity", (special, 1))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("16384 x 2048, last", (draw.normal(16384, 2048), -1))
    yield Case("40 x 400 x 2000, middle", (draw.normal(40, 400, 2000), 1))
    yield Case("8192 x 4000, all", (draw.normal(8192, 4000),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, last", (draw.normal(24, 600), -1))
    yield Case("16 x 1000, all", (draw.normal(16, 1000),))


def slack(input: torch.Tensor, dim: Dims, keepdim: bool, dtype: torch.dtype | None, out: torch.Tensor | None) -> float:
    # exp amplifies the rounding of its argument by the argument's own size
    largest = input.double().nan_to_num(0.0, 0.0, 0.0).abs().max()
    return 4 * math.sqrt(input.numel() / results(input, dim)) + 2 * float(largest)


def cost(
    input: torch.Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> Cost:
    written = results(input, dim) * (dtype or input.dtype).itemsize
    return Cost(input.numel() * input.element_size() + written, 2 * input.numel())


def results(input: torch.Tensor, dim: Dims) -> int:
    """How many elements the result has."""
    if dim is None:
        return 1
    dims = [dim] if isinstance(dim, int) else dim
    return input.numel() // math.prod(input.shape[d] for d in dims)


TASK = Task(
    id="Fusion/fused_exp_mean",
    entry="fused_exp_mean",
    aliases=("exp_mean",),
    signature="fused_exp_mean(input, dim=None, keepdim=False, dtype=None, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
