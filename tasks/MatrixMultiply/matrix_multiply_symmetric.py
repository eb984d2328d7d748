"""MatrixMultiply/matrix_multiply_symmetric: a scaled product plus a matrix, then the same with its own transpose."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.products import absolute_product, just_above_two, odd
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Two scaled matrix products, one after the other:

    D = alpha * (A @ B) + beta * C
    result = alpha * (D @ D^T) + beta * D

`A` is (N, M), `B` is (M, N), `C` is (N, N), all float32 with any strides; `alpha` and `beta` are Python floats. The
result is a new float32 matrix of shape (N, N); none of the inputs changes, `C` included. (D @ D^T is
symmetric, the result as a rule is not: `beta * D` is added to it.)

Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs `input_precision="ieee"`. A NaN in row i
of `A` or `C` makes row i and column i of the result NaN and nothing else.
"""


def reference(A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, alpha: float, beta: float) -> torch.Tensor:
    first = alpha * torch.mm(A, B) + beta * C
    return alpha * torch.mm(first, first.mT) + beta * first


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small", (draw.normal(5, 33), draw.normal(33, 5), draw.normal(5, 5), 0.5, 2.0))
    yield Case("M below N", (draw.normal(19, 7), draw.normal(7, 19), draw.normal(19, 19), -1.5, 0.25))
    yield Case("positive values", (draw.uniform(9, 21), draw.uniform(21, 9), draw.uniform(9, 9), 1.0, 1.0))


def hidden(draw: Draw) -> Iterator[Case]:
    n, m = odd(draw, 9, 40), odd(draw, 33, 60)
    alpha, beta = draw.pick([0.75, -1.25]), draw.pick([3.0, -2.5])
    large = (draw.normal(n, m, mean=10.0, std=100.0), draw.normal(m, n, mean=-5.0, std=20.0))
    yield Case("large values", (*large, draw.normal(n, n, std=1e4), alpha, beta))
    close = (just_above_two(draw, n, m), just_above_two(draw, m, n))
    yield Case("values just above 2", (*close, just_above_two(draw, n, n), 0.5, 1.0))
    yield Case("all sizes 1", (draw.normal(1, 1), draw.normal(1, 1), draw.normal(1, 1), alpha, beta))
    wide = draw.size(70, 100)
    yield Case("several tiles", (draw.normal(wide, 5), draw.normal(5, wide), draw.normal(wide, wide), alpha, beta))
    views = (draw.strided(draw.normal(n, m)), draw.normal(n, m).t(), draw.normal(n, n).t(), alpha, beta)
    yield Case("strided and transposed", views)
    special = draw.normal(n, m)
    special[draw.size(0, n - 1), draw.size(0, m - 1)] = math.nan
    yield Case("NaN in one row", (special, draw.normal(m, n), draw.normal(n, n), alpha, beta))


def timed(draw: Draw) -> Iterator[Case]:
    for n, m in ((512, 512), (1024, 2048), (2000, 1000)):
        yield Case(f"N = {n}, M = {m}", (draw.normal(n, m), draw.normal(m, n), draw.normal(n, n), 0.5, 2.0))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for n, m in ((100, 70), (90, 130)):
        yield Case(f"N = {n}, M = {m}", (draw.normal(n, m), draw.normal(m, n), draw.normal(n, n), 0.5, 2.0))


def slack(A: torch.Tensor, **_: object) -> float:
    """Of both factors of the second product, whose relative errors add up, and of that product."""
    return 4 + 3 * math.sqrt(A.shape[1]) + 2 * math.sqrt(A.shape[0])


def magnitude(A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, alpha: float, beta: float) -> torch.Tensor:
    first = abs(alpha) * absolute_product(A, B) + abs(beta) * C.double().abs()
    return abs(alpha) * first @ first.T + abs(beta) * first


def cost(A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, alpha: float, beta: float) -> Cost:
    n, m = A.shape
    # one triangle of the second product is enough
    return Cost(nbytes(A, B, C, C), 2 * n * n * m + n * n * (n + 1))


TASK = Task(
    id="MatrixMultiply/matrix_multiply_symmetric",
    entry="matrix_multiply_symmetric",
    signature="matrix_multiply_symmetric(A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, alpha: float, beta: float)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
