"""Reduce/std: the standard deviation of a tensor along some of its dimensions."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The standard deviation of `input` along the dimensions `dim`: an int, a tuple of different ints, or None for all
dimensions; negative values count from the end. For the n elements x of each slice, with the mean m,

    y = sqrt( sum (x - m)^2 / (n - correction) )

The reduced dimensions are removed, or kept with size 1 where `keepdim` is true. `correction` is an integer, at most n:
for n = correction the result is 0 / 0 = NaN where all elements are equal, as it is with a single one.
`input` is float32 with one to four dimensions and any strides; the result is float32, and float32 arithmetic suffices.
The mean may be a thousand times the deviation: sum x^2 - n m^2 loses all digits then, so the mean has to be
subtracted before squaring (in a second pass, or by merging the moments of parts, or by Welford's method).
A slice with a NaN or an infinity gives NaN.
With `out` given (contiguous, of the right shape, float32), the result is written into `out`, and `out` itself is
returned.
"""

Dims = int | tuple[int, ...] | None


def reference(
    input: torch.Tensor, dim: Dims = None, correction: int = 1, keepdim: bool = False, out: torch.Tensor | None = None
) -> torch.Tensor:
    dims = tuple(range(input.dim())) if dim is None else dim
    values = torch.std(input, dim=dims, correction=correction, keepdim=keepdim)
    return values if out is None else out.copy_(values)


def reduced(input: torch.Tensor, dim: Dims) -> int:
    """The number of elements of a slice."""
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    return math.prod(input.shape[d] for d in dims)


def magnitude(input: torch.Tensor, dim: Dims, correction: int, keepdim: bool, **_: object) -> torch.Tensor:
    """Chan, Golub and LeVeque (Algorithms for Computing the Sample Variance, The American Statistician 37(3), 1983): a
    one-pass method that doesn't cancel errs by a multiple of eps sqrt(m^2 + y^2); sums of n squares add sqrt(n) y."""
    wide = input.double()
    deviation = reference(wide, dim, correction, keepdim).nan_to_num(0.0, 0.0)
    mean = wide.mean(tuple(range(input.dim())) if dim is None else dim, keepdim).nan_to_num(0.0, 0.0, 0.0)
    return math.sqrt(reduced(input, dim)) * deviation + mean.abs()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("last dimension", (draw.normal(6, 37), 1))
    yield Case("first dimension, kept", (draw.normal(21, 9, std=3.0), 0), {"keepdim": True})
    yield Case("whole tensor", (draw.normal(7, 30),))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("middle dimension", (draw.normal(3, draw.size(35, 60), draw.size(5, 19)), -2))
    yield Case("no correction", (draw.normal(rows, 5), 1), {"correction": 0})
    yield Case("correction 2, two dimensions", (draw.normal(4, rows, 3), (0, 2)), {"correction": 2, "keepdim": True})
    yield Case("longer than one block", (draw.normal(2, draw.size(1100, 1900), mean=-2.0), 1))
    yield Case("large mean", (draw.normal(rows, cols, mean=1000.0), 1))
    yield Case("large mean, whole tensor", (draw.normal(5, 7, cols, mean=-300.0, std=0.5), None), {"keepdim": True})
    yield Case("equal elements", (draw.normal(rows, 1).expand(rows, cols).contiguous(), 1))
    yield Case("size 1 along dim", (draw.normal(rows, 1, 5), 1))
    yield Case("size 1 along dim, no correction", (draw.normal(rows, 1), 1), {"correction": 0})
    yield Case("out given", (draw.normal(rows, cols), 0), {"out": draw.normal(cols)})
    mixed = draw.normal(rows, cols)
    mixed[:, draw.size(0, cols - 1)] = 3e4
    yield Case("one large value a row", (mixed, 1))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)), -1))
    yield Case("transposed view, whole tensor", (draw.normal(cols, rows).T, None))
    special = draw.normal(4, cols)
    special[0, 3], special[1, cols - 1], special[2, 5] = math.nan, math.inf, -math.inf
    yield Case("NaN and infinity", (special, 1))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("8192 x 3000, last", (draw.normal(8192, 3000), -1))
    yield Case("5000 x 4096, first", (draw.normal(5000, 4096), 0))
    yield Case("24 x 1000 x 1001, whole tensor", (draw.normal(24, 1000, 1001),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, last", (draw.normal(24, 600), -1))
    yield Case("3 x 50 x 70, middle", (draw.normal(3, 50, 70), 1))


def cost(
    input: torch.Tensor, dim: Dims = None, correction: int = 1, keepdim: bool = False, out: torch.Tensor | None = None
) -> Cost:
    results = input.numel() // reduced(input, dim)
    return Cost((input.numel() + results) * input.element_size(), 4 * input.numel())


TASK = Task(
    id="Reduce/std",
    entry="std",
    signature="std(input: torch.Tensor, dim=None, correction=1, keepdim=False, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda **_: 4.0, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
