"""MatrixMultiply/symmetric_mm_and_abs_sum: the sum of absolute values of a scaled A A^T plus a matrix."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.products import absolute_product, just_above_two, odd
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
A product of a matrix with its own transpose, added to another matrix, and then the sum of absolute values:

    D = alpha * (A @ A^T) + beta * C,    result = sum_ij |D[i, j]|

`A` is (N, M), `C` is (N, N) and need not be symmetric; both are float32 with any strides. `alpha` and `beta` are Python
floats. The result is a float32 tensor of no dimension; neither input changes.

Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs `input_precision="ieee"`. A NaN anywhere
in `A` or `C` gives NaN, an infinity in `C` (beta not 0, no NaN) gives inf.
"""


def reference(A: torch.Tensor, C: torch.Tensor, alpha: float, beta: float) -> torch.Tensor:
    return torch.sum(torch.abs(alpha * torch.mm(A, A.mT) + beta * C))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small", (draw.normal(5, 33), draw.normal(5, 5), 0.5, 2.0))
    yield Case("M below N", (draw.normal(19, 7), draw.normal(19, 19), -1.5, 0.25))
    yield Case("positive values", (draw.uniform(9, 21), draw.uniform(9, 9), 1.0, 1.0))


def hidden(draw: Draw) -> Iterator[Case]:
    n, m = odd(draw, 9, 40), odd(draw, 33, 60)
    alpha, beta = draw.pick([0.75, -1.25]), draw.pick([3.0, -2.5])
    yield Case("values just above 2", (just_above_two(draw, n, m), just_above_two(draw, n, n), 0.5, 1.0))
    large = draw.normal(n, m, mean=20.0, std=100.0)
    yield Case("large values", (large, draw.normal(n, n, std=1e4), alpha, beta))
    yield Case("all sizes 1", (draw.normal(1, 1), draw.normal(1, 1), alpha, beta))
    wide = draw.size(70, 100)
    yield Case("several tiles", (draw.normal(wide, 5), draw.normal(wide, wide), alpha, beta))
    view = draw.strided(draw.normal(n, m))
    yield Case("strided A and transposed C", (view, draw.normal(n, n).t(), alpha, beta))
    yield Case("transposed A and strided C", (draw.normal(m, n).t(), draw.strided(draw.normal(n, n)), alpha, beta))
    special = draw.normal(n, n)
    special[draw.size(0, n - 1), draw.size(0, n - 1)] = draw.pick([math.inf, -math.inf])
    yield Case("infinity", (draw.normal(n, m), special, alpha, beta))
    special = draw.normal(n, m)
    special[draw.size(0, n - 1), draw.size(0, m - 1)] = math.nan
    yield Case("NaN", (special, draw.normal(n, n), alpha, beta))


def timed(draw: Draw) -> Iterator[Case]:
    for n, m in ((1024, 1024), (2048, 512), (1500, 3000)):
        yield Case(f"N = {n}, M = {m}", (draw.normal(n, m), draw.normal(n, n), 0.5, 2.0))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for n, m in ((100, 70), (130, 90)):
        yield Case(f"N = {n}, M = {m}", (draw.normal(n, m), draw.normal(n, n), 0.5, 2.0))


def slack(A: torch.Tensor, **_: object) -> float:
    """Of one element's sum of M terms and of the sum of N * N elements, each about 0.8 sqrt(terms) at worst."""
    return 4 + 2 * math.sqrt(A.shape[1]) + 2 * A.shape[0]


def magnitude(A: torch.Tensor, C: torch.Tensor, alpha: float, beta: float) -> torch.Tensor:
    return (abs(alpha) * absolute_product(A, A.T) + abs(beta) * C.double().abs()).sum()


def cost(A: torch.Tensor, C: torch.Tensor, alpha: float, beta: float) -> Cost:
    n, m = A.shape
    # one triangle of the product is enough
    return Cost(nbytes(A, C) + A.element_size(), n * (n + 1) * m + 4 * n * n)


TASK = Task(
    id="MatrixMultiply/symmetric_mm_and_abs_sum",
    entry="symmetric_mm_and_abs_sum",
    signature="symmetric_mm_and_abs_sum(A: torch.Tensor, C: torch.Tensor, alpha: float, beta: float)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
