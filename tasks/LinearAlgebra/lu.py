"""LinearAlgebra/lu: the factors P, L, U of elimination with or without row exchanges."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.linalg import dominant, matrices, tame, unpivoted, worst_of
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
LU factors of one matrix, or of a batch of them. `A` has shape (*, m, n), 1 <= m, n <= 128, dtype float32 or float64,
and any strides. With k = min(m, n), the result is a tuple (P, L, U) of tensors of A's dtype:

    A = P L U        P (*, m, m) a permutation matrix, L (*, m, k), U (*, k, n)

L is unit lower trapezoidal: its diagonal is exactly 1, what is above it exactly 0. U is upper trapezoidal: what is
below its diagonal is exactly 0. P holds zeros and one 1 in each row and each column.
`pivot=True` (default): rows are exchanged so that every |L_ij| <= 1 (partial pivoting; of several candidates of the
same magnitude any may be taken). A may be singular: where a column offers no pivot but zero, its multipliers are 0.
`pivot=False`: no row is exchanged, A = L U, and P is an empty tensor of shape (0,). Every pivot may be taken to be
nonzero.
Compute in A's dtype. For m = 1, L is 1 and U is A. NaN and infinity do not occur.
With `out` given, a tuple of three tensors of the right shapes and dtype (P of shape (0,) without pivoting), the
factors are written into them, and the result is that tuple.

Judged by structure as above (|L_ij| <= 1 + 4 eps), and by reconstruction: |A - P L U| at (i, j) may be at most
4 sqrt(k + 2) eps times (P |L| |U|) at (i, j), eps of the dtype.
"""

Factors = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def reference(A: torch.Tensor, pivot: bool = True, out: Factors | None = None) -> Factors:
    factors = tuple(torch.linalg.lu(A)) if pivot else (A.new_empty(0), *unpivoted(A))
    if out is not None:
        for given, factor in zip(out, factors, strict=True):
            given.copy_(factor)
    return out or (factors[0], factors[1], factors[2])


def check(arguments: dict[str, Any], returned: Factors, native: Factors) -> str | None:
    """The bound is that of Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 9.3,
    |A - P L U| <= gamma_k P |L| |U|, with sqrt(k) for k (see tasks/families/linalg.py)."""
    A, pivot = arguments["A"].double(), arguments["pivot"]
    P, L, U = (factor.double() for factor in returned)
    eps, k = torch.finfo(returned[1].dtype).eps, L.shape[-1]
    if not all(torch.isfinite(factor).all() for factor in (P, L, U)):
        return "P, L or U holds NaN or infinity"
    if L.triu(1).any() or (L.diagonal(dim1=-2, dim2=-1) != 1).any():
        return "L must have ones on its diagonal and zeros above it"
    if U.tril(-1).any():
        return "U must be zero below its diagonal"
    if pivot:
        if ((P != 0) & (P != 1)).any() or (P.sum(-1) != 1).any() or (P.sum(-2) != 1).any():
            return "P must hold one 1 in each row and each column, and zeros"
        if L.abs().max() > 1 + 4 * eps:
            return f"with partial pivoting no |L_ij| exceeds 1, got {float(L.abs().max()):.9g}"
        L = P @ L
    product = L @ U
    excess = (product - A).abs() / (L.abs() @ U.abs() + torch.finfo(torch.float64).tiny)
    bound = 4 * math.sqrt(k + 2) * eps
    if (excess <= bound).all():
        return None
    wrong = float((excess > bound).double().mean())
    return f"P L U must equal A: {wrong:.0%} of its elements are off by more than the bound; the worst is " + worst_of(
        excess, product, A
    )


def public(draw: Draw) -> Iterator[Case]:
    yield Case("float32", (draw.normal(6, 6),))
    yield Case("tall, float64", (draw.normal(2, 9, 5, dtype=torch.float64),))
    yield Case("without pivoting", (dominant(draw, 7, 7),), {"pivot": False})


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(17, 22)
    yield Case("one by one", (draw.normal(draw.size(2, 4), 1, 1),))
    yield Case("batch", (draw.normal(2, n, n),))
    yield Case("wide", (draw.normal(draw.size(5, 9), n),))
    yield Case("ill-conditioned", (matrices(draw, n, n, condition=1e5),))
    singular = draw.normal(2, n, n, dtype=torch.float64)
    singular[0, :, n // 2] = 0.0
    singular[1, 3] = singular[1, 5]
    yield Case("singular, float64", (singular,))
    outliers = draw.normal(n, n - 3)
    outliers[draw.size(0, n - 1)] *= 1e5
    out = (draw.normal(n, n), draw.normal(n, n - 3), draw.normal(n - 3, n - 3))
    yield Case("a row of outliers, out given", (outliers,), {"out": out})
    yield Case("strided view", (draw.strided(draw.normal(n, n)),))
    yield Case(
        "transposed view, without pivoting", (dominant(draw, 2, n, n, dtype=torch.float64).mT,), {"pivot": False}
    )


def timed(draw: Draw) -> Iterator[Case]:
    for count, n, dtype in ((8192, 24, torch.float32), (1024, 64, torch.float64), (300, 120, torch.float32)):
        yield Case(f"{count} of {n} x {n}, {str(dtype)[6:]}", (tame(draw, count, n, n, dtype=dtype),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("4 of 20 x 20", (draw.normal(4, 20, 20),))
    yield Case("3 of 24 x 17, float64", (draw.normal(3, 24, 17, dtype=torch.float64),))


def cost(A: torch.Tensor, pivot: bool = True, out: Factors | None = None) -> Cost:
    m, n = A.shape[-2:]
    k, count = min(m, n), A.numel() // (m * n)
    elements = m * n + m * k + k * n + (m * m if pivot else 0)
    flops = sum(2 * (m - i - 1) * (n - i - 1) + m - i - 1 for i in range(k))
    return Cost(count * elements * A.element_size(), count * max(flops, 1))


TASK = Task(
    id="LinearAlgebra/lu",
    entry="lu",
    aliases=("lu_decomposition",),
    signature="lu(A, pivot=True, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
    writes_to="out",
)
