"""LinearAlgebra/det: determinants of square matrices."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.linalg import matrices, spread_of_determinant, tame
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Determinant of one matrix, or of each of a batch. `A` has shape (*, n, n), 1 <= n <= 128, dtype float32, and any
strides. The result has shape (*) (no dimensions for a single matrix) and dtype float32:

    det A = sum over permutations p of sign(p) a[0, p(0)] ... a[n-1, p(n-1)]

in practice sign(P) u[0,0] ... u[n-1,n-1] from the factors A = P L U of elimination with row exchanges: matrices here
need them, and every exchange turns the sign. For n = 1 the determinant is the element. A may be singular, with a row
or a column of zeros or dependent ones; the result then is 0, or as close to it as rounding lets it be. Compute in
float32. NaN and infinity do not occur, and neither the determinant nor a product of some of the pivots leaves
float32's range.

Judged by how far rounding can move a determinant: |result - det A| may be at most prod(s_i + e) - prod(s_i), plus a few
units in the last place, where s_i are A's singular values and e = 4 sqrt(n) eps max(s_i).
"""


def reference(A: torch.Tensor) -> torch.Tensor:
    value: torch.Tensor = torch.linalg.det(A)
    return value


def public(draw: Draw) -> Iterator[Case]:
    yield Case("one matrix", (draw.normal(5, 5),))
    yield Case("batch", (draw.normal(6, 3, 3),))


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(17, 22)
    yield Case("one by one", (draw.normal(draw.size(2, 5), 1, 1),))
    yield Case("two by two, batch of two dimensions", (draw.normal(3, 2, 2, 2),))
    yield Case("row exchanges", (tame(draw, 4, n, n),))
    yield Case("ill-conditioned", (matrices(draw, 12, 12, condition=1e3) * 8,))
    singular = draw.normal(4, n - 8, n - 8)
    singular[0] = 0.0
    singular[1, :, 3] = 0.0
    singular[2, 2] = singular[2, 4]
    yield Case("singular", (singular,))
    zeros = tame(draw, 2, n, n)
    zeros[:, 0, 0] = 0.0
    yield Case("zero where the first pivot would be", (zeros,))
    outliers = tame(draw, n, n)
    outliers[draw.size(0, n - 1)] *= 1e4
    yield Case("a row of outliers", (outliers,))
    yield Case("strided view", (draw.strided(tame(draw, 2, n, n)),))
    yield Case("transposed view", (tame(draw, n, n).T,))


def timed(draw: Draw) -> Iterator[Case]:
    for count, n in ((16384, 24), (1500, 60), (300, 120)):
        yield Case(f"{count} of {n} x {n}", (tame(draw, count, n, n),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("6 of 20 x 20", (tame(draw, 6, 20, 20),))
    yield Case("4 of 30 x 30", (tame(draw, 4, 30, 30),))


def cost(A: torch.Tensor) -> Cost:
    n = A.shape[-1]
    count = A.numel() // (n * n)
    return Cost(nbytes(A) + count * A.element_size(), count * max(2 * n**3 // 3, 1))


TASK = Task(
    id="LinearAlgebra/det",
    entry="det",
    signature="det(A)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda A: 1.0, magnitude=spread_of_determinant),
    cost=cost,
)
