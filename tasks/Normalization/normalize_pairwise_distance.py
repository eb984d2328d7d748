"""Normalization/normalize_pairwise_distance: p-norm distances of paired vectors, divided by a norm of their own."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Distances between paired vectors, and then their normalisation, in two steps:

    d = (sum_k |x1[..., k] - x2[..., k] + eps_distance|^p_distance)^(1 / p_distance)      over the last dimension
    y = d / max((sum |d|^p_norm)^(1 / p_norm), eps_norm)                                   along dimension dim_norm of d

`x1` and `x2` are float32 with any strides and at least two dimensions; either may have size 1 in dimensions before the
last where the other has more (they are broadcast). The last dimension of d is removed, or kept with size 1 where
`keepdim` is true. `dim_norm` is a dimension of d, negative values count from the end: (N, D) inputs with
keepdim=False have a d of one dimension, so `dim_norm` must be 0 or -1 there. The result has the shape of d and is
float32.
`p_distance` and `p_norm` are positive numbers or infinity; for infinity the sum and its root become the largest
absolute value.

All is computed in float32; values are small enough that no power overflows. With finite p, a NaN in a pair of vectors
makes its d NaN, and with it all elements that are normalised together.
"""
# relative errors of float32 powers and roots grow with the size of their logarithm
POWER_SLACK = 24.0


def reference(
    x1: torch.Tensor,
    x2: torch.Tensor,
    p_distance: float = 2.0,
    eps_distance: float = 1e-06,
    keepdim: bool = False,
    p_norm: float = 2,
    dim_norm: int = 1,
    eps_norm: float = 1e-12,
) -> torch.Tensor:
    distance = torch.linalg.vector_norm(x1 - x2 + eps_distance, p_distance, -1, keepdim)
    return torch.nn.functional.normalize(distance, p=p_norm, dim=dim_norm, eps=eps_norm)


def pair(draw: Draw, *shape: int, std: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    return draw.normal(*shape, std=std), draw.normal(*shape, std=std)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("three dimensions", pair(draw, 3, 7, 20))
    yield Case("two dimensions, over all pairs", pair(draw, 13, 35), {"dim_norm": 0})
    yield Case("absolute values", pair(draw, 5, 9, 17), {"p_distance": 1.0, "p_norm": 1, "keepdim": True})


def hidden(draw: Draw) -> Iterator[Case]:
    n, m, d = draw.size(5, 11), draw.size(9, 25), draw.size(35, 90)
    yield Case("maximum norms", pair(draw, n, m, d), {"p_distance": math.inf, "p_norm": math.inf})
    other = {"p_distance": 3.0, "p_norm": 1.5, "dim_norm": -2}
    yield Case("other powers, first of two dimensions", pair(draw, n, m, d), other)
    yield Case("large eps_distance", pair(draw, n, d), {"eps_distance": draw.pick([0.5, -1.25]), "dim_norm": -1})
    yield Case("eps_norm above the norm", pair(draw, n, m, 5), {"eps_norm": 200.0, "keepdim": True})
    yield Case("kept dimension, normalised one by one", pair(draw, n, d), {"keepdim": True, "eps_norm": 9.0})
    yield Case("one pair of one number", pair(draw, 1, 1), {"dim_norm": 0, "eps_norm": 4.0})
    long = pair(draw, draw.size(1030, 1300), 3)
    yield Case("many short vectors", long, {"dim_norm": 0, "p_distance": 1.0})
    yield Case("long vectors", pair(draw, 3, 2, draw.size(1030, 1300)), {"p_distance": math.inf})
    yield Case("one vector against many", (draw.normal(n, m, d), draw.normal(1, d)), {"p_norm": 1})
    views = (draw.strided(draw.normal(n, d)), draw.normal(d, n).t())
    yield Case("strided and transposed", views, {"dim_norm": 0})
    special, others = pair(draw, 5, m, d)
    special[1, 3, draw.size(0, d - 1)] = math.nan
    yield Case("NaN", (special, others))
    same = draw.normal(3, m, d)
    yield Case("equal vectors", (same, same.clone()))


def timed(draw: Draw) -> Iterator[Case]:
    for shape in ((64, 512, 256), (16, 1000, 1024), (128, 2000, 50)):
        yield Case(" x ".join(map(str, shape)), pair(draw, *shape))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for shape in ((5, 40, 60), (3, 16, 300)):
        yield Case(" x ".join(map(str, shape)), pair(draw, *shape))


def magnitude(**arguments: Any) -> torch.Tensor:
    """The distance's terms before they cancel, normalised; and the result times the same of the norm."""
    x1, x2 = arguments["x1"].double(), arguments["x2"].double()
    p, dim, eps = arguments["p_norm"], arguments["dim_norm"], arguments["eps_norm"]
    shift, keep = arguments["eps_distance"], arguments["keepdim"]
    distance = torch.linalg.vector_norm(x1 - x2 + shift, arguments["p_distance"], -1, keep)
    size = torch.linalg.vector_norm(x1.abs() + x2.abs() + abs(shift), arguments["p_distance"], -1, keep)
    norm = torch.linalg.vector_norm(distance, p, dim, True).clamp_min(eps)
    total: torch.Tensor = size / norm + distance / norm * (torch.linalg.vector_norm(size, p, dim, True) / norm)
    return total


def slack(**arguments: Any) -> float:
    special = any(arguments[name] not in (1, 2, math.inf) for name in ("p_distance", "p_norm"))
    x1, dim = arguments["x1"], arguments["dim_norm"]
    count = (x1.to("meta") - arguments["x2"].to("meta")).shape[:-1]
    added = 1 if arguments["keepdim"] and dim in (-1, len(count)) else count[dim]
    return 4 + 2 * math.sqrt(x1.shape[-1]) + 2 * math.sqrt(added) + special * POWER_SLACK


def cost(x1: torch.Tensor, x2: torch.Tensor, *_: Any, **__: Any) -> Cost:
    shape = (x1.to("meta") - x2.to("meta")).shape
    return Cost(nbytes(x1, x2) + math.prod(shape[:-1]) * x1.element_size(), 4 * math.prod(shape))


TASK = Task(
    id="Normalization/normalize_pairwise_distance",
    entry="normalize_pairwise_distance",
    signature="normalize_pairwise_distance(x1, x2, p_distance=2.0, eps_distance=1e-06, keepdim=False, p_norm=2, "
    "dim_norm=1, eps_norm=1e-12)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=8, slack=slack, magnitude=magnitude),
    cost=cost,
)
