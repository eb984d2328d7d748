"""Fusion/fused_svd_reconstruct: a singular value decomposition, and the matrix put together again from it."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.spectral import geometric, norm, not_equal, not_finite, with_singular_values
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
Decomposes each matrix into its singular values and vectors, A = U diag(S) V^T, and returns the product of the three
factors. `A` is float32 with shape (*, m, n), m, n >= 1, and any strides; the result has the same shape and dtype.

In exact arithmetic the result is A again; what is asked for is the decomposition and the product, fused: the factors
need not be written to memory. So a matrix that holds a NaN or an infinity, which every singular value and vector then
depends on, gives NaN in all of its elements (other matrices of the batch stay as they are).
Compute in float32 at least; TF32 is not enough. Matrices without full rank and zero matrices occur.

Judged for each matrix: the Frobenius norm of the difference from A is at most 6 (max(m, n) + 2) eps times that of A,
eps of float32.
"""


def reference(A: torch.Tensor) -> torch.Tensor:
    finite = torch.isfinite(A).all(-1, keepdim=True).all(-2, keepdim=True)
    left, values, right = torch.linalg.svd(torch.where(finite, A, 0), full_matrices=False)
    return torch.where(finite, (left * values[..., None, :]) @ right, math.nan)


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """Backward stability of the decomposition: Golub and Van Loan, Matrix Computations, 4th ed., section 8.6."""
    spoilt = native.isnan().any(-1, keepdim=True).any(-2, keepdim=True)
    if not (returned.isnan() | ~spoilt).all():
        return "a matrix with NaN or infinity must give NaN in all of its elements"
    product, matrix = (torch.where(spoilt, 0, x) for x in (returned, arguments["A"]))
    if found := not_finite(result=product):
        return found
    bound = 6 * (max(matrix.shape[-2:]) + 2) * torch.finfo(torch.float32).eps
    matrix = matrix.double()
    return not_equal("U diag(S) V^T must equal A", product.double(), matrix, bound * norm(matrix))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("square", (draw.normal(7, 7),))
    yield Case("batch of tall matrices", (draw.normal(2, 9, 4),))
    yield Case("wide", (draw.normal(3, 8),))


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(10, 13)
    yield Case("square of odd size", (draw.normal(9, 9),))
    yield Case("tall", (draw.normal(2, n + 7, draw.size(4, 7)),))
    yield Case("one by one", (draw.normal(3, 1, 1),))
    yield Case("one row, one column", (draw.normal(1, n) if draw.size(0, 1) else draw.normal(n, 1),))
    lacking = draw.normal(3, n, 3) @ draw.normal(3, 3, 7)
    lacking[1] = 0
    yield Case("without full rank, and zero", (lacking,))
    yield Case("values of very different size", (with_singular_values(draw, n, 8, values=1000 * geometric(8, 1e-5)),))
    yield Case("strided view", (draw.strided(draw.normal(6, n)),))
    yield Case("transposed views in a batch", (draw.normal(5, 7, 2).permute(2, 1, 0),))
    special = draw.normal(4, 7, 5)
    special[0, draw.size(0, 6), draw.size(0, 4)] = math.nan
    special[2, draw.size(0, 6), draw.size(0, 4)] = math.inf * (1 - 2 * draw.size(0, 1))
    yield Case("NaN and infinity", (special,))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("2048 of 16 x 16", (draw.normal(2048, 16, 16),))
    yield Case("1024 of 32 x 32", (draw.normal(1024, 32, 32),))
    yield Case("256 of 60 x 40", (draw.normal(256, 60, 40),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("4 of 8 x 8", (draw.normal(4, 8, 8),))
    yield Case("3 of 15 x 7", (draw.normal(3, 15, 7),))


def cost(A: torch.Tensor) -> Cost:
    """Operations as in Golub and Van Loan, 4th ed., figure 8.6.1, and those of the product."""
    m, n = max(A.shape[-2:]), min(A.shape[-2:])
    count = A.numel() // (m * n)
    return Cost(2 * A.numel() * A.element_size(), count * (16 * m * n * n + 8 * n**3))


TASK = Task(
    id="Fusion/fused_svd_reconstruct",
    entry="fused_svd_reconstruct",
    signature="fused_svd_reconstruct(A: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
)
