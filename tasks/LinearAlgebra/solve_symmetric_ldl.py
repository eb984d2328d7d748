"""LinearAlgebra/solve_symmetric_ldl: linear systems with symmetric or Hermitian indefinite matrices."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.spectral import hollow, indefinite, not_finite
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
Solves A x = b with a symmetric matrix A, or a Hermitian one (complex, with hermitian=True), by way of a pivoted
factorisation A = P L D L^T P^T (L D L^H for Hermitian A) with blocks of 1 x 1 and 2 x 2 on the diagonal of D.

`A` has shape (*, n, n), n >= 1, dtype float32 or complex64, and any strides; it is enough to read its lower triangle.
`b` has the same dtype and any strides, and one dimension less than A, (*, n), for one right-hand side of each matrix,
or as many, (*, n, m), for m >= 1 of them; the leading dimensions are those of A (no broadcasting). The result has the
shape and dtype of b. For real matrices `hermitian` makes no difference; complex ones are symmetric without it (A = A^T,
not conjugated). Matrices are indefinite and not close to singular; their diagonal may be zero, so that elimination
without exchanges or 2 x 2 blocks breaks down. NaN or infinity does not occur.
Compute in the dtype of A; TF32 is not enough. With `out` given, the solution is written into `out` (same shape and
dtype as b; stored by rows or by columns), and `out` itself is returned.

Judged by the residual of each right-hand side: no element of b - A x is larger than
8 (n + 2) eps (|A| |x| + |b|), with the maximum norms |x| and |b| of its column, the largest row sum |A| of absolute
values, and eps of float32.
"""


def reference(
    A: torch.Tensor, b: torch.Tensor, hermitian: bool = False, out: torch.Tensor | None = None
) -> torch.Tensor:
    single = b.dim() == A.dim() - 1
    packed, pivots = torch.linalg.ldl_factor(A, hermitian=hermitian)
    solution: torch.Tensor = torch.linalg.ldl_solve(packed, pivots, b[..., None] if single else b, hermitian=hermitian)
    solution = solution[..., 0] if single else solution
    return solution.contiguous() if out is None else out.copy_(solution)


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """The normwise backward error (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 7.1), which
    a factorisation with the pivots of Bunch and Kaufman keeps small (section 11.1.1)."""
    if found := not_finite(x=returned):
        return found
    wide = torch.complex128 if returned.is_complex() else torch.float64
    matrix, right, solution = arguments["A"].to(wide).tril(), arguments["b"].to(wide), returned.to(wide)
    mirrored = matrix.tril(-1)
    matrix = matrix + (mirrored.mH if arguments["hermitian"] else mirrored.mT)
    if right.dim() < matrix.dim():
        right, solution = right[..., None], solution[..., None]
    residual = (right - matrix @ solution).abs().amax(-2)
    rows = matrix.abs().sum(-1).amax(-1)[..., None]
    size = rows * solution.abs().amax(-2) + right.abs().amax(-2)
    excess = residual / (8 * (matrix.shape[-1] + 2) * torch.finfo(torch.float32).eps * size.clamp_min(1e-300))
    if (excess <= 1).all():
        return None
    wrong = int((excess > 1).sum())
    return (
        f"A x must equal b: {wrong} of {excess.numel()} right-hand sides have a residual above the bound, the worst "
        f"{float(excess.max()):.3g} times; |b - A x| / (|A| |x| + |b|) is {float((residual / size).max()):.3g} there"
    )


def pair(draw: Draw, *batch: int, n: int, m: int | None = None, **options: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """A matrix of each kind with right-hand sides."""
    matrix = indefinite(draw, *batch, n=n, **options)
    return matrix, sides(draw, *batch, n, *(() if m is None else (m,)), dtype=matrix.dtype)


def sides(draw: Draw, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    real = draw.normal(*shape)
    return torch.complex(real, draw.normal(*shape)) if dtype.is_complex else real


def public(draw: Draw) -> Iterator[Case]:
    yield Case("one right-hand side", pair(draw, n=6))
    yield Case("batch, several right-hand sides", pair(draw, 2, n=5, m=3))
    yield Case("Hermitian", pair(draw, n=7, m=2, dtype=torch.complex64, hermitian=True), {"hermitian": True})


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(7, 12)
    complex64 = torch.complex64
    yield Case("odd size, many right-hand sides", pair(draw, n=17, m=18))
    yield Case("complex symmetric", pair(draw, 2, n=n, dtype=complex64))
    yield Case("Hermitian batch", (*pair(draw, 2, n=n, m=1, dtype=complex64, hermitian=True), True))
    yield Case("batch of one right-hand side each", (*pair(draw, 3, n=3), True))
    yield Case("zero diagonal", (hollow(draw, 2, n=2 * (n // 2)), draw.normal(2, 2 * (n // 2), 4)))
    hollows = hollow(draw, n=8, dtype=complex64, hermitian=True)
    yield Case("zero diagonal, Hermitian", (hollows, sides(draw, 8, dtype=complex64)), {"hermitian": True})
    yield Case("one by one", (draw.uniform(4, 1, 1, low=-3.0, high=-0.5), draw.normal(4, 1)))
    signs = torch.tensor([-1.0, 1.0, -1.0])[:, None, None]
    yield Case("two by two", (hollow(draw, 3, n=2).abs() * signs, draw.normal(3, 2)))
    below = indefinite(draw, 2, n=7)
    yield Case("upper triangle not given", (below.tril() + draw.normal(2, 7, 7).triu(1), draw.normal(2, 7, 2)))
    matrix, right = pair(draw, n=n, m=5)
    yield Case("strided views", (draw.strided(matrix), draw.strided(right)))
    matrix = indefinite(draw, 2, n=6, dtype=complex64).transpose(-2, -1)
    right, out = (sides(draw, 2, 3, 6, dtype=complex64).transpose(-2, -1) for _ in range(2))
    yield Case("transposed views, out stored by columns", (matrix, right), {"out": out})


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("4096 of 16 x 16, one side", pair(draw, 4096, n=16))
    yield Case("1024 of 32 x 32, 8 sides", pair(draw, 1024, n=32, m=8))
    # torch solves no Hermitian system on a GPU
    yield Case("512 of 40 x 40, 4 sides, complex", pair(draw, 512, n=40, m=4, dtype=torch.complex64))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("3 of 9 x 9, 17 sides", pair(draw, 3, n=9, m=17))
    yield Case("3 of 9 x 9, Hermitian", (*pair(draw, 3, n=9, m=3, dtype=torch.complex64, hermitian=True), True))


def cost(A: torch.Tensor, b: torch.Tensor, hermitian: bool = False, out: torch.Tensor | None = None) -> Cost:
    n = A.shape[-1]
    count = A.numel() // (n * n)
    moved = count * n * (n + 1) // 2 * A.element_size() + 2 * b.numel() * b.element_size()
    return Cost(moved, (count * max(1, n**3 // 3) + 2 * n * b.numel()) * (4 if A.is_complex() else 1))


TASK = Task(
    id="LinearAlgebra/solve_symmetric_ldl",
    entry="solve_symmetric_ldl",
    signature="solve_symmetric_ldl(A, b, hermitian=False, out=None)",
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
