"""LinearAlgebra/solve: square linear systems."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.linalg import matrices, residual_fault, tame
from tasks.judges import Property
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Solution X of A X = B. `A` has shape (*, n, n), 1 <= n <= 128; it is invertible, which need not be checked. `B` is
- a vector for each matrix: shape (n,) where A is one matrix, or A.shape[:-1] where A is a batch; X then has B's
  shape; or
- a matrix of k >= 1 right-hand sides: shape (*, n, k). Leading dimensions of A and B are broadcast against each other,
  and X has the broadcast ones, then (n, k).
Both are float32, or both float64, with any strides; so is X. Rows must be exchanged (partial pivoting), since diagonal
elements may be small or zero. Compute in A's dtype. NaN and infinity do not occur. For n = 1, X = B / A.

Judged by the residual: for each column x of X and its right-hand side b,
|b - A x| <= 4 (sqrt(n) + 1) eps (|A|_F |x| + |b|), eps of the dtype, with Euclidean norms of vectors and the
Frobenius norm of A. It doesn't depend on A's condition: elimination with partial pivoting or a QR factorisation meet
it, multiplication by a computed inverse doesn't where A is ill-conditioned.
"""


def reference(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    solution: torch.Tensor = torch.linalg.solve(A, B)
    return solution


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    A, B = arguments["A"], arguments["B"]
    if is_vector(A, B):
        return residual_fault(A, returned[..., None], B[..., None])
    return residual_fault(A, returned, B)


def is_vector(A: torch.Tensor, B: torch.Tensor) -> bool:
    return B.dim() == 1 or B.shape == A.shape[:-1]


def public(draw: Draw) -> Iterator[Case]:
    yield Case("vector", (tame(draw, 6, 6), draw.normal(6)))
    yield Case("batch, float64", (draw.normal(2, 7, 7, dtype=torch.float64), draw.normal(2, 7, 3, dtype=torch.float64)))
    yield Case("one column", (draw.normal(5, 5), draw.normal(5, 1)))


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = draw.size(17, 22), draw.size(5, 8)
    yield Case("one by one", (draw.uniform(3, 1, 1, low=-3.0, high=-0.2), draw.normal(3, 1, k)))
    yield Case("batch of vectors", (draw.normal(3, n, n), draw.normal(3, n)))
    yield Case("many right-hand sides", (tame(draw, n, n), draw.normal(n, draw.size(65, 70))))
    yield Case("broadcast", (tame(draw, 2, 1, n, n), draw.normal(3, n, k)))
    ill = matrices(draw, n, n, condition=1e5)
    yield Case("ill-conditioned", (ill, (ill.double() @ draw.normal(n, k, dtype=torch.float64)).float()))
    zeros = draw.normal(n, n, dtype=torch.float64)
    zeros.fill_diagonal_(0.0)
    yield Case("zeros on the diagonal, float64", (zeros, draw.normal(n, k, dtype=torch.float64)))
    yield Case("strided views", (draw.strided(draw.normal(n, n)), draw.strided(draw.normal(n, k))))
    transposed = draw.normal(2, n, n, dtype=torch.float64).mT
    yield Case("transposed views", (transposed, draw.normal(2, k, n, dtype=torch.float64).mT))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("8192 of 24 x 24, vectors", (tame(draw, 8192, 24, 24), draw.normal(8192, 24)))
    float64 = tame(draw, 800, 60, 60, dtype=torch.float64), draw.normal(800, 60, 5, dtype=torch.float64)
    yield Case("800 of 60 x 60, 5 right-hand sides, float64", float64)
    yield Case("300 of 120 x 120, 20 right-hand sides", (tame(draw, 300, 120, 120), draw.normal(300, 120, 20)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("4 of 20 x 20, vectors", (draw.normal(4, 20, 20), draw.normal(4, 20)))
    yield Case("3 of 24 x 24, 5 right-hand sides", (draw.normal(3, 24, 24), draw.normal(3, 24, 5)))


def cost(A: torch.Tensor, B: torch.Tensor) -> Cost:
    n = A.shape[-1]
    vector = is_vector(A, B)
    sides = B[..., None] if vector else B
    columns = (A[..., 0, 0] + sides[..., 0, 0]).numel() * sides.shape[-1]
    flops = A.numel() // (n * n) * (2 * n**3 // 3) + 2 * n * n * columns
    return Cost(nbytes(A, B) + columns * n * A.element_size(), flops)


TASK = Task(
    id="LinearAlgebra/solve",
    entry="solve",
    signature="solve(A, B)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
)
