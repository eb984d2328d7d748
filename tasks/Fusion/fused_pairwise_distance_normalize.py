"""Fusion/fused_pairwise_distance_normalize: distances between all pairs of normalised points of two sets."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Two sets of points, each normalised to length 1, and the distance of every point of the one to every point of the
other, all in the p-norm |v| = (sum_k |v[k]| ** p_norm) ** (1 / p_norm). `x1` is float32 of shape (M, D), `x2` of shape
(N, D), with any strides:

    a[i] = x1[i] / max(|x1[i]|, eps_norm),    b[j] = x2[j] / max(|x2[j]|, eps_norm)
    y[i, j] = |a[i] - b[j] + eps_distance|     (eps_distance is added to each of the D differences)

The result is float32 of shape (M, N), or (M, N, 1) with `keepdim`. `p_norm` is a number of at least 1, not
necessarily whole.
Everything is float32, and points that nearly coincide keep their distance: form the differences, since sums of squares
less twice the product would cancel. A NaN among a point's coordinates makes its distances NaN, and no others.
"""


def reference(
    x1: torch.Tensor,
    x2: torch.Tensor,
    p_norm: float = 2.0,
    eps_norm: float = 1e-12,
    eps_distance: float = 1e-06,
    keepdim: bool = False,
) -> torch.Tensor:
    a = torch.nn.functional.normalize(x1, p_norm, 1, eps_norm)
    b = torch.nn.functional.normalize(x2, p_norm, 1, eps_norm)
    # a part at a time: all differences of the timed cases would need gigabytes
    parts = [
        torch.linalg.vector_norm(part[:, None] - b + eps_distance, p_norm, dim=-1) for part in a.chunk(1 + len(a) // 16)
    ]
    distances = torch.cat(parts)
    return distances.unsqueeze(-1) if keepdim else distances


def public(draw: Draw) -> Iterator[Case]:
    yield Case("two sets", (draw.normal(5, 33), draw.normal(9, 33)))
    yield Case("p = 1, kept", (draw.normal(7, 10), draw.normal(6, 10), 1.0), {"keepdim": True})


def hidden(draw: Draw) -> Iterator[Case]:
    m, n, size = draw.size(3, 19), draw.size(3, 19), draw.size(20, 70)

    def points(std: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
        return draw.normal(m, size, std=std), draw.normal(n, size, std=std)

    long = draw.size(530, 700)
    yield Case("many coordinates", (draw.normal(2, long), draw.normal(3, long)))
    yield Case("p = 3", points(), {"p_norm": 3.0})
    yield Case("p = 1.5, kept", (*points(), 1.5, 1e-12, 1e-6, True))
    yield Case("norms below eps_norm", points(0.01), {"eps_norm": draw.pick([0.1, 0.2])})
    yield Case("large eps_distance", points(), {"eps_distance": draw.pick([0.05, 0.1])})
    yield Case("one point, one coordinate", (draw.normal(1, 1), draw.normal(3, 1)))
    yield Case("large and small values", (draw.normal(m, size, std=1e6), draw.normal(n, size, std=1e-6)))
    first, second = points()
    second[:3] = first[:3] * 5 + draw.normal(3, size, std=1e-4)
    yield Case("points that nearly coincide", (first, second))
    first, second = points()
    yield Case("strided and transposed views", (draw.strided(first), second.t().contiguous().t()))
    first, second = points()
    first[1] = 0.0
    first[0, draw.size(0, size - 1)] = math.nan
    yield Case("a zero vector and NaN", (first, second))


def timed(draw: Draw) -> Iterator[Case]:
    for m, n, size in ((1000, 1100, 64), (700, 900, 256), (2000, 300, 100)):
        yield Case(f"{m} and {n} points of {size}", (draw.normal(m, size), draw.normal(n, size)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("40 and 50 points of 20", (draw.normal(40, 20), draw.normal(50, 20)))
    yield Case("70 and 20 points of 33, p = 1", (draw.normal(70, 33), draw.normal(20, 33), 1.0))


def magnitude(
    x1: torch.Tensor, x2: torch.Tensor, p_norm: float, eps_norm: float, eps_distance: float, keepdim: bool
) -> torch.Tensor:
    """|a| + |b| + eps, term by term: at most 1 + 1 and what eps adds to each of D terms."""
    return torch.tensor(2.0 + abs(eps_distance) * x1.shape[1] ** (1 / p_norm), dtype=torch.float64)


def cost(x1: torch.Tensor, x2: torch.Tensor, *_: Any, **__: Any) -> Cost:
    pairs = x1.shape[0] * x2.shape[0]
    return Cost(nbytes(x1, x2) + pairs * x1.element_size(), 4 * pairs * x1.shape[1])


TASK = Task(
    id="Fusion/fused_pairwise_distance_normalize",
    entry="fused_pairwise_distance_normalize",
    aliases=("pairwise_distance_normalize",),
    signature=(
        "fused_pairwise_distance_normalize(x1: torch.Tensor, x2: torch.Tensor, p_norm: float=2.0, "
        "eps_norm: float=1e-12, eps_distance: float=1e-06, keepdim: bool=False)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda x1, **_: 4.0 + 0.5 * math.sqrt(x1.shape[1]), magnitude=magnitude),
    cost=cost,
)
