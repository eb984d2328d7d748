"""Fusion/fused_lu_solve: an LU factorisation with row exchanges and the two triangular solves that follow it."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.linalg import matrices, residual_fault, tame
from tasks.judges import Property
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Solution x of A x = b by an LU factorisation with partial pivoting, in one call:

    A = P L U,    L y = P^T b,    U x = y

In each step the row with the largest candidate becomes the pivot row. The permutation P belongs to the solve: b goes
through the same row exchanges as A (x solves A x = b, not L U x = b).

`A` is a matrix (n, n) with 1 <= n <= 512; it is invertible, which need not be checked, and its diagonal elements may be
small or zero. `b` is a vector (n,). Both are float32, with any strides. x has b's shape and dtype. No input is changed.
Compute in float32. NaN and infinity do not occur. For n = 1, x is b / A.

Judged by the residual: |b - A x| <= 4 (sqrt(n) + 1) eps (|A|_F |x| + |b|), eps of float32, with Euclidean norms of
vectors and the Frobenius norm of A. It doesn't depend on A's condition: elimination with partial pivoting meets it,
multiplication by a computed inverse doesn't where A is ill-conditioned.
"""


def reference(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    factors, pivots = torch.linalg.lu_factor(A)
    solution: torch.Tensor = torch.linalg.lu_solve(factors, pivots, b[:, None])[:, 0]
    return solution.clone()


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 9.4 promises such a residual."""
    return residual_fault(arguments["A"], returned[:, None], arguments["b"][:, None])


def public(draw: Draw) -> Iterator[Case]:
    yield Case("6 x 6", (draw.normal(6, 6), draw.normal(6)))
    yield Case("9 x 9, a permutation and noise", (tame(draw, 9, 9), draw.normal(9)))


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(19, 30)
    yield Case("one by one", (draw.uniform(1, 1, low=-3.0, high=-0.3), draw.normal(1)))
    yield Case("several blocks", (draw.normal(n + 16, n + 16), draw.normal(n + 16)))
    yield Case("a permutation and noise", (tame(draw, n, n), draw.normal(n)))
    zeros = draw.normal(n, n).fill_diagonal_(0.0)
    yield Case("zeros on the diagonal", (zeros, draw.normal(n)))
    ill = matrices(draw, n, n, condition=1e5)
    yield Case("ill-conditioned", (ill, (ill.double() @ draw.normal(n, dtype=torch.float64)).float()))
    yield Case("strided views", (draw.strided(draw.normal(n, n)), draw.strided(draw.normal(n))))
    yield Case("transposed view", (draw.normal(n, n).T, draw.normal(n)))


def timed(draw: Draw) -> Iterator[Case]:
    for n in (60, 200, 500):
        yield Case(f"{n} x {n}", (draw.normal(n, n), draw.normal(n)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("50 x 50", (draw.normal(50, 50), draw.normal(50)))
    yield Case("40 x 40", (draw.normal(40, 40), draw.normal(40)))


def cost(A: torch.Tensor, b: torch.Tensor) -> Cost:
    n = len(b)
    return Cost(nbytes(A, b, b), 2 * n**3 // 3 + 2 * n * n)


TASK = Task(
    id="Fusion/fused_lu_solve",
    entry="fused_lu_solve",
    signature="fused_lu_solve(A: torch.Tensor, b: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
)
