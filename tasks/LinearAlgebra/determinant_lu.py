"""LinearAlgebra/determinant_lu: determinants from an LU factorisation, with or without row exchanges."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.linalg import dominant, matrices, spread_of_determinant, tame, unpivoted
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Determinant of one matrix, or of each of a batch, from its LU factors. `A` has shape (*, n, n), 1 <= n <= 128, dtype
float32 or float64, and any strides. The result has shape (*) (no dimensions for a single matrix) and A's dtype.

    pivot=True:   A = P L U (partial pivoting: in each step the row with the largest candidate becomes the pivot row);
                  det A = sign(P) u[0,0] ... u[n-1,n-1], where every row exchange turns the sign of P
    pivot=False:  A = L U without row exchanges; det A = u[0,0] ... u[n-1,n-1]

With pivoting A may be singular: the result then is 0, or as close to it as rounding lets it be.
Without pivoting, elimination breaks down where a pivot ahead of the last one is exactly zero, and the result is NaN:
that is what IEEE arithmetic gives of itself, by x / 0 and then 0 * inf or 0 * NaN in the product. Other matrices
without pivoting are such that it is safe. For n = 1 the determinant is the element. Compute in A's dtype. NaN and
infinity do not occur in A, and no product of pivots leaves the dtype's range.
`out`, when given, is a contiguous tensor of the result's shape and dtype: the result is written into it, and `out`
itself is returned.

Judged by how far rounding can move a determinant: |result - det A| may be at most prod(s_i + e) - prod(s_i), plus a few
units in the last place, where s_i are A's singular values and e = 4 sqrt(n) eps max(s_i).
"""


def reference(A: torch.Tensor, *, pivot: bool = True, out: torch.Tensor | None = None) -> torch.Tensor:
    value: torch.Tensor = torch.linalg.det(A) if pivot else unpivoted(A)[1].diagonal(dim1=-2, dim2=-1).prod(-1)
    return value if out is None else out.copy_(value)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("one matrix", (draw.normal(5, 5),))
    yield Case("batch, without pivoting", (dominant(draw, 3, 6, 6),), {"pivot": False})
    yield Case(
        "float64, out given", (draw.normal(4, 7, 7, dtype=torch.float64),), {"out": draw.normal(4, dtype=torch.float64)}
    )


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(17, 22)
    yield Case("one by one", (draw.normal(draw.size(2, 5), 1, 1),))
    yield Case("row exchanges", (tame(draw, 2, 2, n, n),))
    yield Case("ill-conditioned, float64", (matrices(draw, 12, 12, condition=1e8, dtype=torch.float64) * 8,))
    singular = draw.normal(3, n - 8, n - 8)
    singular[0, 4] = 0.0
    singular[1, :, 3] = 0.0
    singular[2, 2] = singular[2, 4]
    yield Case("singular", (singular,))
    zeros = dominant(draw, 3, n, n)
    zeros[draw.size(0, 2), 0, 0] = 0.0
    yield Case("a first pivot of zero", (zeros,))
    yield Case("a first pivot of zero, without pivoting", (zeros.clone(),), {"pivot": False})
    strided = draw.strided(tame(draw, n, n))
    yield Case("strided view, out given", (strided,), {"out": draw.normal()})
    yield Case(
        "transposed view, without pivoting", (dominant(draw, 3, n, n, dtype=torch.float64).mT,), {"pivot": False}
    )


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("16384 of 24 x 24", (tame(draw, 16384, 24, 24),))
    yield Case("1000 of 60 x 60, float64", (tame(draw, 1000, 60, 60, dtype=torch.float64),))
    yield Case("300 of 120 x 120, without pivoting", (dominant(draw, 300, 120, 120),), {"pivot": False})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("6 of 20 x 20", (tame(draw, 6, 20, 20),))
    yield Case("4 of 30 x 30, without pivoting", (dominant(draw, 4, 30, 30),), {"pivot": False})


def cost(A: torch.Tensor, *, pivot: bool = True, out: torch.Tensor | None = None) -> Cost:
    n = A.shape[-1]
    count = A.numel() // (n * n)
    return Cost(nbytes(A) + count * A.element_size(), count * max(2 * n**3 // 3, 1))


TASK = Task(
    id="LinearAlgebra/determinant_lu",
    entry="determinant_lu",
    signature="determinant_lu(A, *, pivot=True, out=None)",
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
