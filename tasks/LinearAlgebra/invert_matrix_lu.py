"""LinearAlgebra/invert_matrix_lu: inverses from an LU factorisation, with or without row exchanges."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from tasks.calls import Observed, bound
from tasks.draw import Draw
from tasks.families.linalg import dominant, matrices, tame, unpivoted
from tasks.judges import Elementwise, Mismatch, Truth
from tasks.outcomes import Reason
from tasks.task import Case, Cost, Task

TEXT = """\
Inverse of one matrix, or of each of a batch, from its LU factors. `A` has shape (*, n, n), 1 <= n <= 128, dtype
float32 or float64, and any strides; it is invertible, which need not be checked. The result has A's shape and dtype.

    pivot=True:   A = P L U (partial pivoting: in each step the row with the largest candidate becomes the pivot row);
                  inverse = U^-1 L^-1 P^T
    pivot=False:  A = L U without row exchanges; inverse = U^-1 L^-1

Without pivoting, elimination breaks down where a pivot is exactly zero; IEEE arithmetic then gives x / 0, and the
result for that matrix must show it: it holds NaN or infinity (anywhere), while other matrices of the batch are
inverted as usual. Other matrices without pivoting are such that it is safe. For n = 1 the inverse is 1 / a. Compute
in A's dtype. NaN and infinity do not occur in A.
`out`, when given, has A's shape and dtype (its matrices may be stored by rows or by columns): the result is written
into it, and `out` itself is returned.

Judged element by element: the error may be at most 4 (sqrt(n) + 1) eps times |X| P |L| |U| |X|, X = A^-1, plus a few
units in the last place.
"""


def reference(A: torch.Tensor, *, pivot: bool = True, out: torch.Tensor | None = None) -> torch.Tensor:
    if pivot:
        inverse: torch.Tensor = torch.linalg.inv(A)
    else:
        L, U = unpivoted(A)
        eye = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device).expand_as(A)
        forward = torch.linalg.solve_triangular(L, eye, upper=False, unitriangular=True)
        inverse = torch.linalg.solve_triangular(U, forward, upper=True)
    return inverse if out is None else out.copy_(inverse)


def magnitude(A: torch.Tensor, pivot: bool, out: torch.Tensor | None) -> torch.Tensor:
    """The forward error bound of Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 14.3 (and of
    Gauss-Jordan elimination, theorem 14.5, up to a factor): |X - A^-1| <= c u |A^-1| P |L| |U| |A^-1|."""
    exact = A.double()
    P, L, U = torch.linalg.lu(exact) if pivot else (None, *unpivoted(exact))
    inverse = torch.linalg.inv(
        exact + torch.diag_embed((~solvable(A, pivot)).double()[..., None].expand(A.shape[:-1]))
    ).abs()
    size = L.abs() @ U.abs()
    spread: torch.Tensor = inverse @ ((size if P is None else P @ size) @ inverse)
    return spread


def solvable(A: torch.Tensor, pivot: bool) -> torch.Tensor:
    """(*) booleans: which of the matrices have no pivot of zero where no row is exchanged."""
    if pivot:
        return torch.ones(A.shape[:-2], dtype=torch.bool)
    pivots = unpivoted(A.double())[1].diagonal(dim1=-2, dim2=-1)
    return (torch.isfinite(pivots) & (pivots != 0)).all(-1)


@dataclass(frozen=True)
class WhereSolvable(Elementwise):
    """Element by element where elimination goes through; elsewhere each matrix must hold NaN or infinity."""

    def compare(self, task: Task, case: Case, got: Observed, truth: Truth) -> Mismatch | None:
        arguments = bound(task, case)
        good = solvable(arguments["A"], arguments["pivot"])
        broken = got.returned[~good]
        if not (~torch.isfinite(broken)).flatten(1).any(1).all():
            message = (
                "result: a matrix with a pivot of zero, not to be exchanged, has an inverse without NaN or infinity"
            )
            return Mismatch(Reason.NON_FINITE, "result", message)

        def without(observed: Observed) -> Observed:
            return Observed(torch.where(good[..., None, None], observed.returned, 0.0), observed.mutated)

        return super().compare(task, case, without(got), Truth(without(truth.native), without(truth.exact)))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("one matrix", (tame(draw, 5, 5),))
    yield Case("batch, without pivoting", (dominant(draw, 2, 6, 6),), {"pivot": False})
    float64 = draw.normal(7, 7, dtype=torch.float64)
    yield Case("float64, out given", (float64,), {"out": draw.normal(7, 7, dtype=torch.float64)})


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(17, 22)
    yield Case("one by one", (draw.uniform(draw.size(2, 5), 1, 1, low=-3.0, high=-0.2),))
    yield Case("batch, row exchanges", (matrices(draw, 2, n, n),))
    yield Case("ill-conditioned, float64", (matrices(draw, 12, 12, condition=1e8, dtype=torch.float64),))
    zeros = tame(draw, n, n)
    zeros[0, 0] = 0.0
    yield Case("zero where the first pivot would be", (zeros,))
    broken = dominant(draw, 3, n, n)
    broken[draw.size(0, 2), 0, 0] = 0.0
    yield Case("a first pivot of zero, without pivoting", (broken,), {"pivot": False})
    outliers = tame(draw, n, n)
    outliers[draw.size(0, n - 1)] *= 1e4
    yield Case("a row of outliers, out stored by columns", (outliers,), {"out": draw.normal(n, n).T})
    yield Case("strided view", (draw.strided(matrices(draw, n, n)),))
    yield Case(
        "transposed view, without pivoting", (dominant(draw, 2, n, n, dtype=torch.float64).mT,), {"pivot": False}
    )


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("8192 of 24 x 24", (tame(draw, 8192, 24, 24),))
    yield Case("600 of 60 x 60, float64", (tame(draw, 600, 60, 60, dtype=torch.float64),))
    yield Case("200 of 120 x 120, without pivoting", (dominant(draw, 200, 120, 120),), {"pivot": False})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("4 of 20 x 20", (tame(draw, 4, 20, 20),))
    yield Case("3 of 30 x 30, without pivoting", (dominant(draw, 3, 30, 30),), {"pivot": False})


def slack(A: torch.Tensor, **_: Any) -> float:
    return 4 * (math.sqrt(A.shape[-1]) + 1)


def cost(A: torch.Tensor, *, pivot: bool = True, out: torch.Tensor | None = None) -> Cost:
    return Cost(2 * A.numel() * A.element_size(), 2 * A.numel() * A.shape[-1])


TASK = Task(
    id="LinearAlgebra/invert_matrix_lu",
    entry="invert_matrix_lu",
    signature="invert_matrix_lu(A, *, pivot=True, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=WhereSolvable(slack=slack, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
