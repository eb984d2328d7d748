"""Fusion/fused_softplus_linear: a linear layer, then softplus."""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Linear layer and softplus:

    z[..., n] = sum_k input[..., k] * weight[n, k] + bias[n]
    y = z where beta * z > threshold,  log(1 + exp(beta * z)) / beta elsewhere

`input` is (..., K) with any number of dimensions before the last, also none; `weight` is (N, K); `bias` is (N,) or None
for no bias. All are float32, with any strides; the result is (..., N) of float32. `input` may be empty, without a row;
the result is empty then.
beta > 0. exp(beta * z) does not overflow below the threshold. Cases are such that rounding can't move beta * z across a
threshold at which the two forms differ visibly.

Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs `input_precision="ieee"`.
NaN and infinity go through as in the formulas, and reach no other row.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    beta: float = 1,
    threshold: float = 20,
) -> torch.Tensor:
    return F.softplus(F.linear(input, weight, bias), beta, threshold)


def layer(
    draw: Draw, rows: tuple[int, ...], n: int, k: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Input, weight and bias; z has a standard deviation near 1."""
    return draw.normal(*rows, k, dtype=dtype), draw.normal(n, k, std=k**-0.5, dtype=dtype), draw.normal(n, dtype=dtype)


def whole(draw: Draw, rows: int, n: int, k: int) -> tuple[torch.Tensor, ...]:
    """Input, weight and bias of small whole numbers, for which z is exact."""
    return tuple(draw.integers(-1, 1, *shape, dtype=torch.float32) for shape in ((rows, k), (n, k), (n,)))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix", layer(draw, (7,), 33, 19))
    yield Case("no bias, beta = 2", layer(draw, (2, 5), 21, 9)[:2], {"beta": 2})
    yield Case("whole numbers, threshold = 1.5", whole(draw, 5, 21, 9), {"threshold": 1.5})


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = 2 * draw.size(20, 30) + 1, 2 * draw.size(9, 20) + 1
    yield Case("beta", (*layer(draw, (5,), n, k), draw.pick([0.3, 3.5])))
    yield Case("whole numbers, beta and threshold", (*whole(draw, 5, n, 7), 0.5, draw.pick([1.25, -0.75])))
    yield Case("high threshold", (layer(draw, (5,), n, k)[0] * 8, *layer(draw, (), n, k)[1:], 1, 60.0))
    yield Case("one dimension", layer(draw, (), n, k))
    yield Case("one row, K = 1, N = 1", layer(draw, (1,), 1, 1)[:2])
    yield Case("no rows", layer(draw, (0,), 5, k))
    x, w, b = layer(draw, (n,), 70, k)
    yield Case("strided input, transposed weight", (draw.strided(x), w.t().contiguous().t(), b))
    yield Case("large values", (layer(draw, (9,), n, k)[0] * 30, *layer(draw, (), n, k)[1:]))
    yield Case("long rows", layer(draw, (3,), 9, draw.size(500, 900)))
    x, w, b = layer(draw, (9,), n, k)
    x[1, 2], x[4, 0], x[6, 1] = math.nan, math.inf, -math.inf
    yield Case("NaN and infinity", (x, w, b))


def timed(draw: Draw) -> Iterator[Case]:
    for rows, n, k in (
        (1024, 1024, 1024),
        (4096, 2048, 1000),
        (8192, 512, 2048),
    ):
        yield Case(f"{rows} x {k} to {n}", layer(draw, (rows,), n, k))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, n, k in ((100, 130, 90), (150, 70, 50)):
        yield Case(f"{rows} x {k} to {n}", layer(draw, (rows,), n, k))


def magnitude(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, beta: float, threshold: float
) -> torch.Tensor:
    terms = F.linear(input.double().abs(), weight.double().abs(), None if bias is None else bias.double().abs())
    # the derivative of softplus is at most 1; 1 + exp(beta z) loses what is small
    return terms + 1 / beta


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    beta: float = 1,
    threshold: float = 20,
) -> Cost:
    results = input.numel() // weight.shape[1] * weight.shape[0]
    bytes_min = nbytes(input, weight, bias) + results * input.element_size()
    return Cost(bytes_min, 2 * results * weight.shape[1] + 6 * results)


TASK = Task(
    id="Fusion/fused_softplus_linear",
    entry="fused_softplus_linear",
    aliases=("softplus_linear",),
    signature="fused_softplus_linear(input, weight, bias=None, beta=1, threshold=20)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda weight, **_: 4 + 2 * math.sqrt(weight.shape[1]), magnitude=magnitude),
    cost=cost,
)
