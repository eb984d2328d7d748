"""LinearAlgebra/eig: eigenvalues and eigenvectors of general real matrices."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.spectral import general, norm, not_equal, not_finite
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
Eigenvalues and right eigenvectors of one matrix, or of a batch of them: A V = V diag(w). `A` has shape (*, n, n),
n >= 1, dtype float32 or float64, and any strides; it is real and in general not symmetric, and NaN or infinity does not
occur. The result is the tuple (w, V), complex64 for float32 and complex128 for float64 (with real eigenvalues, too):

    w   (*, n), the eigenvalues: each as often as its multiplicity, conjugate pairs with both members, in any order
    V   (*, n, n), the eigenvectors as columns of 2-norm 1: column j belongs to w[j]; its phase is free

The matrices can be diagonalised, with well-conditioned eigenvectors. Eigenvalues may be equal (multiples of the
identity, zero matrices) or of equal absolute value (rotations, cyclic permutations); eigenvectors of equal eigenvalues
must be linearly independent. Compute in the dtype of A; TF32 is not enough.

Judged for each matrix, with p = 8 (n + 2) eps, eps of A's dtype, and the Frobenius norm |A|: the Frobenius norm of
A V - V diag(w) is at most p |A|; columns of V have length 1 within p; the eigenvalues, paired with the exact ones, are
off by at most p |A| times the condition number of the eigenvalue; and the smallest singular value of V is at least a
hundredth of that of the exact eigenvectors.
"""


def reference(A: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, vectors = torch.linalg.eig(A)
    return values, vectors


def check(arguments: dict[str, Any], returned: tuple[torch.Tensor, torch.Tensor], native: Any) -> str | None:
    """A backward stable method finds the eigenvalues of a matrix within p(n) eps |A| of A, which bounds the residual
    and moves an eigenvalue by its condition number times as much (Golub and Van Loan, Matrix Computations, 4th ed.,
    sections 7.2.2 and 7.5.6)."""
    if found := not_finite(w=returned[0], V=returned[1]):
        return found
    values, vectors = (result.to(torch.complex128) for result in returned)
    bound = 8 * (values.shape[-1] + 2) * torch.finfo(arguments["A"].dtype).eps
    matrix = arguments["A"].to(torch.complex128)
    lengths = torch.linalg.vector_norm(vectors, dim=-2)
    if ((lengths - 1).abs() > bound).any():
        worst = float(lengths.flatten()[(lengths - 1).abs().argmax()])
        return f"the columns of V must have length 1, one has {worst:.9g}"
    residual = not_equal(
        "V diag(w) must equal A V", vectors * values[..., None, :], matrix @ vectors, bound * norm(matrix)
    )
    return residual or _unlike(matrix, values, vectors, bound)


def _unlike(matrix: torch.Tensor, values: torch.Tensor, vectors: torch.Tensor, bound: float) -> str | None:
    """Whether the eigenvalues are not those of the matrix, each as often, or the eigenvectors are dependent."""
    exact, right = torch.linalg.eig(matrix)
    condition = torch.linalg.vector_norm(torch.linalg.inv(right), dim=-1)
    allowed = bound * norm(matrix)[..., 0] * condition + torch.finfo(torch.float32).tiny
    distance = (exact[..., :, None] - values[..., None, :]).abs()
    for i in range(values.shape[-1]):
        nearest = distance[..., i, :].min(-1)
        lost = nearest.values > allowed[..., i]
        if lost.any():
            one, error = exact[..., i][lost][0].item(), float(nearest.values[lost][0])
            return f"w lacks the eigenvalue {one:.6g}, as often as it occurs: the nearest left is {error:.3g} away"
        distance.scatter_(-1, nearest.indices[..., None, None].expand_as(distance[..., :1]), torch.inf)
    least, usual = torch.linalg.svdvals(vectors)[..., -1], torch.linalg.svdvals(right)[..., -1]
    if (least < 0.01 * usual).any():
        worst = float(least[least < 0.01 * usual].min())
        return f"the columns of V are not linearly independent: its smallest singular value is {worst:.3g}"
    return None


def public(draw: Draw) -> Iterator[Case]:
    values = torch.tensor([2.0, -1.0, 0.5, 0.2], dtype=torch.float64)
    yield Case("real eigenvalues", (general(draw, values=values),))
    yield Case("batch, conjugate pairs", (general(draw, 2, values=values[:3], block=turn(1.0, 2.0)),))
    yield Case("float64", (general(draw, values=values, dtype=torch.float64),))


def turn(re: float, im: float) -> torch.Tensor:
    """A block with the eigenvalues re + i im and re - i im."""
    return torch.tensor([[re, im], [-im, re]], dtype=torch.float64)


def spread(draw: Draw, n: int) -> torch.Tensor:
    """Eigenvalues of both signs that keep a distance from each other."""
    return torch.linspace(-2, 3, n, dtype=torch.float64) + draw.uniform(n, low=0.0, high=0.3, dtype=torch.float64)


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(3, 5)
    yield Case("odd size", (general(draw, values=spread(draw, 15), block=turn(0.5, 2.0)),))
    yield Case(
        "batch, float64", (general(draw, 2, values=spread(draw, n), block=turn(-1.0, 0.3), dtype=torch.float64),)
    )
    yield Case("one by one", (draw.normal(4, 1, 1),))
    yield Case("two by two, rotations", (torch.stack([turn(*draw.normal(2).tolist()).float() for _ in range(3)]),))
    yield Case("cyclic permutation", (torch.eye(n).roll(1, draw.size(0, 1)) * draw.pick([1.0, -2.5]),))
    symmetric = draw.normal(n, n)
    yield Case("symmetric", (symmetric + symmetric.T,))
    repeated = torch.stack(
        [torch.eye(n) * 3, torch.zeros(n, n), torch.diag(torch.tensor([2.0, 1.0, 2.0, 1.0, 1.0])[:n])]
    )
    yield Case("equal eigenvalues", (repeated,))
    sizes = torch.logspace(0, -4, n, dtype=torch.float64)
    yield Case("eigenvalues of very different size", (general(draw, values=500 * sizes),))
    triangular = general(draw, values=spread(draw, n)).triu() + torch.diag(spread(draw, n)).float()
    yield Case("triangular", (triangular,))
    yield Case("strided view", (draw.strided(general(draw, values=spread(draw, n))),))
    batch = general(draw, 2, values=spread(draw, 3), block=turn(0.1, 1.0), dtype=torch.float64)
    yield Case("transposed views in a batch, float64", (batch.transpose(-2, -1),))


def timed(draw: Draw) -> Iterator[Case]:
    for count, n, dtype in ((2048, 16, torch.float32), (1024, 12, torch.float64), (256, 32, torch.float32)):
        matrices = general(draw, count, values=spread(draw, n - 2), block=turn(1.0, 2.0), dtype=dtype)
        yield Case(f"{count} of {n} x {n}, {str(dtype)[6:]}", (matrices,))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("3 of 4 x 4", (general(draw, 3, values=spread(draw, 2), block=turn(1.0, 2.0)),))
    yield Case("4 of 3 x 3", (general(draw, 4, values=spread(draw, 3)),))


def cost(A: torch.Tensor) -> Cost:
    """Operations as in Golub and Van Loan, 4th ed., section 7.5.6, with the Schur vectors."""
    n = A.shape[-1]
    return Cost(A.numel() * A.element_size() * 3 + A.numel() // n * A.element_size() * 2, 25 * n * A.numel())


TASK = Task(
    id="LinearAlgebra/eig",
    entry="eig",
    signature="eig(A)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
)
