"""LinearAlgebra/ldl_factor: the pivoted L D L^H factorisation of symmetric and Hermitian indefinite matrices."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.spectral import hollow, indefinite, norm, not_equal, not_finite
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
Factors symmetric matrices as A = L D L^T, or Hermitian ones (complex, with hermitian=True) as A = L D L^H, in the
format of LAPACK's `sytrf` and `hetrf` for the lower triangle. `A` has shape (*, n, n), n >= 1, dtype float32, float64
or complex64, and any strides; it is enough to read its lower triangle. For real matrices `hermitian` makes no
difference. Matrices are indefinite and not singular; their diagonal may be zero. NaN or infinity does not occur.

The result is the tuple (LD, pivots): LD with A's shape and dtype, pivots int32 of shape (*, n). D is block diagonal: a
chain of blocks of size 1 and size 2. The factorisation goes through them from the first to the last; the block that
begins at k (rows and columns counted from 0) has an exchange of two rows, the matrix P_k, and a matrix L_k. L is the
product of all of them in this order, P_0 L_0 ... P_k L_k ... (after a block of size 2 at k comes that at k + 2):

    size 1  pivots[k] = p + 1 > 0, where k <= p < n: P_k exchanges rows k and p (none if p = k).
            D[k, k] = LD[k, k].
            L_k is the identity, but with LD[i, k] at (i, k) for every i > k.
    size 2  pivots[k] = pivots[k+1] = -(p + 1) < 0, where k + 1 <= p < n: P_k exchanges rows k + 1 and p.
            D[k, k] = LD[k, k], D[k+1, k+1] = LD[k+1, k+1] and D[k+1, k] = LD[k+1, k]; D[k, k+1] is that last number
            once more (Hermitian: its conjugate).
            L_k is the identity, but with LD[i, k] at (i, k) and LD[i, k+1] at (i, k+1) for every i > k + 1.

In the usual elimination, which overwrites a copy of A step by step, this says: before step k exchange the two rows, and
the same two columns, of the part of the matrix that is still to be factored; leave the finished columns of LD to its
left as they are (unlike in an LU factorisation); then store the multipliers of step k below its block.
A stable choice of the pivots is needed, such as that of Bunch and Kaufman; which one is free. What stands above the
diagonal of LD is not judged, but is to be written. Compute in the dtype of A; TF32 is not enough.
`out`, if given, is a tuple of tensors for LD (stored by rows or by columns) and pivots (contiguous); they are written
and returned.

Judged by reconstruction: the Frobenius norm of L D L^H - A is at most 8 (n + 2) eps times that of A, eps of the dtype.
"""


