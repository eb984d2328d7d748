"""Fusion/fused_cholesky_solve: a Cholesky factorisation and the two triangular solves that follow it."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.linalg import residual_fault
from tasks.judges import Property
from tasks.LinearAlgebra.cholesky import positive_definite
from tasks.task import Case, Cost, Task

TEXT = """\
Solution x of A x = b by a Cholesky factorisation, in one call:

    A = L L^T,    L y = b,    L^T x = y

`A` (n, n), 1 <= n <= 1024, is symmetric and positive definite, which need not be checked; it is enough to read one of
its triangles. `b` (n, k) holds k >= 1 right-hand sides. Both are float32, with any strides. x has b's shape and
dtype. No input is changed. Compute in float32 (products of tiles in full float32, not TF32). NaN and infinity do not
occur. For n = 1, x = b / A.

Judged by the residual: for each column of x and of b,
|b - A x| <= 4 (sqrt(n) + 1) eps (|A|_F |x| + |b|), eps of
float32, with Euclidean norms of vectors and the Frobenius norm of A. It doesn't depend on A's condition;
multiplication by a computed inverse misses it where A is ill-conditioned.
"""


def reference(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.cholesky_solve(b, torch.linalg.cholesky(A))


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 10.4 promises such a residual."""
    return residual_fault(arguments["A"], returned, arguments["b"])


def system(draw: Draw, n: int, k: int, condition: float = 50.0) -> tuple[torch.Tensor, torch.Tensor]:
    """A matrix, and right-hand sides of solutions that are no larger along one direction than along another."""
    A = positive_definite(draw, n, n, dtype=torch.float32, condition=condition)
    return A, (A.double() @ draw.normal(n, k, dtype=torch.float64)).float()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("one right-hand side", system(draw, 6, 1))
    yield Case("several right-hand sides", system(draw, 9, 4))


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = draw.size(35, 50), draw.size(2, 7)
    yield Case("one by one", (draw.uniform(1, 1, low=0.3, high=3.0), draw.normal(1, k)))
    yield Case("several blocks", system(draw, n, k))
    yield Case("many right-hand sides", system(draw, draw.size(17, 22), draw.size(35, 45)))
    yield Case("ill-conditioned", system(draw, n, 2, condition=3e4))
    A, b = system(draw, n, 1)
    yield Case("large elements", (A * 1e4, b * 1e-3))
    A, b = system(draw, n, k)
    yield Case("strided views", (draw.strided(A), draw.strided(b)))
    A, b = system(draw, n, k)
    yield Case("transposed views", (A.T, b.T.contiguous().T))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("100 x 100, 1 right-hand side", system(draw, 100, 1))
    yield Case("500 x 500, 30 right-hand sides", system(draw, 500, 30))
    yield Case("1000 x 1000, 100 right-hand sides", system(draw, 1000, 100))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("50 x 50, 3 right-hand sides", system(draw, 50, 3))
    yield Case("40 x 40, 20 right-hand sides", system(draw, 40, 20))


def cost(A: torch.Tensor, b: torch.Tensor) -> Cost:
    n = len(A)
    return Cost((n * (n + 1) // 2 + 2 * b.numel()) * A.element_size(), n**3 // 3 + 2 * n * b.numel())


TASK = Task(
    id="Fusion/fused_cholesky_solve",
    entry="fused_cholesky_solve",
    signature="fused_cholesky_solve(A: torch.Tensor, b: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
)
