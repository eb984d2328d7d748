"""LinearAlgebra/qr: an orthogonal and a triangular factor."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.linalg import dominant, matrices, worst_of
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
QR factors of one matrix, or of a batch of them. `A` has shape (*, m, n), 1 <= m, n <= 128, dtype float32 or float64,
any strides, and any rank. With k = min(m, n), the result is a tuple (Q, R) of tensors of A's dtype with A = Q R:

    mode="reduced":   Q (*, m, k) with orthonormal columns, R (*, k, n)
    mode="complete":  Q (*, m, m) orthogonal,               R (*, m, n)
    mode="r":         only R (*, k, n), as in "reduced"; Q is an empty tensor of shape (0,)

R is upper trapezoidal: what is below its diagonal is exactly 0. The signs of R's diagonal are free (with the columns
of Q to match), and where A has dependent columns any right choice will do. Compute in A's dtype. NaN and infinity do
not occur, and squares of elements neither overflow nor underflow.
With `out` given, a tuple of two tensors of the right shapes and dtype, the factors are written into them, and the
result is that tuple.

Judged, with t = 8 sqrt(m + n) eps, eps of the dtype, by
- reconstruction: column j of A - Q R has a norm of at most t |a_j|, a_j being column j of A;
- orthogonality: every element of Q^T Q - I is at most t, however ill-conditioned A is (plain Gram-Schmidt misses this);
- in mode "r": R^T R - A^T A at (i, j) is at most 2 t |a_i| |a_j|.
"""

Factors = tuple[torch.Tensor, torch.Tensor]


def reference(A: torch.Tensor, mode: str = "reduced", out: Factors | None = None) -> Factors:
    Q, R = torch.linalg.qr(A, mode)
    if out is None:
        return Q, R
    out[0].copy_(Q)
    out[1].copy_(R)
    return out


def check(arguments: dict[str, Any], returned: Factors, native: Factors) -> str | None:
    """The bounds are those of Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 19.4 and
    equation (19.13), a columnwise backward error and a distance from orthogonality that depend on the shape alone, with
    sqrt(m + n) for the shape's factor (see tasks/families/linalg.py)."""
    A, (Q, R) = arguments["A"].double(), (factor.double() for factor in returned)
    if not (torch.isfinite(Q).all() and torch.isfinite(R).all()):
        return "Q or R holds NaN or infinity"
    if R.tril(-1).any():
        return "R must be zero below its diagonal"
    tolerance = 8 * math.sqrt(sum(A.shape[-2:])) * torch.finfo(returned[1].dtype).eps
    norms = A.norm(dim=-2) + torch.finfo(torch.float64).tiny
    if arguments["mode"] == "r":
        excess = (R.mT @ R - A.mT @ A).abs() / (norms[..., :, None] * norms[..., None, :])
        fits = excess <= 2 * tolerance
        return None if fits.all() else "R^T R must equal A^T A; the worst is " + worst_of(excess, R.mT @ R, A.mT @ A)
    gram, identity = Q.mT @ Q, torch.eye(Q.shape[-1], dtype=Q.dtype).expand(*Q.shape[:-2], -1, -1)
    excess = (gram - identity).abs()
    if excess.max() > tolerance:
        return "the columns of Q must be orthonormal; the worst of Q^T Q is " + worst_of(excess, gram, identity)
    product = Q @ R
    if ((product - A).norm(dim=-2) <= tolerance * norms).all():
        return None
    excess = (product - A).abs() / norms[..., None, :]
    wrong = float(((product - A).norm(dim=-2) > tolerance * norms).double().mean())
    return f"Q R must equal A: {wrong:.0%} of its columns are off by more than the bound; the worst is " + worst_of(
        excess, product, A
    )


def public(draw: Draw) -> Iterator[Case]:
    yield Case("float32", (draw.normal(6, 6),))
    yield Case("tall, complete, float64", (draw.normal(2, 9, 5, dtype=torch.float64),), {"mode": "complete"})
    yield Case("only R", (draw.normal(8, 7),), {"mode": "r"})


def hidden(draw: Draw) -> Iterator[Case]:
    n = draw.size(17, 22)
    yield Case("one by one", (draw.normal(draw.size(2, 4), 1, 1),))
    yield Case("batch, tall", (draw.normal(2, n + draw.size(1, 8), n),))
    yield Case("wide", (draw.normal(n - 3, n + 4),))
    yield Case("ill-conditioned", (matrices(draw, n, n, condition=1e6),))
    dependent = draw.normal(2, n, n, dtype=torch.float64)
    dependent[0, :, 4] = dependent[0, :, 2]
    dependent[1, :, 0] = 0.0
    yield Case("dependent columns, float64", (dependent,))
    triangular = dominant(draw, 2, n, n).triu()
    triangular[1] += 1e-3 * draw.normal(n, n).tril(-1)
    yield Case("triangular, or nearly so", (triangular,))
    outliers = draw.normal(n, n - 3)
    outliers[:, draw.size(0, n - 4)] *= 1e5
    yield Case(
        "a column of outliers, out given", (outliers,), {"out": (draw.normal(n, n - 3), draw.normal(n - 3, n - 3))}
    )
    strided = draw.strided(draw.normal(n, draw.size(3, 9)))
    yield Case("strided view, complete", (strided,), {"mode": "complete"})
    yield Case("transposed view, only R, wide", (draw.normal(2, n, n - 8, dtype=torch.float64).mT,), {"mode": "r"})


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("8192 of 24 x 24", (draw.normal(8192, 24, 24),))
    yield Case("1024 of 64 x 48, float64", (draw.normal(1024, 64, 48, dtype=torch.float64),))
    yield Case("300 of 120 x 100", (draw.normal(300, 120, 100),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("4 of 20 x 20", (draw.normal(4, 20, 20),))
    yield Case("3 of 24 x 17, float64", (draw.normal(3, 24, 17, dtype=torch.float64),))


def cost(A: torch.Tensor, mode: str = "reduced", out: Factors | None = None) -> Cost:
    m, n = A.shape[-2:]
    k, count = min(m, n), A.numel() // (m * n)
    q_cols, r_rows = (m, m) if mode == "complete" else (0 if mode == "r" else k, k)
    flops = sum(4 * (m - i) * (n - i) for i in range(k)) + sum(
        4 * (m - i) * (q_cols - i) for i in range(min(k, q_cols))
    )
    return Cost(count * (m * n + m * q_cols + r_rows * n) * A.element_size(), count * flops)


TASK = Task(
    id="LinearAlgebra/qr",
    entry="qr",
    aliases=("qr_decomposition",),
    signature="qr(A, mode='reduced', out=None)",
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
