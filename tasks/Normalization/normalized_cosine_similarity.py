"""Normalization/normalized_cosine_similarity: the cosine of pairs of vectors that are first divided by a p-norm."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Cosine similarity along dimension `dim` of two tensors that are both normalised along it first:

    u = x1 / max(||x1||_p, eps_norm),    v = x2 / max(||x2||_p, eps_norm),    p = p_norm
    result = sum u * v / (max(||u||_2, eps_similarity) * max(||v||_2, eps_similarity))

with ||x||_p = (sum |x|^p)^(1/p), sums and norms along `dim`. `p_norm` is a positive number or infinity (then the norm
is the largest absolute value). `dim` may be negative: it counts from the end. Each norm has a lower bound of its own:
the bounds show where `eps_norm` or `eps_similarity` is large.

`x1` and `x2` are float32 with any strides and the same number of dimensions (at least two); their sizes along `dim` are
equal, in other dimensions either may have size 1 where the other has more (they are broadcast). The result is float32
and has the broadcast shape without dimension `dim`.
All is computed in float32; values are small enough that no square or power overflows. With finite p, NaN in a vector
gives NaN. A vector of zeros gives 0.
"""
# relative errors of float32 powers and roots grow with the size of their logarithm
POWER_SLACK = 24.0


def reference(
    x1: torch.Tensor,
    x2: torch.Tensor,
    dim: int = 1,
    eps_similarity: float = 1e-08,
    p_norm: float = 2,
    eps_norm: float = 1e-12,
) -> torch.Tensor:
    u = torch.nn.functional.normalize(x1, p=p_norm, dim=dim, eps=eps_norm)
    v = torch.nn.functional.normalize(x2, p=p_norm, dim=dim, eps=eps_norm)
    u = u / torch.linalg.vector_norm(u, 2, dim, True).clamp_min(eps_similarity)
    v = v / torch.linalg.vector_norm(v, 2, dim, True).clamp_min(eps_similarity)
    cosine: torch.Tensor = (u * v).sum(dim)
    return cosine


def pair(draw: Draw, *shape: int, mean: float = 0.3) -> tuple[torch.Tensor, torch.Tensor]:
    return draw.normal(*shape, mean=mean), draw.normal(*shape, mean=mean)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("rows", pair(draw, 13, 35))
    yield Case("first dimension", pair(draw, 21, 9), {"dim": 0})
    yield Case("middle dimension, other norm", pair(draw, 3, 17, 5), {"p_norm": 1.0, "eps_similarity": 0.4})


def hidden(draw: Draw) -> Iterator[Case]:
    n, m, d = draw.size(5, 11), draw.size(9, 25), draw.size(35, 90)
    yield Case("large eps_norm", pair(draw, n, d), {"eps_norm": 20.0, "eps_similarity": 0.75})
    yield Case("large eps_similarity", pair(draw, n, d), {"eps_similarity": draw.pick([1.5, 4.0])})
    yield Case("maximum norm", pair(draw, n, 3, d), {"dim": -1, "p_norm": math.inf, "eps_similarity": 5.0})
    yield Case("power 3", pair(draw, n, d, 4), {"p_norm": 3.0, "eps_similarity": 3.0})
    yield Case("power 1.5 and a large eps_norm", pair(draw, n, d), {"p_norm": 1.5, "eps_norm": 60.0})
    yield Case("one number", pair(draw, 1, 1))
    yield Case("long vectors", pair(draw, 3, draw.size(1030, 1500)))
    yield Case("first of three dimensions", pair(draw, d, 3, 7), {"dim": 0})
    yield Case("one vector against many", (draw.normal(n, d, m), draw.normal(1, d, 1)))
    yield Case("strided and transposed", (draw.strided(draw.normal(n, d)), draw.normal(d, n).t()))
    special, others = pair(draw, 5, d)
    special[1, draw.size(0, d - 1)] = math.nan
    special[3] = 0.0
    yield Case("NaN and zeros", (special, others))


def timed(draw: Draw) -> Iterator[Case]:
    for rows, cols in ((8192, 1024), (2000, 8192), (65536, 100)):
        yield Case(f"{rows} x {cols}", pair(draw, rows, cols))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, cols in ((60, 200), (20, 700)):
        yield Case(f"{rows} x {cols}", pair(draw, rows, cols))


def magnitude(
    x1: torch.Tensor, x2: torch.Tensor, dim: int, eps_similarity: float, p_norm: float, eps_norm: float
) -> torch.Tensor:
    """The same of absolute values: no products cancel."""
    return reference(x1.double().abs(), x2.double().abs(), dim, eps_similarity, p_norm, eps_norm)


def slack(x1: torch.Tensor, x2: torch.Tensor, dim: int, eps_similarity: float, p_norm: float, eps_norm: float) -> float:
    return 8 + 4 * math.sqrt(x1.shape[dim]) + (p_norm not in (1, 2, math.inf)) * POWER_SLACK


def cost(
    x1: torch.Tensor,
    x2: torch.Tensor,
    dim: int = 1,
    eps_similarity: float = 1e-08,
    p_norm: float = 2,
    eps_norm: float = 1e-12,
) -> Cost:
    total = (x1.to("meta") * x2.to("meta")).numel()
    return Cost(nbytes(x1, x2) + total // x1.shape[dim] * x1.element_size(), 6 * total)


TASK = Task(
    id="Normalization/normalized_cosine_similarity",
    entry="normalized_cosine_similarity",
    signature="normalized_cosine_similarity(x1: Tensor, x2: Tensor, dim: int=1, eps_similarity: float=1e-08, "
    "p_norm: float=2, eps_norm: float=1e-12)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
