"""LinearAlgebra/svd: the singular value decomposition, full or reduced."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.spectral import geometric, norm, not_equal, not_finite, not_orthonormal, with_singular_values
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
Singular value decomposition of one matrix, or of a batch of them: A = U diag(S) V^T. `A` is float32 with shape
(*, m, n), m, n >= 1, and any strides; NaN or infinity does not occur. With k = min(m, n), the result is the tuple
(U, S, V) of float32 tensors:

    U   (*, m, m), or (*, m, k) with full_matrices=False; orthonormal columns, the left singular vectors
    S   (*, k), non-negative, in descending order
    V   (*, n, n), or (*, n, k) with full_matrices=False; orthonormal columns, the right singular vectors

V itself is returned, not its transpose: column j of V belongs to S[j] and to column j of U. Columns of U and V beyond
the first k complete an orthonormal basis. So do the columns that belong to singular values of zero (matrices without
full rank and zero matrices occur). Signs, and the choice of vectors where singular values are equal, are free.
Compute in float32 at least; TF32 is not enough.

Judged for each matrix, with p = 6 (max(m, n) + 2) and eps that of float32: the Frobenius norm of
U[:, :k] diag(S) V[:, :k]^T - A is at most p eps times that of A; |U^T U - I| and |V^T V - I| are at most p eps in each
element; S is non-negative and never increases.
"""


def reference(A: torch.Tensor, full_matrices: bool = True) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    left, values, right = torch.linalg.svd(A, full_matrices=full_matrices)
    return left, values, right.mH


def check(arguments: dict[str, Any], returned: tuple[torch.Tensor, ...], native: Any) -> str | None:
    """Golub and Van Loan, Matrix Computations, 4th ed., sections 5.4.8 and 8.6: the computed factors lie within a small
    multiple of eps of orthogonal ones, and their product within p(m, n) eps |A| of A. That bounds the errors of the
    singular values, too (Weyl, corollary 8.6.2)."""
    if found := not_finite(U=returned[0], S=returned[1], V=returned[2]):
        return found
    left, values, right = (factor.double() for factor in returned)
    if (values < 0).any():
        return f"S must not be negative, got {float(values.min()):.9g}"
    if (values.diff(dim=-1) > 0).any():
        return "S must be in descending order"
    matrix = arguments["A"].double()
    bound = 6 * (max(matrix.shape[-2:]) + 2) * torch.finfo(torch.float32).eps
    k = values.shape[-1]
    product = (left[..., :k] * values[..., None, :]) @ right[..., :k].mT
    return (
        not_equal("U diag(S) V^T must equal A", product, matrix, bound * norm(matrix))
        or not_orthonormal("U", left, bound)
        or not_orthonormal("V", right, bound)
    )


def public(draw: Draw) -> Iterator[Case]:
    yield Case("square", (draw.normal(6, 6),))
    yield Case("tall, reduced", (draw.normal(2, 9, 4),), {"full_matrices": False})
    yield Case("wide, full", (draw.normal(3, 8),))


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(10, 13)
    yield Case("square of odd size", (draw.normal(9, 9),), {"full_matrices": False})
    yield Case("tall, full", (draw.normal(2, n + 7, draw.size(4, 7)),))
    yield Case("wide, reduced", (draw.normal(draw.size(4, 7), n),), {"full_matrices": False})
    yield Case("one by one", (draw.normal(3, 1, 1),))
    yield Case("one row, one column", (draw.normal(1, n) if draw.size(0, 1) else draw.normal(n, 1),))
    values = torch.tensor([5.0, 5.0, 5.0, 2.0, 2.0, 0.5], dtype=torch.float64)
    yield Case("equal singular values", (with_singular_values(draw, 8, 6, values=values),), {"full_matrices": False})
    lacking = draw.normal(3, n, 3) @ draw.normal(3, 3, 7)
    lacking[1] = 0
    yield Case("without full rank, and zero", (lacking,))
    wide_range = with_singular_values(draw, n, 8, values=1000 * geometric(8, 1e-5))
    yield Case("values of very different size", (wide_range,))
    yield Case("strided view", (draw.strided(draw.normal(n, 6)),))
    yield Case("transposed views in a batch", (draw.normal(5, 7, 2).permute(2, 1, 0),), {"full_matrices": False})


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("2048 of 16 x 16", (draw.normal(2048, 16, 16),))
    yield Case("1024 of 32 x 32", (draw.normal(1024, 32, 32),))
    yield Case("256 of 60 x 40, reduced", (draw.normal(256, 60, 40),), {"full_matrices": False})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("4 of 8 x 8", (draw.normal(4, 8, 8),))
    yield Case("3 of 15 x 7, reduced", (draw.normal(3, 15, 7),), {"full_matrices": False})


def cost(A: torch.Tensor, full_matrices: bool = True) -> Cost:
    """Operations as in Golub and Van Loan, 4th ed., figure 8.6.1, for all three reduced factors."""
    m, n = max(A.shape[-2:]), min(A.shape[-2:])
    count = A.numel() // (m * n)
    factors = m * m + n + n * n if full_matrices else m * n + n + n * n
    return Cost(4 * count * (m * n + factors), count * (14 * m * n * n + 8 * n**3))


TASK = Task(
    id="LinearAlgebra/svd",
    entry="svd",
    signature="svd(A, full_matrices=True)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
)
