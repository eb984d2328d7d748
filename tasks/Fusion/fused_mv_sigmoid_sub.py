"""Fusion/fused_mv_sigmoid_sub: a matrix times a vector, the logistic function, less a multiple of something."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Product of a matrix and a vector, sigmoid, and a scaled subtraction:

    z[i] = sum_k input[i, k] * vec[k]
    y[i] = 1 / (1 + exp(-z[i])) - alpha * other[i]

`input` is (n, m), `vec` (m,), both float32 with any strides; the result is (n,), float32. `other` is a number, or a
float32 tensor of shape (n,), (1,) or () with any strides; the last two are subtracted from every element. `alpha` is a
number. `out`, when given, is a contiguous tensor of the result's shape: the result is written into it, and `out` itself
is returned. The inputs are left alone.

Float32 throughout; large z must not overflow into NaN. NaN and infinity go through as in the formulas (z = -inf and inf
give 0 and 1 for the sigmoid).
"""

Other = torch.Tensor | float


def reference(
    input: torch.Tensor, vec: torch.Tensor, other: Other, alpha: float = 1, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    y = torch.sigmoid(torch.mv(input, vec)) - alpha * other
    return y if out is None else out.copy_(y)


def operands(draw: Draw, n: int, m: int, std: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Matrix and vector; their product has about this standard deviation."""
    return draw.normal(n, m), draw.normal(m, std=std * m**-0.5)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("plain", (*operands(draw, 19, 33), draw.normal(19)))
    yield Case("other is a number", (*operands(draw, 7, 70), 0.3))
    yield Case("alpha", (*operands(draw, 33, 5), draw.normal(33)), {"alpha": -1.7})


def hidden(draw: Draw) -> Iterator[Case]:
    n, m = 2 * draw.size(18, 40) + 1, 2 * draw.size(20, 60) + 1
    yield Case("alpha, many rows", (*operands(draw, 900 + n, 3), draw.normal(900 + n)), {"alpha": draw.pick([2, 0.25])})
    yield Case("long rows, other of one element", (*operands(draw, 5, 700 + m), draw.normal(1)))
    yield Case("other has no dimension, alpha", (*operands(draw, n, m), draw.normal()), {"alpha": 3.0})
    yield Case("other is a number, out given", (*operands(draw, n, m), -2), {"alpha": 0.5, "out": draw.normal(n)})
    yield Case("one row, one column", (*operands(draw, 1, 1), draw.normal(1)))
    yield Case("large values", (*operands(draw, n, m, 60.0), draw.normal(n, std=0.01)))
    a, v = operands(draw, n, m)
    yield Case("strided views", (draw.strided(a), draw.strided(v), draw.strided(draw.normal(n))))
    yield Case("transposed view, out given", (draw.normal(m, n).t(), v, draw.normal(n)), {"out": draw.normal(n)})
    a, other = draw.normal(9, m), draw.normal(9)
    a[1, 0], a[3, 2], a[5, 1], other[7] = math.nan, math.inf, -math.inf, math.inf
    yield Case("NaN and infinity", (a, v, other))


def timed(draw: Draw) -> Iterator[Case]:
    for n, m in ((4096, 4096), (16384, 1000), (1000, 20000)):
        yield Case(f"{n} x {m}", (*operands(draw, n, m), draw.normal(n)), {"alpha": 0.5})


def stand_ins(draw: Draw) -> Iterator[Case]:
    for n, m in ((150, 190), (60, 450)):
        yield Case(f"{n} x {m}", (*operands(draw, n, m), draw.normal(n)), {"alpha": 0.5})


def slack(input: torch.Tensor, vec: torch.Tensor, other: Other, alpha: float, out: torch.Tensor | None) -> float:
    return 4 + 2 * math.sqrt(len(vec))


def magnitude(
    input: torch.Tensor, vec: torch.Tensor, other: Other, alpha: float, out: torch.Tensor | None
) -> torch.Tensor:
    a, v = input.double(), vec.double()
    s = torch.sigmoid(a @ v)
    less = torch.as_tensor(other, dtype=torch.float64)
    # the derivative of the logistic function turns the error of z into that of s
    return s * (1 - s) * (a.abs() @ v.abs()) + s + (alpha * less).abs()


def cost(
    input: torch.Tensor, vec: torch.Tensor, other: Other, alpha: float = 1, *, out: torch.Tensor | None = None
) -> Cost:
    read = nbytes(input, vec, other if isinstance(other, torch.Tensor) else None)
    return Cost(read + 4 * input.shape[0], 2 * input.numel() + 6 * input.shape[0])


TASK = Task(
    id="Fusion/fused_mv_sigmoid_sub",
    entry="fused_mv_sigmoid_sub",
    aliases=("mv_sigmoid_sub",),
    signature="fused_mv_sigmoid_sub(input, vec, other, alpha=1, *, out=None)",
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
