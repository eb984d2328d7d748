"""Fusion/fused_qr_solve: linear systems and least-squares problems by a QR factorisation."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.linalg import matrices
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Solution x of A x = b by a QR factorisation, in one call; for more equations than unknowns, the least-squares solution:

    A = Q R  (reduced: Q (m, n) with orthonormal columns, R (n, n) upper triangular),    R x = Q^T b

x minimises |b - A x| for each column of b. `A` (m, n), m >= n >= 1 and m <= 512, has full column rank, which need not
be checked. `b` (m, k) holds k >= 1 right-hand sides. x is (n, k). All are float32; A and b may have any strides. No
input is changed. Compute in float32. Q itself isn't needed. NaN and infinity do not occur, and squares of elements
neither overflow nor underflow. For m = n = 1, x = b / A.

Judged element by element: the error may be at most 2 sqrt(m + n) eps c (2 |x| + (c + 1) |b - A x| / |A|), plus a few
units in the last place, where c is the condition of A and |.| are 2-norms, of a column of x and b at a time.
Householder reflections meet this; the normal equations A^T A x = A^T b, whose condition is c^2, and plain
Gram-Schmidt don't where A is ill-conditioned.
"""


def reference(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    Q, R = torch.linalg.qr(A)
    solution: torch.Tensor = torch.linalg.solve_triangular(R, Q.mT @ b, upper=True)
    return solution


def magnitude(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Wedin's bound on what a small backward error does to a least-squares solution: Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., theorem 20.1; that of Householder QR is small by theorem 20.3."""
    exact, sides = A.double(), b.double()
    x = reference(exact, sides)
    values = torch.linalg.svdvals(exact)
    condition = values[0] / values[-1]
    residual = (sides - exact @ x).norm(dim=0)
    spread: torch.Tensor = condition * (2 * x.norm(dim=0) + (condition + 1) * residual / values[0])
    return spread


def slack(A: torch.Tensor, b: torch.Tensor) -> float:
    return 2 * math.sqrt(sum(A.shape))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("square", (matrices(draw, 6, 6, condition=3.0), draw.normal(6, 2)))
    yield Case("more equations than unknowns", (draw.normal(12, 5), draw.normal(12, 1)))


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = draw.size(17, 22), draw.size(2, 7)
    m = n + draw.size(3, 20)
    yield Case("one by one", (draw.uniform(1, 1, low=-3.0, high=-0.3), draw.normal(1, k)))
    yield Case("one unknown", (draw.normal(m, 1), draw.normal(m, 3)))
    yield Case("several blocks, square", (matrices(draw, m, m), draw.normal(m, k)))
    yield Case("several blocks, tall", (matrices(draw, m, n, condition=4.0), draw.normal(m, k)))
    ill = matrices(draw, m, n, condition=3e3)
    near = ill.double() @ draw.normal(n, k, dtype=torch.float64) + 1e-6 * draw.normal(m, k)
    yield Case("ill-conditioned", (ill, near.float()))
    yield Case("many right-hand sides", (matrices(draw, n, n - 3), draw.normal(n, draw.size(35, 45))))
    nearly = draw.normal(m, n).triu() / n + torch.eye(m, n) + 1e-4 * draw.normal(m, n)
    yield Case("nearly triangular", (nearly, draw.normal(m, k)))
    yield Case("strided views", (draw.strided(draw.normal(m, n)), draw.strided(draw.normal(m, k))))
    yield Case("transposed views", (draw.normal(n, m).T, draw.normal(k, m).T))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("100 x 60, 1 right-hand side", (draw.normal(100, 60), draw.normal(100, 1)))
    yield Case("500 x 100, 20 right-hand sides", (draw.normal(500, 100), draw.normal(500, 20)))
    yield Case("400 x 300, 100 right-hand sides", (draw.normal(400, 300), draw.normal(400, 100)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("60 x 40, 3 right-hand sides", (draw.normal(60, 40), draw.normal(60, 3)))
    yield Case("40 x 20, 20 right-hand sides", (draw.normal(40, 20), draw.normal(40, 20)))


def cost(A: torch.Tensor, b: torch.Tensor) -> Cost:
    m, n = A.shape
    k = b.shape[1]
    flops = sum(4 * (m - i) * (n - i) for i in range(n)) + 4 * m * n * k + n * n * k
    return Cost(nbytes(A, b) + n * k * A.element_size(), flops)


TASK = Task(
    id="Fusion/fused_qr_solve",
    entry="fused_qr_solve",
    signature="fused_qr_solve(A: torch.Tensor, b: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
