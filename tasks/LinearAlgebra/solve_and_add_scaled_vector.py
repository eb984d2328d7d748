"""LinearAlgebra/solve_and_add_scaled_vector: an upper triangular solve, then a scaled vector on top."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Solves an upper triangular system and adds a scaled vector:

    x = A^-1 b,    result = x + alpha * y

`A` (n, n), 1 <= n <= 1024, is upper triangular with a nonzero diagonal: what is below the diagonal is never read and
may hold any numbers. `b` is a vector (n,) or a matrix (n, k) of k >= 1 right-hand sides. `y` is (n,) for a vector b;
for a matrix it is (n, k), or (n, 1), the same for all columns. `alpha` is a number. A, b and y are all float32, or
all float64, with any strides. The result has b's shape and dtype; no input is changed.
Compute in the dtype of the inputs, row by row from the last: x[i] = (b[i] - sum_(j > i) a[i,j] x[j]) / a[i,i]; any
order of the sum will do. NaN and infinity do not occur. For n = 1, x = b / a.

Judged element by element: the error may be at most 4 (sqrt(n) + 1) eps times (|A^-1| |A| |x| + |alpha y|), plus a few
units in the last place.
"""


def reference(A: torch.Tensor, b: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    sides = b[:, None] if b.dim() == 1 else b
    x = torch.linalg.solve_triangular(A, sides, upper=True).view(b.shape)
    result: torch.Tensor = x + alpha * y
    return result


def magnitude(A: torch.Tensor, b: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    """The forward error of substitution: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem
    8.5 with equation (8.3), |x - x^| <= gamma_n |A^-1| |A| |x^|; sqrt(n) for n as in tasks/families/linalg.py."""
    upper = A.double().triu()
    inverse = torch.linalg.solve_triangular(upper, torch.eye(len(A), dtype=torch.float64), upper=True).abs()
    x = reference(upper, b.double(), y.double(), 0.0).abs()
    size: torch.Tensor = inverse @ (upper.abs() @ x) + (alpha * y.double()).abs()
    return size


def slack(A: torch.Tensor, **_: Any) -> float:
    return 4 * (math.sqrt(A.shape[-1]) + 1)


def triangular(draw: Draw, n: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A well-conditioned upper triangle with a diagonal of both signs, and noise below it."""
    full = draw.normal(n, n, dtype=torch.float64, std=0.7 / math.sqrt(n))
    signs = 1.0 - 2.0 * draw.mask(n).double()
    full.diagonal().copy_(draw.uniform(n, low=0.7, high=1.5, dtype=torch.float64) * signs)
    return full.to(dtype)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("vector", (triangular(draw, 7), draw.normal(7), draw.normal(7), 0.5))
    float64 = triangular(draw, 6, torch.float64), draw.normal(6, 3, dtype=torch.float64)
    yield Case("matrix, float64", (*float64, draw.normal(6, 3, dtype=torch.float64), -1.25))


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = draw.size(33, 45), draw.size(3, 7)
    yield Case("one by one", (triangular(draw, 1), draw.normal(1), draw.normal(1), 2.0))
    yield Case("several blocks", (triangular(draw, n), draw.normal(n), draw.normal(n), draw.size(1, 9) / 4))
    yield Case("several columns", (triangular(draw, n), draw.normal(n, k), draw.normal(n, k), -draw.size(1, 9) / 4))
    many = draw.size(65, 75)
    yield Case("one y for many columns", (triangular(draw, 19), draw.normal(19, many), draw.normal(19, 1), 3.0))
    yield Case("alpha zero", (triangular(draw, 18), draw.normal(18, k), draw.normal(18, k), 0.0))
    outliers = triangular(draw, n, torch.float64)
    outliers[draw.size(0, n - 9), :] *= 1e3
    yield Case("a row of outliers, float64", (outliers, *draw.normal(2, n, dtype=torch.float64), 0.75))
    strided = [draw.strided(t) for t in (triangular(draw, n), draw.normal(n), draw.normal(n))]
    yield Case("strided views", (*strided, 1.5))
    transposed = triangular(draw, n, torch.float64).flip(0, 1).contiguous().T
    sides = draw.normal(k, n, dtype=torch.float64).T
    yield Case("transposed views", (transposed, sides, draw.normal(k, n, dtype=torch.float64).T, -0.5))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("200 x 200", (triangular(draw, 200), draw.normal(200), draw.normal(200), 0.5))
    float64 = triangular(draw, 600, torch.float64), *draw.normal(2, 600, dtype=torch.float64)
    yield Case("600 x 600, float64", (*float64, -1.5))
    yield Case("1000 x 1000, 100 columns", (triangular(draw, 1000), draw.normal(1000, 100), draw.normal(1000, 1), 0.25))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("50 x 50", (triangular(draw, 50), draw.normal(50), draw.normal(50), 0.5))
    yield Case("40 x 40, 20 columns", (triangular(draw, 40), draw.normal(40, 20), draw.normal(40, 20), -1.5))


def cost(A: torch.Tensor, b: torch.Tensor, y: torch.Tensor, alpha: float) -> Cost:
    n = A.shape[-1]
    elements = n * (n + 1) // 2 + 2 * b.numel() + y.numel()
    return Cost(elements * A.element_size(), (n + 2) * b.numel())


TASK = Task(
    id="LinearAlgebra/solve_and_add_scaled_vector",
    entry="solve_and_add_scaled_vector",
    signature="solve_and_add_scaled_vector(A: torch.Tensor, b: torch.Tensor, y: torch.Tensor, alpha: float)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
