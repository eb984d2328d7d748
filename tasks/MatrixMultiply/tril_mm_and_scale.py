"""MatrixMultiply/tril_mm_and_scale: the lower triangle of a matrix times a matrix, scaled twice."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.products import absolute_product, just_above_two, odd
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
The lower triangle of a square matrix, the diagonal included, times a matrix, scaled by alpha and then by beta:

    result[i, j] = beta * alpha * sum_{k <= i} A[i, k] * B[k, j]

`A` is (N, N), `B` is (N, P), both float32 with any strides; `alpha` and `beta` are Python floats. The result is a new
float32 matrix of shape (N, P); neither input changes.
What stands above the diagonal of `A` has no influence, NaN and infinity included. `B` is finite. A NaN on or below the
diagonal makes its row of the result NaN and no other.

Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs `input_precision="ieee"`. The two
factors may be multiplied into one.
"""


def reference(A: torch.Tensor, B: torch.Tensor, alpha: float, beta: float) -> torch.Tensor:
    return beta * (alpha * torch.mm(torch.tril(A), B))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small", (draw.normal(33, 33), draw.normal(33, 17), 0.5, 3.0))
    yield Case("one column", (draw.normal(20, 20), draw.normal(20, 1), -1.5, 0.25))
    yield Case("positive values", (draw.uniform(21, 21), draw.uniform(21, 9), 1.0, 1.0))


def hidden(draw: Draw) -> Iterator[Case]:
    n, p = odd(draw, 33, 60), odd(draw, 5, 40)
    alpha, beta = draw.pick([0.75, -1.25]), draw.pick([3.0, -2.5])
    yield Case("values just above 2", (just_above_two(draw, n, n), just_above_two(draw, n, p), 0.5, 1.0))
    large = (draw.normal(n, n, mean=100.0, std=1000.0), draw.normal(n, p, mean=-50.0, std=200.0))
    yield Case("large values", (*large, alpha, beta))
    yield Case("all sizes 1", (draw.normal(1, 1), draw.normal(1, 1), alpha, beta))
    wide = draw.size(130, 150)
    yield Case("several tiles", (draw.normal(wide, wide), draw.normal(wide, 5), alpha, beta))
    yield Case("wide B", (draw.normal(5, 5), draw.normal(5, wide), alpha, beta))
    yield Case("strided and transposed", (draw.strided(draw.normal(n, n)), draw.normal(p, n).t(), alpha, beta))
    yield Case("transposed A", (draw.normal(n, n).t(), draw.normal(n, p), alpha, beta))
    special = draw.normal(wide, wide) + torch.full((wide, wide), draw.pick([math.nan, math.inf])).triu(1)
    row = draw.size(0, wide - 1)
    special[row, draw.size(0, row)] = math.nan
    yield Case("NaN and infinity above the diagonal, NaN below", (special, draw.normal(wide, 7), alpha, beta))


def timed(draw: Draw) -> Iterator[Case]:
    for n, p in ((1024, 1024), (2048, 1000), (3000, 512)):
        yield Case(f"{n} x {n} by {n} x {p}", (draw.normal(n, n), draw.normal(n, p), 0.5, 3.0))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for n, p in ((100, 130), (130, 70)):
        yield Case(f"{n} x {n} by {n} x {p}", (draw.normal(n, n), draw.normal(n, p), 0.5, 3.0))


def magnitude(A: torch.Tensor, B: torch.Tensor, alpha: float, beta: float) -> torch.Tensor:
    return abs(alpha * beta) * absolute_product(A.tril(), B)


def cost(A: torch.Tensor, B: torch.Tensor, alpha: float, beta: float) -> Cost:
    n, p = B.shape
    triangle = n * (n + 1) // 2
    return Cost(triangle * A.element_size() + 2 * nbytes(B), 2 * triangle * p)


TASK = Task(
    id="MatrixMultiply/tril_mm_and_scale",
    entry="tril_mm_and_scale",
    signature="tril_mm_and_scale(A: torch.Tensor, B: torch.Tensor, alpha: float, beta: float)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda A, **_: 2 + 2 * math.sqrt(A.shape[0]), magnitude=magnitude),
    cost=cost,
)
