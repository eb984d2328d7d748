"""LinearAlgebra/cholesky: the triangular factor of Hermitian positive definite matrices."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
Cholesky factor of one matrix, or of a batch of them. `A` has shape (*, n, n), n >= 1, and dtype float32, float64,
complex64 or complex128, with any strides. Each matrix is Hermitian (symmetric when real) and positive definite: this
may be assumed, nothing need be checked, and NaN or infinity does not occur.

    upper=False:  A = L L^H  with L lower triangular; it is enough to read the lower triangle of A
    upper=True:   A = U^H U  with U upper triangular; it is enough to read the upper triangle of A

The result has the shape and the dtype of A. Its diagonal is real and positive, and its other triangle is exactly zero.
Compute in the dtype of A (float64 parts for complex128). For n = 1 the factor is the square root.
With `out` given, the factor is written into `out` (same shape and dtype; its matrices may be stored by rows or by
columns), and `out` itself is returned.

Judged by reconstruction: |A - L L^H| at (i, j) may be at most 4 (n + 2) eps sqrt(a_ii a_jj), eps of the dtype.
"""


def reference(A: torch.Tensor, upper: bool = False, out: torch.Tensor | None = None) -> torch.Tensor:
    factor: torch.Tensor = torch.linalg.cholesky(A, upper=upper)
    return factor if out is None else out.copy_(factor)


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """The bound is that of Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 10.3:
    |A - L L^H| <= gamma_(n+1) |L| |L^H|, where (|L| |L^H|)_ij <= sqrt(a_ii a_jj); the factor leaves room for complex
    arithmetic, for square roots and divisions of 2 ulp, and for the reconstruction's own rounding."""
    exact = torch.complex128 if returned.is_complex() else torch.float64
    factor, matrix = returned.to(exact), arguments["A"].to(exact)
    name, side = ("U", "below") if arguments["upper"] else ("L", "above")
    if not torch.isfinite(torch.view_as_real(factor) if factor.is_complex() else factor).all():
        return f"{name} holds NaN or infinity"
    outside = factor.tril(-1) if arguments["upper"] else factor.triu(1)
    if outside.any():
        return f"{name} must be zero {side} its diagonal, got {_worst(outside.abs(), outside)}"
    diagonal = factor.diagonal(dim1=-2, dim2=-1)
    if (diagonal.real <= 0).any() or (diagonal.is_complex() and diagonal.imag.any()):
        return f"the diagonal of {name} must be real and positive"
    product = factor.mH @ factor if arguments["upper"] else factor @ factor.mH
    scale = matrix.diagonal(dim1=-2, dim2=-1).real.sqrt()
    bound = 4 * (matrix.shape[-1] + 2) * torch.finfo(returned.dtype).eps * scale[..., :, None] * scale[..., None, :]
    excess = (product - matrix).abs() / bound
    if (excess <= 1).all():
        return None
    formula = "U^H U" if arguments["upper"] else "L L^H"
    wrong = float((excess > 1).double().mean())
    return (
        f"{formula} must equal A: {wrong:.0%} of its elements are off by more than the bound; "
        f"the worst is {_worst(excess, product)}, where A holds {_at(excess, matrix)}"
    )


def _worst(size: torch.Tensor, values: torch.Tensor) -> str:
    index = tuple(int(i) for i in torch.unravel_index(size.argmax(), size.shape))
    return f"{_at(size, values)} at {index}"


def _at(size: torch.Tensor, values: torch.Tensor) -> str:
    return f"{values.flatten()[size.argmax()].item():.9g}"


def positive_definite(draw: Draw, *shape: int, dtype: torch.dtype, condition: float = 50.0) -> torch.Tensor:
    """Exactly Hermitian matrices of this shape with eigenvalues spread geometrically from 1/`condition` to 1."""
    start = draw.normal(*shape, dtype=torch.float64)
    if dtype.is_complex:
        start = torch.complex(start, draw.normal(*shape, dtype=torch.float64))
    vectors = torch.linalg.qr(start).Q
    values = torch.logspace(0, -1, shape[-1], base=condition, dtype=torch.float64)
    matrix = (vectors * values) @ vectors.mH
    hermitian: torch.Tensor = (matrix + matrix.mH) / 2
    return hermitian.to(dtype).resolve_conj().contiguous()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("float32", (positive_definite(draw, 5, 5, dtype=torch.float32),))
    yield Case("upper factor", (positive_definite(draw, 3, 7, 7, dtype=torch.float64),), {"upper": True})
    yield Case("complex", (positive_definite(draw, 9, 9, dtype=torch.complex64),))


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(17, 22)
    yield Case("one by one", (positive_definite(draw, draw.size(2, 5), 1, 1, dtype=torch.float64),))
    yield Case("batch, upper", (positive_definite(draw, 2, n, n, dtype=torch.float32),), {"upper": True})
    ill = positive_definite(draw, 1, 1, n, n, dtype=torch.float64, condition=1e10)
    yield Case("ill-conditioned", (ill,))
    strided = draw.strided(positive_definite(draw, n, n, dtype=torch.complex128))
    yield Case("strided view", (strided,), {"upper": True})
    batch = positive_definite(draw, 2, n - 8, n - 8, dtype=torch.complex64)
    out = draw.normal(2, n - 8, n - 8).to(torch.complex64).transpose(-2, -1)
    yield Case("transposed view, out stored by columns", (batch.transpose(-2, -1),), {"out": out})


def timed(draw: Draw) -> Iterator[Case]:
    for count, n, dtype in ((2048, 32, torch.float32), (512, 60, torch.float64), (256, 64, torch.complex64)):
        yield Case(f"{count} of {n} x {n}, {str(dtype)[6:]}", (positive_definite(draw, count, n, n, dtype=dtype),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("4 of 20 x 20", (positive_definite(draw, 4, 20, 20, dtype=torch.float32),))
    yield Case("3 of 17 x 17, complex", (positive_definite(draw, 3, 17, 17, dtype=torch.complex64),))


def cost(A: torch.Tensor, upper: bool = False, out: torch.Tensor | None = None) -> Cost:
    n = A.shape[-1]
    count = A.numel() // (n * n)
    triangle = n * (n + 1) // 2
    flops = n**3 // 3 * (4 if A.is_complex() else 1)
    return Cost(count * (triangle + n * n) * A.element_size(), count * max(flops, 1))


TASK = Task(
    id="LinearAlgebra/cholesky",
    entry="cholesky",
    signature="cholesky(A: torch.Tensor, upper: bool=False, out: torch.Tensor=None)",
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