def reference(
    A: torch.Tensor, hermitian: bool = False, out: tuple[torch.Tensor, torch.Tensor] | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    packed, pivots = torch.linalg.ldl_factor(A, hermitian=hermitian)
    return (packed, pivots) if out is None else (out[0].copy_(packed), out[1].copy_(pivots))


def check(arguments: dict[str, Any], returned: tuple[torch.Tensor, torch.Tensor], native: Any) -> str | None:
    """The bound is that of Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 11.4, for the
    small growth of elements that the matrices of the cases have with any stable choice of pivots."""
    packed, pivots = returned
    if found := not_finite(LD=packed.tril()) or bad_pivots(pivots):
        return found
    wide = torch.complex128 if packed.is_complex() else torch.float64
    conjugated = bool(arguments["hermitian"]) and packed.is_complex()
    matrix = arguments["A"].to(wide).tril()
    mirrored = matrix.tril(-1)
    matrix = matrix + (mirrored.mH if conjugated else mirrored.mT)
    n = matrix.shape[-1]
    product = multiplied(packed.to(wide).reshape(-1, n, n), pivots.reshape(-1, n), conjugated).view_as(matrix)
    bound = 8 * (n + 2) * torch.finfo(packed.dtype).eps * norm(matrix)
    return not_equal("L D L^H must equal A" if conjugated else "L D L^T must equal A", product, matrix, bound)


def bad_pivots(pivots: torch.Tensor) -> str | None:
    for row in pivots.reshape(-1, pivots.shape[-1]).tolist():
        k = 0
        while k < len(row):
            step = 1 if row[k] > 0 else 2
            if step == 2 and (k + 1 == len(row) or row[k + 1] != row[k]):
                return f"pivots: {row[k]} at {k} must stand there twice, for a block of 2 x 2; they are {row}"
            if not k + step <= abs(row[k]) <= len(row):
                return f"pivots: {row[k]} at {k} is not between {k + step} and n = {len(row)} in size; they are {row}"
            k += step
    return None


def multiplied(packed: torch.Tensor, pivots: torch.Tensor, conjugated: bool) -> torch.Tensor:
    """L D L^H of a batch, from the last block to the first; valid pivots."""
    count, n = pivots.shape
    lower, every = packed.tril(-1), torch.arange(count)
    product = torch.diag_embed(packed.diagonal(dim1=-2, dim2=-1))
    opens = torch.zeros(count, n, dtype=torch.bool)
    for k in range(n):
        opens[:, k] = (pivots[:, k] < 0) & ~(opens[:, k - 1] if k else torch.zeros(count, dtype=torch.bool))
    for k in range(n - 1):
        corner = torch.where(opens[:, k], lower[:, k + 1, k], 0)
        product[:, k + 1, k] = corner
        product[:, k, k + 1] = corner.conj() if conjugated else corner
        lower[:, k + 1, k] = torch.where(opens[:, k], 0, lower[:, k + 1, k])
    for k in reversed(range(n)):
        column = lower[:, :, k]
        product = product + column[:, :, None] * product[:, k : k + 1, :]
        other = column.conj() if conjugated else column
        product = product + product[:, :, k : k + 1] * other[:, None, :]
        order = torch.arange(n).repeat(count, 1)
        here = (k + opens[:, k].long()).clamp_max(n - 1)
        there = torch.where((pivots[:, k] > 0) | opens[:, k], pivots[:, k].abs().long() - 1, here)
        order[every, here], order[every, there] = there, here
        product = product.gather(1, order[:, :, None].expand_as(product))
        product = product.gather(2, order[:, None, :].expand_as(product))
    return product


def public(draw: Draw) -> Iterator[Case]:
    yield Case("float32", (indefinite(draw, n=6),))
    yield Case("batch, float64", (indefinite(draw, 3, n=5, dtype=torch.float64),))
    yield Case("Hermitian", (indefinite(draw, n=7, dtype=torch.complex64, hermitian=True),), {"hermitian": True})


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(14, 16)
    yield Case("odd size", (indefinite(draw, n=17, dtype=torch.float32),))
    yield Case("complex symmetric", (indefinite(draw, 2, n=7, dtype=torch.complex64),))
    yield Case(
        "Hermitian batch", (indefinite(draw, 2, n=n - 8, dtype=torch.complex64, hermitian=True),), {"hermitian": True}
    )
    yield Case("zero diagonal", (hollow(draw, 2, n=n - 9),))
    hollows = hollow(draw, n=n - 9, dtype=torch.complex64, hermitian=True)
    yield Case("zero diagonal, Hermitian", (hollows,), {"hermitian": True})
    tiny = hollow(draw, 2, n=8, dtype=torch.float64)
    tiny.diagonal(dim1=-2, dim2=-1).copy_(draw.uniform(2, 8, low=1e-12, high=1e-10, dtype=torch.float64))
    yield Case("tiny diagonal, float64", (tiny,))
    yield Case("one by one", (draw.uniform(4, 1, 1, low=-3.0, high=-0.5),))
    signs = torch.tensor([-1.0, 1.0, -1.0])[:, None, None]
    yield Case("two by two", (hollow(draw, 3, n=2).abs() * signs,))
    yield Case("diagonal", (torch.diag(draw.uniform(9, low=0.5, high=2.0) * (1 - 2 * (torch.arange(9) % 2))),))
    below = indefinite(draw, 2, n=7)
    yield Case("upper triangle not given", (below.tril() + draw.normal(2, 7, 7).triu(1),))
    yield Case("strided view", (draw.strided(indefinite(draw, n=n - 6, dtype=torch.float64)),))
    view = indefinite(draw, 2, n=6, dtype=torch.complex64).transpose(-2, -1)
    out = (draw.normal(2, 6, 6).to(torch.complex64).transpose(-2, -1), draw.integers(0, 9, 2, 6, dtype=torch.int32))
    yield Case("transposed view, out stored by columns", (view,), {"out": out})


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("4096 of 16 x 16", (indefinite(draw, 4096, n=16),))
    yield Case("1024 of 32 x 32, float64", (indefinite(draw, 1024, n=32, dtype=torch.float64),))
    hermitian = indefinite(draw, 512, n=40, dtype=torch.complex64, hermitian=True)
    yield Case("512 of 40 x 40, Hermitian", (hermitian,), {"hermitian": True})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("3 of 17 x 17", (indefinite(draw, 3, n=17),))
    yield Case(
        "3 of 12 x 12, Hermitian",
        (indefinite(draw, 3, n=12, dtype=torch.complex64, hermitian=True),),
        {"hermitian": True},
    )


def cost(A: torch.Tensor, hermitian: bool = False, out: tuple[torch.Tensor, torch.Tensor] | None = None) -> Cost:
    n = A.shape[-1]
    count = A.numel() // (n * n)
    moved = (n * (n + 1) // 2 + n * n) * A.element_size() + n * 4
    return Cost(count * moved, count * max(1, n**3 // 3 * (4 if A.is_complex() else 1)))


TASK = Task(
    id="LinearAlgebra/ldl_factor",
    entry="ldl_factor",
    signature="ldl_factor(A, hermitian=False, out=None)",
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
