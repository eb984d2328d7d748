"""MatrixMultiply/matrix_multiply_and_row_dot: the dot product of the first two rows of a scaled matrix product."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.products import absolute_product, just_above_two, odd
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
The dot product of the first two rows of alpha * A B + beta * C:

    D = alpha * (A @ B) + beta * C,    result = sum_j D[0, j] * D[1, j]

`A` is (N, M) with N at least 2, `B` is (M, P), `C` is (N, P), all float32 with any strides; `alpha` and `beta` are
Python floats. The result is a float32 tensor of no dimension. None of the inputs changes, `C` included; rows of `A` and
`C` beyond the second have no influence, whatever they hold (NaN included).

Products and sums are full float32: tf32 is too coarse (`tl.dot` needs `input_precision="ieee"`). A NaN in either of the
first two rows, or in `B`, gives NaN.
"""


def reference(A: torch.Tensor, B: torch.Tensor, alpha: float, beta: float, C: torch.Tensor) -> torch.Tensor:
    rows = alpha * torch.mm(A[:2], B) + beta * C[:2]
    return torch.dot(rows[0], rows[1])


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small", (draw.normal(5, 33), draw.normal(33, 17), 0.5, 2.0, draw.normal(5, 17)))
    yield Case("two rows", (draw.normal(2, 21), draw.normal(21, 50), -1.5, 0.25, draw.normal(2, 50)))
    positive = (draw.uniform(7, 9), draw.uniform(9, 20), 1.0, 1.0, draw.uniform(7, 20))
    yield Case("positive values", positive)


def hidden(draw: Draw) -> Iterator[Case]:
    n, m, p = odd(draw, 5, 20), odd(draw, 33, 60), odd(draw, 17, 40)
    alpha, beta = draw.pick([0.75, -1.25]), draw.pick([3.0, -2.5])
    close = (just_above_two(draw, n, m), just_above_two(draw, m, p))
    yield Case("values just above 2", (*close, 0.5, 1.0, just_above_two(draw, n, p)))
    large = (draw.normal(n, m, mean=100.0, std=300.0), draw.normal(m, p, mean=-50.0, std=200.0))
    yield Case("large values", (*large, alpha, beta, draw.normal(n, p, std=1e5)))
    yield Case("one column, M = 1", (draw.normal(2, 1), draw.normal(1, 1), alpha, beta, draw.normal(2, 1)))
    wide = draw.size(300, 500)
    yield Case("wide B", (draw.normal(3, 5), draw.normal(5, wide), alpha, beta, draw.normal(3, wide)))
    long = draw.size(300, 500)
    yield Case("long M", (draw.normal(4, long), draw.normal(long, 7), alpha, beta, draw.normal(4, 7)))
    views = (draw.strided(draw.normal(n, m)), draw.normal(p, m).t(), alpha, beta, draw.strided(draw.normal(n, p)))
    yield Case("strided and transposed", views)
    left, added = draw.normal(n, m), draw.normal(n, p)
    left[2, draw.size(0, m - 1)] = math.nan
    added[3:] = math.inf
    yield Case("NaN and infinity in later rows", (left, draw.normal(m, p), alpha, beta, added))
    left = draw.normal(n, m)
    left[draw.size(0, 1), draw.size(0, m - 1)] = math.nan
    yield Case("NaN in a row that counts", (left, draw.normal(m, p), alpha, beta, draw.normal(n, p)))


def timed(draw: Draw) -> Iterator[Case]:
    for n, m, p in ((1000, 2048, 2048), (64, 4096, 5000), (2000, 1500, 8192)):
        matrices = (draw.normal(n, m), draw.normal(m, p))
        yield Case(f"{n} x {m} by {m} x {p}", (*matrices, 0.5, 2.0, draw.normal(n, p)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for n, m, p in ((10, 100, 200), (5, 70, 300)):
        matrices = (draw.normal(n, m), draw.normal(m, p))
        yield Case(f"{n} x {m} by {m} x {p}", (*matrices, 0.5, 2.0, draw.normal(n, p)))


def slack(A: torch.Tensor, B: torch.Tensor, **_: object) -> float:
    """Of the two rows, whose relative errors add up, and of the sum of their products."""
    return 4 + 3 * math.sqrt(A.shape[1]) + 2 * math.sqrt(B.shape[1])


def magnitude(A: torch.Tensor, B: torch.Tensor, alpha: float, beta: float, C: torch.Tensor) -> torch.Tensor:
    rows = abs(alpha) * absolute_product(A[:2], B) + abs(beta) * C[:2].double().abs()
    return torch.dot(rows[0], rows[1])


def cost(A: torch.Tensor, B: torch.Tensor, alpha: float, beta: float, C: torch.Tensor) -> Cost:
    return Cost(nbytes(A[:2], B, C[:2]) + A.element_size(), 4 * B.numel() + 8 * B.shape[1])


TASK = Task(
    id="MatrixMultiply/matrix_multiply_and_row_dot",
    entry="matrix_multiply_and_row_dot",
    signature="matrix_multiply_and_row_dot(A: torch.Tensor, B: torch.Tensor, alpha: float, beta: float, "
    "C: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
