"""MatrixMultiply/matrix_vector_dot: a scaled matrix-vector product written into y, and the dot product of y and x."""

import math
from collections.abc import Iterator, Mapping

import torch

from tasks.draw import Draw
from tasks.families.products import absolute_product, just_above_two, odd
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
A matrix-vector product that updates `y` in place, and then a dot product:

    y <- alpha * (A @ x) + beta * y
    result = sum_i y[i] * x[i]        (of the new y)

`A` is (N, N), `x` and `y` have N elements, all float32 with any strides: the new values must reach the memory of the
`y` that was passed. `alpha` and `beta` are Python floats. The result is a float32 tensor of no dimension; `A` and `x`
stay as they are.

Products and sums are full float32. A NaN in row i of `A` makes y[i] and the result NaN and no other element; NaN and
infinity in y and x go through as the formula says (beta = 0 times NaN is NaN).
"""


def reference(A: torch.Tensor, x: torch.Tensor, y: torch.Tensor, alpha: float, beta: float) -> torch.Tensor:
    y.copy_(alpha * torch.mv(A, x) + beta * y)
    return torch.dot(y, x)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small", (draw.normal(33, 33), draw.normal(33), draw.normal(33), 0.5, 2.0))
    yield Case("beta 0", (draw.normal(20, 20), draw.normal(20), draw.normal(20), -1.5, 0.0))
    yield Case("positive values", (draw.uniform(50, 50), draw.uniform(50), draw.uniform(50), 1.0, 1.0))


def hidden(draw: Draw) -> Iterator[Case]:
    n = odd(draw, 33, 60)
    alpha, beta = draw.pick([0.75, -1.25]), draw.pick([3.0, -2.5])
    close = (just_above_two(draw, n, n), just_above_two(draw, n), just_above_two(draw, n))
    yield Case("values just above 2", (*close, 0.5, 1.0))
    large = (draw.normal(n, n, mean=100.0, std=300.0), draw.normal(n, mean=-50.0, std=200.0))
    yield Case("large values", (*large, draw.normal(n, std=1e5), alpha, beta))
    yield Case("one element", (draw.normal(1, 1), draw.normal(1), draw.normal(1), alpha, beta))
    long = draw.size(270, 300)
    yield Case("several blocks", (draw.normal(long, long), draw.normal(long), draw.normal(long), alpha, beta))
    strided = (draw.strided(draw.normal(n, n)), draw.strided(draw.normal(n)), draw.strided(draw.normal(n)))
    yield Case("strided views", (*strided, alpha, beta))
    yield Case("transposed matrix", (draw.normal(n, n).t(), draw.normal(n), draw.normal(n), alpha, beta))
    special, added = draw.normal(n, n), draw.normal(n)
    special[draw.size(0, n // 2), draw.size(0, n - 1)] = math.nan
    added[n - 2] = draw.pick([math.inf, -math.inf])
    yield Case("NaN and infinity", (special, draw.normal(n), added, alpha, beta))


def timed(draw: Draw) -> Iterator[Case]:
    for n in (1500, 4096, 5600):
        yield Case(f"{n} x {n}", (draw.normal(n, n), draw.normal(n), draw.normal(n), 0.5, 2.0))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for n in (150, 170):
        yield Case(f"{n} x {n}", (draw.normal(n, n), draw.normal(n), draw.normal(n), 0.5, 2.0))


def magnitude(
    A: torch.Tensor, x: torch.Tensor, y: torch.Tensor, alpha: float, beta: float
) -> Mapping[str, torch.Tensor]:
    size = abs(alpha) * absolute_product(A, x) + abs(beta) * y.double().abs()
    return {"result": torch.dot(size, x.double().abs()), "y after the call": size}


def cost(A: torch.Tensor, x: torch.Tensor, y: torch.Tensor, alpha: float, beta: float) -> Cost:
    return Cost(nbytes(A, x, y, y) + y.element_size(), 2 * A.numel() + 5 * y.numel())


TASK = Task(
    id="MatrixMultiply/matrix_vector_dot",
    entry="matrix_vector_dot",
    signature="matrix_vector_dot(A: Tensor, x: Tensor, y: Tensor, alpha: float, beta: float)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # y has the error of one float32 sum of N terms, the result that of two
    judge=Elementwise(slack=lambda A, **_: 4 + 4 * math.sqrt(A.shape[1]), magnitude=magnitude),
    cost=cost,
    mutates=("y",),
)
