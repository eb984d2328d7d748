"""Matrices for the tasks on dense linear systems and triangular factors, and what is demanded of their results.

The bounds are those of Higham, Accuracy and Stability of Numerical Algorithms (2nd ed.). Its constants grow like n u
for rounding errors that all push the same way; here they are a multiple of sqrt(n) eps, which is what independent
errors add up to (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput.
41(5), 2019).
"""

from __future__ import annotations

import math

import torch

from tasks.draw import Draw


def matrices(draw: Draw, *shape: int, dtype: torch.dtype = torch.float32, condition: float = 10.0) -> torch.Tensor:
    """Matrices (*, m, n) of random directions, with singular values spread geometrically from 1/`condition` to 1."""
    *batch, m, n = shape
    k = min(m, n)
    left = torch.linalg.qr(draw.normal(*batch, m, k, dtype=torch.float64)).Q
    right = torch.linalg.qr(draw.normal(*batch, n, k, dtype=torch.float64)).Q
    values = torch.logspace(0, -1, k, base=condition, dtype=torch.float64)
    full: torch.Tensor = (left * values) @ right.mT
    return full.to(dtype).contiguous()


def tame(draw: Draw, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Well-conditioned matrices (*, n, n), cheap to draw: a random permutation with signs, and noise on top.

    Elimination has to exchange rows, and the determinant is of a size that float32 holds.
    """
    n = shape[-1]
    places = draw.normal(*shape[:-1]).argsort(-1)
    signs = 1.0 - 2.0 * draw.mask(*shape[:-1]).double()
    noise = draw.normal(*shape, dtype=torch.float64, std=0.4 / math.sqrt(n))
    return (torch.nn.functional.one_hot(places, n) * signs[..., None] + noise).to(dtype)


def dominant(draw: Draw, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Well-conditioned matrices (*, n, n) with a heavy diagonal: no row exchange is needed."""
    n = shape[-1]
    heavy = torch.diag_embed(draw.uniform(*shape[:-1], low=1.0, high=2.0, dtype=torch.float64))
    return (heavy + draw.normal(*shape, dtype=torch.float64, std=0.3 / math.sqrt(n))).to(dtype)


def unpivoted(A: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """L and U of A = L U by elimination without row exchanges (Higham, algorithm 9.2), which PyTorch lacks on a CPU.

    `A` is (*, m, n). A pivot of zero leaves NaN and infinity behind.
    """
    m, n = A.shape[-2:]
    work, steps = A.clone(), min(m, n)
    for k in range(min(steps, m - 1)):
        factor = work[..., k + 1 :, k] / work[..., k, k, None]
        work[..., k + 1 :, k] = factor
        work[..., k + 1 :, k + 1 :] -= factor[..., :, None] * work[..., k, None, k + 1 :]
    lower = work[..., :steps].tril(-1)
    lower.diagonal(dim1=-2, dim2=-1).fill_(1.0)
    return lower, work[..., :steps, :].triu()


def spread_of_determinant(A: torch.Tensor) -> torch.Tensor:
    """How far the determinant of A (*, n, n) can move, in units of eps, by an error as small as an LU or a QR
    factorisation makes: by a matrix of 2-norm c sqrt(n) eps ||A||, c = 4 (Higham, theorems 9.3 and 19.4).

    prod(s_i + e) - prod(s_i) over the singular values s is the bound of Ipsen and Rehman, Perturbation Bounds for
    Determinants and Characteristic Polynomials, SIAM J. Matrix Anal. Appl. 30(2), 2008, corollary 2.7. It holds for
    singular matrices, too.
    """
    values = torch.linalg.svdvals(A.double())
    eps = torch.finfo(A.dtype).eps
    error = 4 * math.sqrt(A.shape[-1]) * eps * values[..., :1]
    # by the telescoped sum, since the difference of two products would cancel
    above = torch.cat([torch.ones_like(error), (values + error).cumprod(-1)[..., :-1]], -1)
    below = torch.cat([torch.ones_like(error), values.flip(-1).cumprod(-1)[..., :-1]], -1).flip(-1)
    spread: torch.Tensor = (above * error * below).sum(-1) / eps
    return spread


def residual_fault(A: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> str | None:
    """What is wrong with `x` (*, n, k) as the solution of A x = b; None if each of its columns has a small residual.

    ||b - A x|| <= 4 (sqrt(n) + 1) eps (||A||_F ||x|| + ||b||) is a normwise backward error (Higham, theorem 7.1) as
    elimination with partial pivoting and Householder QR reach it in practice (sections 9.4 and 19.3). It doesn't
    depend on the condition of A; a product with a computed inverse misses it where A is ill-conditioned.
    """
    if not torch.isfinite(x).all():
        return "x holds NaN or infinity"
    eps, n = torch.finfo(x.dtype).eps, A.shape[-1]
    A, x, b = A.double(), x.double(), b.double()
    residual = (b - A @ x).norm(dim=-2)
    scale = torch.linalg.matrix_norm(A)[..., None] * x.norm(dim=-2) + b.norm(dim=-2)
    bound = 4 * (math.sqrt(n) + 1) * eps * scale
    if (residual <= bound).all():
        return None
    wrong = residual > bound
    worst = tuple(int(i) for i in torch.unravel_index((residual / scale).argmax(), residual.shape))
    return (
        f"A x must equal b: {int(wrong.sum())} of {wrong.numel()} columns of x are off by more than the bound; the "
        f"worst is {worst}, where |b - A x| is {float(residual[worst]):.3g} and may be {float(bound[worst]):.3g}"
    )


def worst_of(excess: torch.Tensor, values: torch.Tensor, wanted: torch.Tensor) -> str:
    """The element with the largest excess, as words: what stands there, where, and what should."""
    index = tuple(int(i) for i in torch.unravel_index(excess.argmax(), excess.shape))
    return f"{float(values[index]):.9g} at {index}, where {float(wanted[index]):.9g} belongs"
