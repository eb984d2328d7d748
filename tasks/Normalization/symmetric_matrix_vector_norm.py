"""Normalization/symmetric_matrix_vector_norm: the p-norm of a scaled product of a symmetric matrix and a vector."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.products import absolute_product, just_above_two, odd
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
A symmetric matrix times a vector, scaled twice, and the norm of the result:

    y = alpha * (A @ x)
    y = y + beta * y                  (so y = alpha * (1 + beta) * (A @ x))
    result = (sum_i |y[i]|^p)^(1/p)

`A` is (N, N), float32, and symmetric: A[i, j] and A[j, i] are the same number, and reading either is right. `x` has N
elements and is float32; both have any strides. `alpha` and `beta` are Python floats. `p` is at least 1 or infinity; for
infinity the result is the largest |y[i]|. The result is a float32 tensor of no dimension; neither input changes.

Products and sums are full float32; values are small enough that no power overflows. With finite p, NaN in `x` or `A`
gives NaN.
"""
# relative errors of float32 powers and roots grow with the size of their logarithm
POWER_SLACK = 24.0


def reference(A: torch.Tensor, x: torch.Tensor, alpha: float, beta: float, p: float = 2.0) -> torch.Tensor:
    y = alpha * torch.mv(A, x)
    y = y + beta * y
    norm: torch.Tensor = torch.linalg.vector_norm(y, p)
    return norm


def symmetric(values: torch.Tensor) -> torch.Tensor:
    """The lower triangle, mirrored."""
    return values.tril() + values.tril(-1).t()


def public(draw: Draw) -> Iterator[Case]:
    # the first case is drawn anew to be called again, and then most elements keep their value: not so a single one,
    # which stays symmetric
    yield Case("one element", (draw.normal(1, 1), draw.normal(1), -0.5, 2.0))
    yield Case("small", (symmetric(draw.normal(33, 33)), draw.normal(33), 0.5, 2.0))
    yield Case("absolute values", (symmetric(draw.normal(20, 20)), draw.normal(20), -1.5, 0.25, 1.0))
    yield Case("maximum norm", (symmetric(draw.normal(50, 50)), draw.normal(50), 1.0, 0.5, math.inf))


def hidden(draw: Draw) -> Iterator[Case]:
    n = odd(draw, 33, 60)
    alpha, beta = draw.pick([0.75, -1.25]), draw.pick([3.0, -2.5])
    close = (symmetric(just_above_two(draw, n, n)), just_above_two(draw, n))
    yield Case("values just above 2", (*close, 0.5, 0.5))
    yield Case("values just above 2, maximum norm", (close[0].clone(), close[1].clone(), 2.0, 1.0, math.inf))
    large = (symmetric(draw.normal(n, n, mean=20.0, std=100.0)), draw.normal(n, mean=-5.0, std=20.0))
    yield Case("large values", (*large, alpha, beta))
    yield Case("power 3", (symmetric(draw.normal(n, n)), draw.normal(n), alpha, beta, 3.0))
    yield Case("power 1.5", (symmetric(draw.normal(n, n)), draw.normal(n), alpha, beta), {"p": 1.5})
    long = draw.size(270, 300)
    yield Case("several blocks", (symmetric(draw.normal(long, long)), draw.normal(long), alpha, beta))
    strided = (draw.strided(symmetric(draw.normal(n, n))), draw.strided(draw.normal(n)))
    yield Case("strided views", (*strided, alpha, beta, 1.0))
    special = draw.normal(n)
    special[draw.size(0, n - 1)] = math.nan
    yield Case("NaN", (symmetric(draw.normal(n, n)), special, alpha, beta))


def timed(draw: Draw) -> Iterator[Case]:
    for n in (1500, 4096, 5600):
        yield Case(f"{n} x {n}", (symmetric(draw.normal(n, n)), draw.normal(n), 0.5, 2.0))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for n in (150, 170):
        yield Case(f"{n} x {n}", (symmetric(draw.normal(n, n)), draw.normal(n), 0.5, 2.0))


def magnitude(A: torch.Tensor, x: torch.Tensor, alpha: float, beta: float, p: float) -> torch.Tensor:
    size = abs(alpha) * (1 + abs(beta)) * absolute_product(A, x)
    norm: torch.Tensor = torch.linalg.vector_norm(size, p)
    return norm


def slack(A: torch.Tensor, x: torch.Tensor, alpha: float, beta: float, p: float) -> float:
    """Of an element's sum of N terms, and of the sum of N powers."""
    return 4 + 4 * math.sqrt(A.shape[1]) + (p not in (1, 2, math.inf)) * POWER_SLACK


def cost(A: torch.Tensor, x: torch.Tensor, alpha: float, beta: float, p: float = 2.0) -> Cost:
    n = x.shape[0]
    # one triangle of the matrix is enough
    return Cost(n * (n + 1) // 2 * A.element_size() + nbytes(x) + x.element_size(), 2 * n * n + 4 * n)


TASK = Task(
    id="Normalization/symmetric_matrix_vector_norm",
    entry="symmetric_matrix_vector_norm",
    signature="symmetric_matrix_vector_norm(A: torch.Tensor, x: torch.Tensor, alpha: float, beta: float, p: float=2.0)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
