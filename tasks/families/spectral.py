"""Matrices with a given spectrum, and the checks that singular value and eigenvalue tasks share."""

from __future__ import annotations

import math

import torch

from tasks.draw import Draw


def orthogonal(draw: Draw, *shape: int) -> torch.Tensor:
    """Random float64 matrices with orthonormal columns: (*, rows, columns), rows >= columns."""
    basis: torch.Tensor = torch.linalg.qr(draw.normal(*shape, dtype=torch.float64)).Q
    return basis


def with_singular_values(
    draw: Draw, *shape: int, values: torch.Tensor, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Matrices of shape (*, m, n) with these min(m, n) singular values, and random singular vectors."""
    *batch, m, n = shape
    left, right = orthogonal(draw, *batch, m, min(m, n)), orthogonal(draw, *batch, n, min(m, n))
    return ((left * values.double()) @ right.mT).to(dtype)


def symmetric(draw: Draw, *batch: int, values: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Exactly symmetric matrices with these eigenvalues (but for the rounding to `dtype`), and random eigenvectors."""
    n = values.shape[-1]
    vectors = orthogonal(draw, *batch, n, n)
    matrix = (vectors * values.double()) @ vectors.mT
    return ((matrix + matrix.mT) / 2).to(dtype)


def general(
    draw: Draw,
    *batch: int,
    values: torch.Tensor,
    block: torch.Tensor | None = None,
    condition: float = 3.0,
    dtype: torch.dtype = torch.float32,
) -> torch.Tensor:
    """X D X^-1 with D = diag(`values`), and a real 2 x 2 `block` with a conjugate pair of eigenvalues at its end; the
    singular values of X fall from 1 to 1 / `condition`."""
    inner = torch.diag_embed(values.double())
    if block is not None:
        size = inner.shape[-1]
        inner = torch.nn.functional.pad(inner, (0, 2, 0, 2))
        inner[size:, size:] = block.double()
    n = inner.shape[-1]
    basis = with_singular_values(draw, *batch, n, n, values=geometric(n, 1 / condition), dtype=torch.float64)
    matrix: torch.Tensor = basis @ inner @ torch.linalg.inv(basis)
    return matrix.to(dtype)


def indefinite(
    draw: Draw,
    *batch: int,
    n: int,
    dtype: torch.dtype = torch.float32,
    hermitian: bool = False,
    condition: float = 20.0,
) -> torch.Tensor:
    """Exactly symmetric matrices (complex ones Hermitian if asked for) with half of their eigenvalues negative; of
    complex symmetric ones, these are their Takagi values. Largest 1, smallest 1 / `condition`."""
    start = draw.normal(*batch, n, n, dtype=torch.float64)
    if dtype.is_complex:
        start = torch.complex(start, draw.normal(*batch, n, n, dtype=torch.float64))
    basis = torch.linalg.qr(start).Q
    values = geometric(n, 1 / condition) * (1 - 2 * (torch.arange(n) % 2))
    other = basis.mH if hermitian else basis.mT
    matrix = (basis * values) @ other
    mirrored = matrix.mH if hermitian else matrix.mT
    even: torch.Tensor = (matrix + mirrored) / 2
    return even.resolve_conj().to(dtype).contiguous()


def hollow(
    draw: Draw, *batch: int, n: int, dtype: torch.dtype = torch.float32, hermitian: bool = False
) -> torch.Tensor:
    """Symmetric or Hermitian matrices with a diagonal of zeros: elimination needs blocks of 2 x 2."""
    matrix = indefinite(draw, *batch, n=n, dtype=dtype, hermitian=hermitian, condition=2.0)
    matrix.diagonal(dim1=-2, dim2=-1).zero_()
    return matrix


def geometric(n: int, last: float) -> torch.Tensor:
    """n values that fall geometrically from 1 to `last`."""
    return torch.logspace(0, math.log10(last), n, dtype=torch.float64)


def norm(matrices: torch.Tensor) -> torch.Tensor:
    """The Frobenius norm of each matrix, with its dimensions kept."""
    size: torch.Tensor = torch.linalg.matrix_norm(matrices, keepdim=True)
    return size


def not_finite(**results: torch.Tensor) -> str | None:
    """Which of the named results holds NaN or infinity."""
    for name, value in results.items():
        parts = torch.view_as_real(value) if value.is_complex() else value
        if not torch.isfinite(parts).all():
            return f"{name} holds NaN or infinity"
    return None


def not_equal(what: str, got: torch.Tensor, want: torch.Tensor, bound: torch.Tensor) -> str | None:
    """Says where `got` is off if, in any matrix, the Frobenius norm of the difference is above that matrix's bound."""
    error = (got - want).abs()
    excess = norm(error) / (bound + torch.finfo(torch.float32).tiny)
    if (excess <= 1).all():
        return None
    matrix = torch.nan_to_num(excess, math.inf).flatten().argmax()
    number = int(matrix)
    flat = error.reshape(-1, *error.shape[-2:])[number]
    row, column = divmod(int(torch.nan_to_num(flat, math.inf).argmax()), flat.shape[-1])
    have, meant = (x.expand_as(error).reshape(-1, *error.shape[-2:])[number, row, column].item() for x in (got, want))
    which = f" of matrix {number}" if excess.numel() > 1 else ""
    return (
        f"{what}: the norm of the difference{which} is {float(excess.flatten()[number]):.3g} times the bound; "
        f"the worst element, ({row}, {column}), is {have:.9g} and should be {meant:.9g}"
    )


def not_orthonormal(name: str, basis: torch.Tensor, bound: float) -> str | None:
    """Whether the columns of a basis fail to be orthonormal: |Q^H Q - I| is at most `bound` in each element."""
    product = basis.mH @ basis
    unit = torch.eye(product.shape[-1], dtype=product.dtype)
    error = (product - unit).abs()
    if (error <= bound).all():
        return None
    worst = float(torch.nan_to_num(error, math.inf).max())
    return f"the columns of {name} are not orthonormal: {name}^T {name} - I has an element of {worst:.3g}"
