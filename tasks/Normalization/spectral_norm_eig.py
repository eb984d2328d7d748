"""Normalization/spectral_norm_eig: the largest absolute value of the eigenvalues of general matrices."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.spectral import general, orthogonal
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The largest absolute value among the eigenvalues of each matrix, its spectral radius:

    y = max_j |w_j|,    w_0, ..., w_(n-1) the complex eigenvalues of A

`A` is float32 with shape (*, n, n), n >= 1, and any strides; NaN or infinity does not occur. The result is float32 of
shape (*), without dimensions for a single matrix. The matrices are general: they need not be symmetric, their
eigenvalues are real or come in conjugate pairs, and several may have the largest absolute value (w and -w, a conjugate
pair, all of a rotation), so that vectors of a plain power iteration need not converge. The result is not the 2-norm
(the largest singular value), which is larger for such matrices. A zero matrix gives 0. Eigenvalues and eigenvectors
are well-conditioned: the matrices are far from those that can't be diagonalised.
Compute in float32 at least; TF32 is not enough. With `out` given, the result is written into `out` (contiguous, same
shape and dtype), and `out` itself is returned.

Judged against float64: the error is at most 4 eps y + 2 (n + 2) eps |A| c, with the Frobenius norm |A| and the largest
condition number c of an eigenvalue (the norm of its left eigenvector times that of its right one, over their product).
"""


def reference(A: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    if not bool(torch.isfinite(A).all()):
        raise ValueError("A must be finite")  # else eigvals ends the process, where `eig` refuses (MKL, torch 2.13)
    radius: torch.Tensor = torch.linalg.eigvals(A).abs().amax(-1)
    return radius if out is None else out.copy_(radius)


def magnitude(A: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """A change E of A moves an eigenvalue by |E| times its condition number, to first order (Golub and Van Loan, Matrix
    Computations, 4th ed., section 7.2.2)."""
    right = torch.linalg.eig(A.double()).eigenvectors
    left = torch.linalg.inv(right)
    condition = torch.linalg.vector_norm(left, dim=-1) * torch.linalg.vector_norm(right, dim=-2)
    size: torch.Tensor = torch.linalg.matrix_norm(A.double()) * condition.amax(-1)
    return size


def turned(draw: Draw, *batch: int, n: int, scale: float = 1.0) -> torch.Tensor:
    """Matrices whose eigenvalues all have the absolute value `scale`: random orthogonal ones, times it."""
    return (orthogonal(draw, *batch, n, n) * scale).float()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("random", (draw.normal(6, 6),))
    yield Case("batch", (draw.normal(5, 4, 4),))
    symmetric = draw.normal(7, 7)
    yield Case("symmetric", (symmetric + symmetric.T,))


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(9, 14)
    real = torch.linspace(-1.0, 0.5, n, dtype=torch.float64)
    yield Case("negative eigenvalue on top", (general(draw, 3, values=3 * real),))
    pair = torch.tensor([[1.0, 2.0], [-2.0, 1.0]], dtype=torch.float64)
    yield Case("conjugate pair on top", (general(draw, 2, values=real, block=pair),))
    opposite = torch.cat([real[:1], -real[:1], real[1:] / 2])
    yield Case("two of opposite sign on top", (general(draw, 2, values=5 * opposite),))
    yield Case("rotation", (turned(draw, 2, n=draw.size(5, 8), scale=draw.pick([0.3, 4.0])),))
    yield Case("one by one", (draw.normal(4, 1, 1),))
    several = draw.normal(3, n, n)
    several[1] = 0
    yield Case("zero matrix in a batch", (several,))
    yield Case("odd size", (draw.normal(17, 17),))
    yield Case("large and small", (torch.stack([draw.normal(n, n, std=500.0), draw.normal(n, n, std=2e-3)]),))
    yield Case("batch of two dimensions", (draw.normal(2, 3, 5, 5),))
    yield Case("strided view", (draw.strided(draw.normal(2, n, n)),))
    yield Case("transposed views, out", (draw.normal(3, n, n).transpose(-2, -1),), {"out": draw.normal(3)})


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("4096 of 16 x 16", (draw.normal(4096, 16, 16),))
    yield Case("1024 of 32 x 32", (draw.normal(1024, 32, 32),))
    yield Case("128 of 60 x 60", (draw.normal(128, 60, 60),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("16 of 12 x 12", (draw.normal(16, 12, 12),))
    yield Case("6 of 30 x 30", (draw.normal(6, 30, 30),))


def cost(A: torch.Tensor, *, out: torch.Tensor | None = None) -> Cost:
    """Operations as in Golub and Van Loan, 4th ed., section 7.5.6, for the eigenvalues alone."""
    n = A.shape[-1]
    return Cost(A.numel() * A.element_size() + A.numel() // (n * n) * A.element_size(), 10 * n * A.numel())


TASK = Task(
    id="Normalization/spectral_norm_eig",
    entry="spectral_norm_eig",
    signature="spectral_norm_eig(A, *, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda A, out: 2.0 * (A.shape[-1] + 2), magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
