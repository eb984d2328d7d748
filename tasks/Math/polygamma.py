"""Math/polygamma: derivatives of the digamma function."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The polygamma function of order `n` of each element: the n-th derivative of digamma, psi(x) = d/dx log gamma(x).

    psi_0(x) = psi(x)
    psi_n(x) = (-1)^(n+1) n! sum_(k>=0) 1 / (x + k)^(n+1)                                     for n >= 1
    psi_n(x) ~ (-1)^(n+1) [ (n-1)! / x^n + n! / (2 x^(n+1)) + sum_(k>=1) B_2k (2k+n-1)! / ((2k)! x^(2k+n)) ]
                                                            for n >= 1 and large x;  B_2 = 1/6, B_4 = -1/30, B_6 = 1/42

`n` is an int, 0 to 10. `input` is float32 and positive, from 0.02 up, with any number of dimensions (perhaps none) and
any strides; an empty tensor gives an empty one. NaN gives NaN; infinity does not occur, and no result overflows.
The result is float32, of the shape of `input`. With `out` given (contiguous, of that shape and dtype) the result is
written into `out`, and `out` itself is returned.

The error may be 4 eps |y| + 4 (n + 2) eps |y|, with y the result and eps of float32 (1.2e-7): the condition is that of
a power of order n + 1. For n = 0 an absolute error of 16 eps is allowed as well (y has a zero at 1.4616).
"""


def reference(n: int, input: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    values = torch.polygamma(n, input)
    return values if out is None else out.copy_(values)


def slack(n: int, input: torch.Tensor, out: torch.Tensor | None = None) -> float:
    return 4.0 * (n + 2)


def magnitude(n: int, input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    size = torch.polygamma(n, input.double()).abs()
    return size + 2 if n == 0 else size


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=0.05, high=20.0)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("n = 1", (1, values(draw, 7, 33)))
    yield Case("n = 2", (2, values(draw, 2, 3, 19)))
    yield Case("out given, n = 1", (1, values(draw, 3, 40)), {"out": draw.normal(3, 40)})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    order = draw.pick((3, 4))
    yield Case("n = 0", (0, values(draw, rows, cols)))
    yield Case("several blocks", (order, values(draw, 2 * draw.size(550, 800) + 1)))
    yield Case("n = 9", (9, draw.uniform(rows, cols, low=0.5, high=20.0)))
    yield Case("strided view", (1, draw.strided(values(draw, rows, cols))))
    yield Case("transposed view", (2, values(draw, cols, rows).T))
    yield Case("out given", (2, values(draw, rows, cols)), {"out": draw.normal(rows, cols)})
    yield Case("large and small", (order, (draw.normal(cols, std=3).exp()).clamp(0.02, 5000.0)))
    yield Case("one element", (1, values(draw, 1)))
    yield Case("no dimensions", (order, values(draw)))
    yield Case("NaN", (1, unary.among(draw, values, (math.nan, 1.0, 2.0))))


def timed(draw: Draw) -> Iterator[Case]:
    for n, rows, cols in ((1, 4096, 4096), (2, 1000, 4099), (4, 900, 4099)):
        yield Case(f"n = {n}, {rows} x {cols}", (n, values(draw, rows, cols)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for n, rows, cols in ((1, 40, 250), (2, 16, 1001)):
        yield Case(f"n = {n}, {rows} x {cols}", (n, values(draw, rows, cols)))


def cost(n: int, input: torch.Tensor, *, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 30)


TASK = Task(
    id="Math/polygamma",
    entry="polygamma",
    signature="polygamma(n, input, *, out=None)",
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
