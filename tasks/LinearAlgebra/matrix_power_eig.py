"""LinearAlgebra/matrix_power_eig: a real power of symmetric matrices, by way of their eigenvalues."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.spectral import geometric, norm, not_equal, not_finite, symmetric
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
Real power of symmetric matrices: with A = V diag(w) V^T, V orthogonal,

    A^k = V diag(w[0]^k, ..., w[n-1]^k) V^T

`A` has shape (*, n, n), n >= 1, dtype float32 or float64, and any strides, and is exactly symmetric; NaN or infinity
does not occur. `k` is a Python number, whole or not, of either sign, not 0. The result has A's shape and dtype; compute
in that dtype (TF32 is not enough).

A negative eigenvalue has its power for whole k (the sign is that of w for odd k). For other k it has none, and a matrix
with a negative eigenvalue gives NaN in all of its elements; other matrices of the batch stay as they are. Eigenvalues
of zero occur for k = 1, 2, ... only; no other eigenvalue is close to zero. Eigenvalues may be equal.
With `out` given, the result is written into `out` (same shape and dtype; its matrices may be stored by rows or by
columns), and `out` itself is returned.

Judged for each matrix: the Frobenius norm of the difference from the exact power is at most 2 (n + 2) eps times
|A| d + r, with d the largest divided difference (w[i]^k - w[j]^k) / (w[i] - w[j]), or derivative, of the powers, r the
norm of the numbers w[j]^k (1 + |k log |w[j]||), |A| the Frobenius norm, and eps of the dtype.
"""


def reference(A: torch.Tensor, k: float, *, out: torch.Tensor | None = None) -> torch.Tensor:
    values, vectors = torch.linalg.eigh(A)
    power: torch.Tensor = (vectors * values.pow(k)[..., None, :]) @ vectors.mT
    return power if out is None else out.copy_(power)


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """A change E of A changes A^k by at most max |f[wi, wj]| |E| in the Frobenius norm, f[wi, wj] being the divided
    differences of f(w) = w^k (Higham, Functions of Matrices, theorem 3.11 and corollary 3.16); a power rounded as an
    exponential of k log w has an error of |k log w| eps besides."""
    k, matrix = arguments["k"], arguments["A"].double()
    exact = reference(matrix, k)
    spoilt = exact.isnan().any(-1, keepdim=True).any(-2, keepdim=True)
    if not (returned.isnan() | ~spoilt).all():
        return "a matrix with a negative eigenvalue must give NaN in all of its elements when k is not whole"
    result, exact = torch.where(spoilt, 0, returned.double()), torch.where(spoilt, 0, exact)
    if found := not_finite(result=result):
        return found
    values = torch.linalg.eigvalsh(matrix)
    steepest = _slopes(values, k).abs().nan_to_num(0.0, 0.0, 0.0).amax((-2, -1))
    powers = values.pow(k).abs() * (1 + (k * values.abs().clamp_min(1e-300).log()).abs())
    bound = 2 * (values.shape[-1] + 2) * torch.finfo(returned.dtype).eps
    rounding = torch.linalg.vector_norm(powers.nan_to_num(0.0), dim=-1)[..., None, None]
    return not_equal("A^k", result, exact, bound * (norm(matrix) * steepest[..., None, None] + rounding))


def _slopes(values: torch.Tensor, k: float) -> torch.Tensor:
    """Divided differences of w^k; the derivative where two values nearly agree."""
    step = values[..., :, None] - values[..., None, :]
    close = step.abs() <= 1e-6 * values.abs().amax(-1)[..., None, None]
    middle = (values[..., :, None] + values[..., None, :]) / 2
    power = values.pow(k)
    return torch.where(close, k * middle.pow(k - 1), (power[..., :, None] - power[..., None, :]) / step)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("square root", (symmetric(draw, values=geometric(7, 0.05)), 0.5))
    yield Case("batch, inverse, float64", (symmetric(draw, 2, values=geometric(5, 0.1), dtype=torch.float64), -1.0))
    signs = torch.tensor([1.0, -1, 1, -1, 1, 1], dtype=torch.float64)
    yield Case("cube, eigenvalues of both signs", (symmetric(draw, values=2 * geometric(6, 0.1) * signs), 3))


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(5, 8)
    positive = draw.uniform(n, low=0.3, high=3.0, dtype=torch.float64)
    signs = 1 - 2 * (torch.arange(n) % 2).double()
    yield Case("positive, power not whole", (symmetric(draw, 2, values=positive), draw.pick([-0.75, 0.3, 1.6])))
    yield Case("odd size", (symmetric(draw, values=geometric(17, 0.1)), -0.5))
    yield Case("square, both signs", (symmetric(draw, values=positive * signs), 2.0))
    yield Case("inverse, both signs", (symmetric(draw, values=positive * signs), -1))
    yield Case("cube, both signs", (symmetric(draw, values=positive * signs), 3.0))
    lacking = torch.cat([positive * signs, torch.zeros(2, dtype=torch.float64)])
    yield Case("without full rank, power 2", (symmetric(draw, values=lacking), 2))
    mixed = torch.stack([positive, positive * signs, positive.flip(0)])
    yield Case("negative eigenvalues, power not whole", (symmetric(draw, 3, values=mixed[:, None, :]), 0.5))
    yield Case("one by one", (draw.uniform(3, 1, 1, low=0.2, high=5.0), draw.pick([0.7, -1.3])))
    equal = torch.tensor([4.0, 4.0, 4.0, 1.0, 1.0, 0.25], dtype=torch.float64)
    yield Case("equal eigenvalues, float64", (symmetric(draw, values=equal, dtype=torch.float64), 0.3))
    yield Case("diagonal", (torch.diag(positive).float(), 1.5))
    view = draw.strided(symmetric(draw, values=positive, dtype=torch.float64))
    yield Case("strided view, float64", (view, draw.pick([-2.5, 2.5])))
    out = draw.normal(2, n, n).transpose(-2, -1)
    yield Case("out stored by columns", (symmetric(draw, 2, values=positive), -0.5), {"out": out})


def timed(draw: Draw) -> Iterator[Case]:
    for count, n, k, dtype in (
        (2048, 16, 0.5, torch.float32),
        (1024, 32, -0.5, torch.float32),
        (256, 40, 1.7, torch.float64),
    ):
        values = draw.uniform(n, low=0.2, high=4.0, dtype=torch.float64)
        yield Case(
            f"{count} of {n} x {n}, k = {k}, {str(dtype)[6:]}", (symmetric(draw, count, values=values, dtype=dtype), k)
        )


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("4 of 8 x 8", (symmetric(draw, 4, values=geometric(8, 0.1)), 0.5))
    yield Case("3 of 7 x 7", (symmetric(draw, 3, values=geometric(7, 0.1)), -1.5))


def cost(A: torch.Tensor, k: float, *, out: torch.Tensor | None = None) -> Cost:
    """Operations as in Golub and Van Loan, 4th ed., section 8.3.5 (9 n^3), and those of the product."""
    n = A.shape[-1]
    return Cost(2 * A.numel() * A.element_size(), A.numel() * 11 * n)


TASK = Task(
    id="LinearAlgebra/matrix_power_eig",
    entry="matrix_power_eig",
    signature="matrix_power_eig(A: torch.Tensor, k: float, *, out: torch.Tensor=None)",
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
