"""LinearAlgebra/low_rank_svd_approximation: the nearest matrix of rank k, by truncated singular value decomposition."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.spectral import geometric, norm, not_equal, not_finite, with_singular_values
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
The best approximation of rank `k` of each matrix: with A = U diag(S) V^T and S in descending order,

    A_k = sum over j < k of  S[j] U[:, j] V[:, j]^T

`A` is float32 with shape (*, m, n), m, n >= 1, and any strides; NaN or infinity does not occur. `k` is a Python
integer, 1 <= k <= min(m, n). The result has the shape and dtype of A. S[k-1] and S[k] are well apart, so that A_k is
unique; singular values may be equal elsewhere, and may be zero from S[k] on.
`full_matrices` says which singular vectors a decomposition would compute (all of them, or the first min(m, n));
it makes no difference to the result.
Compute in float32 at least; TF32 is not enough. With `out` given, the result is written into `out` (same shape and
dtype; its matrices may be stored by rows or by columns), and `out` itself is returned.

Judged for each matrix: the Frobenius norm of the difference from the exact A_k is at most
6 (max(m, n) + 2) eps |A| S[k-1] / (S[k-1] - S[k]), |A| the Frobenius norm, eps of float32 and S[min(m, n)] = 0.
"""


def reference(A: torch.Tensor, k: int, *, full_matrices: bool = True, out: torch.Tensor | None = None) -> torch.Tensor:
    left, values, right = torch.linalg.svd(A, full_matrices=full_matrices)
    product: torch.Tensor = (left[..., :k] * values[..., None, :k]) @ right[..., :k, :]
    return product if out is None else out.copy_(product)


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """A stable method gives the A_k of a matrix within p(m, n) eps |A| of A (Golub and Van Loan, Matrix Computations,
    4th ed., section 8.6), and S[k-1] / (S[k-1] - S[k]) is the condition number of A_k as a function of A (Vu,
    Chunikhina and Raich, Perturbation expansions and error bounds for the truncated SVD, 2021)."""
    if found := not_finite(result=returned):
        return found
    matrix, k = arguments["A"].double(), arguments["k"]
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    exact = (left[..., :k] * values[..., None, :k]) @ right[..., :k, :]
    following = values[..., k] if k < values.shape[-1] else torch.zeros_like(values[..., 0])
    condition = values[..., k - 1] / (values[..., k - 1] - following)
    bound = 6 * (max(matrix.shape[-2:]) + 2) * torch.finfo(torch.float32).eps * norm(matrix)
    return not_equal("A_k", returned.double(), exact, bound * condition[..., None, None])


def public(draw: Draw) -> Iterator[Case]:
    yield Case("square", (draw.normal(7, 7), 3))
    yield Case("batch of tall matrices", (draw.normal(2, 9, 4), 1))
    yield Case("wide", (draw.normal(5, 8), 2), {"full_matrices": True})


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(10, 13)
    yield Case("square of odd size", (draw.normal(9, 9), draw.size(2, 6)))
    tall = with_singular_values(draw, 2, n + 7, 6, values=geometric(6, 0.02))
    yield Case("tall, slow decay", (tall, draw.size(2, 4)))
    yield Case("one by one", (draw.normal(3, 1, 1), 1))
    yield Case("one row, one column", (draw.normal(1, n) if draw.size(0, 1) else draw.normal(n, 1), 1))
    yield Case("k is the full rank", (draw.normal(n, 5), 5))
    yield Case("rank is k already", (draw.normal(2, n, 3) @ draw.normal(2, 3, 7), 3))
    equal = torch.tensor([5.0, 5.0, 5.0, 2.0, 2.0, 2.0], dtype=torch.float64)
    yield Case("equal singular values", (with_singular_values(draw, 8, 6, values=equal), 3))
    spread = with_singular_values(draw, n, 8, values=1000 * geometric(8, 1e-5))
    yield Case("values of very different size", (spread, draw.size(1, 3)))
    yield Case("strided view", (draw.strided(draw.normal(6, n)), draw.size(1, 4)))
    out = draw.normal(2, 5, 7).transpose(-2, -1)
    yield Case(
        "transposed views in a batch, out stored by columns", (draw.normal(5, 7, 2).permute(2, 1, 0), 2), {"out": out}
    )


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("2048 of 16 x 16, k = 4", (draw.normal(2048, 16, 16), 4))
    yield Case("1024 of 32 x 32, k = 10", (draw.normal(1024, 32, 32), 10))
    yield Case("256 of 60 x 40, k = 5", (draw.normal(256, 60, 40), 5))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("4 of 8 x 8, k = 3", (draw.normal(4, 8, 8), 3))
    yield Case("3 of 15 x 7, k = 2", (draw.normal(3, 15, 7), 2))


def cost(A: torch.Tensor, k: int, *, full_matrices: bool = True, out: torch.Tensor | None = None) -> Cost:
    """Operations as in Golub and Van Loan, 4th ed., figure 8.6.1, and those of the product."""
    m, n = max(A.shape[-2:]), min(A.shape[-2:])
    count = A.numel() // (m * n)
    return Cost(2 * A.numel() * A.element_size(), count * (14 * m * n * n + 8 * n**3 + 2 * m * n * k))


TASK = Task(
    id="LinearAlgebra/low_rank_svd_approximation",
    entry="low_rank_svd_approximation",
    signature="low_rank_svd_approximation(A, k, *, full_matrices=True, out=None)",
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
