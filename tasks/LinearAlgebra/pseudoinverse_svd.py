"""LinearAlgebra/pseudoinverse_svd: the Moore-Penrose inverse by singular value decomposition, with a cutoff."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.spectral import geometric, norm, not_equal, not_finite, with_singular_values
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
Moore-Penrose inverse of each matrix: with A = U diag(S) V^T and S in descending order,

    A^+ = sum over the j with S[j] > rcond * S[0] of  V[:, j] U[:, j]^T / S[j]

so singular values up to `rcond` times the largest count as zero, and the inverse of a zero matrix is zero. `A` has
shape (*, m, n), m, n >= 1, dtype float32 or float64, and any strides; NaN or infinity does not occur. The result has
shape (*, n, m) and A's dtype; compute in that dtype (TF32 is not enough).
No singular value lies close to the cutoff, and those above it are at least 1e-3 of the largest (1e-6 for float64).
`full_matrices` says which singular vectors a decomposition would compute (all of them, or the first min(m, n));
it makes no difference to the result.
With `out` given, the result is written into `out` (shape (*, n, m), same dtype; its matrices may be stored by rows or
by columns), and `out` itself is returned.

Judged for each matrix, with s the smallest S[j] above the cutoff and t the largest below it (or 0): the Frobenius norm
of the difference from the exact inverse is at most 6 (max(m, n) + 2) eps |A| / (s (s - t)), |A| the Frobenius norm, eps
of the dtype.
"""


def reference(
    A: torch.Tensor, full_matrices: bool = True, rcond: float = 1e-15, out: torch.Tensor | None = None
) -> torch.Tensor:
    left, values, right = torch.linalg.svd(A, full_matrices=full_matrices)
    k = values.shape[-1]
    kept = values > rcond * values[..., :1]
    inverse = torch.where(kept, 1 / torch.where(kept, values, 1), 0)
    product: torch.Tensor = (right[..., :k, :].mH * inverse[..., None, :]) @ left[..., :k].mH
    return product if out is None else out.copy_(product)


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """Wedin's theorem for a change of the matrix that keeps its rank (Golub and Van Loan, Matrix Computations, 4th ed.,
    section 5.5.5; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., problem 20.2): |A^+| |B^+| |A - B|
    times a small constant. The change that a stable decomposition makes is p(m, n) eps |A|; cutting off what is left
    magnifies it by s / (s - t) at most (Vu, Chunikhina and Raich, 2021)."""
    if found := not_finite(result=returned):
        return found
    matrix = arguments["A"].double()
    values = torch.linalg.svdvals(matrix)
    kept = values > arguments["rcond"] * values[..., :1]
    infinity = torch.full_like(values, torch.inf)
    least = torch.where(kept, values, infinity).amin(-1)
    cut = torch.where(kept, 0, values).amax(-1)
    exact = reference(matrix, rcond=arguments["rcond"])
    bound = 6 * (max(matrix.shape[-2:]) + 2) * torch.finfo(returned.dtype).eps * norm(matrix)
    return not_equal("A^+", returned.double(), exact, bound / (least * (least - cut))[..., None, None])


def matrices(draw: Draw, *shape: int, last: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Singular values that fall geometrically from 3 to 3 * `last`."""
    return with_singular_values(draw, *shape, values=3 * geometric(min(shape[-2:]), last), dtype=dtype)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("square", (matrices(draw, 7, 7, last=0.1),))
    yield Case("batch of tall matrices, float64", (matrices(draw, 2, 9, 4, last=0.01, dtype=torch.float64),))
    yield Case("wide, with cutoff", (matrices(draw, 5, 8, last=1e-2),), {"rcond": 0.2})


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(10, 13)
    yield Case("square of odd size", (matrices(draw, 9, 9, last=0.02),))
    yield Case("tall", (matrices(draw, 2, n + 7, draw.size(4, 7), last=0.1),), {"full_matrices": True})
    yield Case("one by one", (draw.uniform(3, 1, 1, low=-9.0, high=-0.1),))
    yield Case("one row, one column", (draw.normal(1, n) if draw.size(0, 1) else draw.normal(n, 1),))
    lacking = draw.normal(3, n, 3, dtype=torch.float64) @ draw.normal(3, 3, 7, dtype=torch.float64)
    lacking[1] = 0
    yield Case("without full rank, and zero, float64", (lacking,), {"rcond": 1e-9})
    yield Case("cutoff above the middle", (matrices(draw, 2, 8, 6, last=1e-3),), {"rcond": 0.03})
    ill = matrices(draw, n, 8, last=1e-5, dtype=torch.float64)
    yield Case("ill-conditioned, float64", (ill,))
    values = torch.tensor([5.0, 5.0, 5.0, 2.0, 2.0, 2.0], dtype=torch.float64)
    equal = with_singular_values(draw, 8, 6, values=values)
    yield Case("equal singular values", (equal,), {"rcond": draw.pick([0.1, 0.7])})
    yield Case("strided view", (draw.strided(matrices(draw, 6, n, last=0.1)),))
    batch = matrices(draw, 2, 5, 7, last=0.1).transpose(-2, -1)
    out = draw.normal(2, 7, 5).transpose(-2, -1)
    yield Case("transposed views in a batch, out stored by columns", (batch,), {"out": out})


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("2048 of 16 x 16", (matrices(draw, 2048, 16, 16, last=0.05),))
    yield Case("1024 of 32 x 32, cutoff", (matrices(draw, 1024, 32, 32, last=0.01),), {"rcond": 0.1})
    yield Case("256 of 60 x 40", (matrices(draw, 256, 60, 40, last=0.05),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("4 of 8 x 8", (matrices(draw, 4, 8, 8, last=0.1),))
    yield Case("3 of 15 x 7", (matrices(draw, 3, 15, 7, last=0.1),))


def cost(A: torch.Tensor, full_matrices: bool = True, rcond: float = 1e-15, out: torch.Tensor | None = None) -> Cost:
    """Operations as in Golub and Van Loan, 4th ed., figure 8.6.1, and those of the product."""
    m, n = max(A.shape[-2:]), min(A.shape[-2:])
    count = A.numel() // (m * n)
    return Cost(2 * A.numel() * A.element_size(), count * (16 * m * n * n + 8 * n**3))


TASK = Task(
    id="LinearAlgebra/pseudoinverse_svd",
    entry="pseudoinverse_svd",
    signature="pseudoinverse_svd(A, full_matrices=True, rcond=1e-15, out=None)",
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
