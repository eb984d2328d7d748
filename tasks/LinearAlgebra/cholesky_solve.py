"""LinearAlgebra/cholesky_solve: linear systems whose Cholesky factor is given."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.linalg import residual_fault
from tasks.judges import Property
from tasks.LinearAlgebra.cholesky import positive_definite
from tasks.task import Case, Cost, Task

TEXT = """\
Solution X of A X = B, where A is symmetric positive definite and given by its Cholesky factor `L`:

    upper=False:  A = L L^T, L lower triangular; what is above its diagonal is never read
    upper=True:   A = L^T L, L upper triangular; what is below its diagonal is never read

`L` has shape (*, n, n), 1 <= n <= 128, with a positive diagonal; the part that isn't read may hold any numbers. `B`
has shape (*, n, k), k >= 1, with the same leading dimensions. Both are float32, or both float64, with any strides. X
has B's shape and dtype. So two triangular systems are solved for each column: one with the factor, one with its
transpose. Compute in the dtype of the inputs. NaN and infinity do not occur. For n = 1, X = B / L^2.
`out`, when given, has B's shape and dtype (its matrices may be stored by rows or by columns): X is written into it,
and `out` itself is returned.

Judged by the residual: for each column x of X and its right-hand side b,
|b - A x| <= 4 (sqrt(n) + 1) eps (|A|_F |x| + |b|), eps of the dtype, with Euclidean norms of vectors and the
Frobenius norm of A.
"""


def reference(B: torch.Tensor, L: torch.Tensor, upper: bool = False, out: torch.Tensor | None = None) -> torch.Tensor:
    solution: torch.Tensor = torch.cholesky_solve(B, L, upper)
    return solution if out is None else out.copy_(solution)


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """Two triangular solves leave such a residual: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
    theorem 10.4, where the norm of |L| |L^T| is that of A up to a small factor."""
    factor = arguments["L"].double()
    lower = factor.triu().mT if arguments["upper"] else factor.tril()
    return residual_fault(lower @ lower.mT, returned, arguments["B"])


def factor(draw: Draw, *shape: int, upper: bool = False, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A Cholesky factor of matrices of condition 50, and noise on the other side of its diagonal."""
    lower = torch.linalg.cholesky(positive_definite(draw, *shape, dtype=torch.float64))
    full = lower + draw.normal(*shape, dtype=torch.float64).triu(1)
    factor: torch.Tensor = full.mT if upper else full
    return factor.to(dtype).contiguous()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("float32", (draw.normal(6, 2), factor(draw, 6, 6)))
    upper = factor(draw, 3, 7, 7, upper=True, dtype=torch.float64)
    yield Case("batch, upper factor, float64", (draw.normal(3, 7, 3, dtype=torch.float64), upper), {"upper": True})


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = draw.size(17, 22), draw.size(5, 8)
    yield Case("one by one", (draw.normal(3, 1, k), draw.uniform(3, 1, 1, low=0.3, high=2.0)))
    yield Case("one column", (draw.normal(n, 1), factor(draw, n, n)))
    yield Case("batch of two dimensions", (draw.normal(2, 2, n, k), factor(draw, 2, 2, n, n)))
    yield Case(
        "many columns, upper factor",
        (draw.normal(n, draw.size(65, 70)), factor(draw, n, n, upper=True)),
        {"upper": True},
    )
    strided = draw.strided(draw.normal(n, k)), draw.strided(factor(draw, n, n))
    yield Case("strided views, out given", strided, {"out": draw.normal(n, k)})
    transposed = factor(draw, 2, n, n, dtype=torch.float64).mT
    sides = draw.normal(2, k, n, dtype=torch.float64).mT
    out = draw.normal(2, k, n, dtype=torch.float64).mT
    yield Case(
        "transposed views, upper factor, out stored by columns", (sides, transposed), {"upper": True, "out": out}
    )


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("4096 of 24 x 24, 1 column", (draw.normal(4096, 24, 1), factor(draw, 4096, 24, 24)))
    float64 = draw.normal(800, 60, 5, dtype=torch.float64), factor(draw, 800, 60, 60, upper=True, dtype=torch.float64)
    yield Case("800 of 60 x 60, 5 columns, upper factor, float64", float64, {"upper": True})
    yield Case("200 of 120 x 120, 20 columns", (draw.normal(200, 120, 20), factor(draw, 200, 120, 120)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("4 of 20 x 20, 2 columns", (draw.normal(4, 20, 2), factor(draw, 4, 20, 20)))
    yield Case("3 of 24 x 24, 5 columns", (draw.normal(3, 24, 5), factor(draw, 3, 24, 24)))


def cost(B: torch.Tensor, L: torch.Tensor, upper: bool = False, out: torch.Tensor | None = None) -> Cost:
    n = L.shape[-1]
    triangles = L.numel() // (n * n) * (n * (n + 1) // 2)
    return Cost((triangles + 2 * B.numel()) * B.element_size(), 2 * n * B.numel())


TASK = Task(
    id="LinearAlgebra/cholesky_solve",
    entry="cholesky_solve",
    signature="cholesky_solve(B, L, upper=False, out=None)",
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
