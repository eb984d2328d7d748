"""LinearAlgebra/determinant_via_qr: determinants from a QR factorisation."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.linalg import dominant, matrices, spread_of_determinant, tame
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Determinant of one matrix, or of each of a batch, from its QR factors. `A` has shape (*, n, n), 1 <= n <= 128, dtype
float32 or float64, and any strides. The result has shape (*) (no dimensions for a single matrix) and A's dtype:

    A = Q R, Q orthogonal, R upper triangular;    det A = det(Q) r[0,0] ... r[n-1,n-1],    det(Q) = 1 or -1

The sign belongs to it: a Householder reflection I - t v v^T that isn't the identity has the determinant -1, a
rotation +1.
`mode` is "reduced" or "complete", the form that torch.linalg.qr would give the factors: for square
matrices both are the same, and so is the determinant. A may be singular, with zero or dependent columns: the result
then is 0, or as close to it as rounding lets it be. For n = 1 the determinant is the element. Compute in A's dtype.
NaN and infinity do not occur, squares of elements neither overflow nor underflow, and no product of some of R's
diagonal elements leaves the dtype's range.
`out`, when given, is a contiguous tensor of the result's shape and dtype:
the result is written into it, and `out` itself is returned.

Judged by how far rounding can move a determinant: |result - det A| may be at most prod(s_i + e) - prod(s_i), plus a few
units in the last place, where s_i are A's singular values and e = 4 sqrt(n) eps max(s_i).
"""


def reference(A: torch.Tensor, *, mode: str = "reduced", out: torch.Tensor | None = None) -> torch.Tensor:
    Q, R = torch.linalg.qr(A, mode)
    value: torch.Tensor = torch.linalg.det(Q).sign() * R.diagonal(dim1=-2, dim2=-1).prod(-1)
    return value if out is None else out.copy_(value)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("one matrix", (draw.normal(5, 5),))
    yield Case(
        "float64, out given", (draw.normal(4, 7, 7, dtype=torch.float64),), {"out": draw.normal(4, dtype=torch.float64)}
    )


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(17, 22)
    yield Case("one by one", (draw.normal(draw.size(4, 6), 1, 1),))
    yield Case("batch of two dimensions", (tame(draw, 2, 3, n, n),))
    yield Case("ill-conditioned, float64", (matrices(draw, 12, 12, condition=1e8, dtype=torch.float64) * 8,))
    singular = draw.normal(4, n - 8, n - 8)
    singular[0] = 0.0
    singular[1, :, 3] = 0.0
    singular[2, :, 2] = singular[2, :, 4]
    yield Case("singular", (singular,))
    triangular = dominant(draw, 4, n, n)
    triangular[:2] = triangular[:2].triu()
    triangular[2:] = triangular[2:].triu() + 1e-3 * draw.normal(2, n, n).tril(-1)
    yield Case("triangular, or nearly so", (triangular,))
    outliers = tame(draw, n, n)
    outliers[:, draw.size(0, n - 1)] *= 1e4
    yield Case("a column of outliers", (outliers,))
    yield Case("strided view, out given", (draw.strided(tame(draw, n, n)),), {"out": draw.normal()})
    yield Case("transposed view", (tame(draw, 3, n, n, dtype=torch.float64).mT,))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("16384 of 24 x 24", (tame(draw, 16384, 24, 24),))
    yield Case(
        "1000 of 60 x 60, float64, complete", (tame(draw, 1000, 60, 60, dtype=torch.float64),), {"mode": "complete"}
    )
    yield Case("300 of 120 x 120", (tame(draw, 300, 120, 120),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("6 of 20 x 20", (tame(draw, 6, 20, 20),))
    # here and not among the hidden cases, where a control demands that ignoring `mode` be refused
    yield Case("4 of 30 x 30, complete", (tame(draw, 4, 30, 30),), {"mode": "complete"})


def cost(A: torch.Tensor, *, mode: str = "reduced", out: torch.Tensor | None = None) -> Cost:
    n = A.shape[-1]
    count = A.numel() // (n * n)
    return Cost(nbytes(A) + count * A.element_size(), count * max(4 * n**3 // 3, 1))


TASK = Task(
    id="LinearAlgebra/determinant_via_qr",
    entry="determinant_via_qr",
    signature="determinant_via_qr(A, *, mode='reduced', out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda **_: 1.0, magnitude=lambda A, **_: spread_of_determinant(A)),
    cost=cost,
    writes_to="out",
)
