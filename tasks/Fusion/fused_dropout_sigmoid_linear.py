"""Fusion/fused_dropout_sigmoid_linear: a linear layer, the logistic function, then dropout."""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.families.dropout import EPS, Dropout, Values, demands, scaled
from tasks.task import Case, Cost, Task, nbytes

TEXT = f"""\
Linear layer, sigmoid and dropout, in this order:

    z[..., n] = sum_k input[..., k] * weight[n, k] + bias[n]
    s = 1 / (1 + exp(-z))
    y = s / (1 - p) where kept, 0 where dropped

`input` is (..., K), `weight` (N, K), `bias` (N,) or None (no bias); all float32, with any strides. The result is
(..., N), float32. With training=False nothing is dropped and nothing scaled: y = s. p = 0 keeps all; p = 1 gives zeros.
`inplace` is about an intermediate value: it changes nothing that a caller could see, and the inputs are left alone.

Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs `input_precision="ieee"`. While
dropping, NaN and infinity don't occur; otherwise they go through as in the formulas.

{demands()}
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
) -> torch.Tensor:
    return F.dropout(torch.sigmoid(F.linear(input, weight, bias)), p, training, inplace)


def chance(p: float, training: bool, **_: Any) -> float:
    return p if training else 0.0


def values(
    keep: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    p: float,
    training: bool,
    inplace: bool,
) -> Values:
    rate = chance(p, training)
    x, w, b = input.double(), weight.double(), None if bias is None else bias.double()
    y = torch.sigmoid(F.linear(x, w, b))
    terms = F.linear(x.abs(), w.abs(), None if b is None else b.abs())
    # the derivative of the logistic function turns the error of z into that of y
    error = EPS * (y * (1 - y) * (4 + 2 * math.sqrt(w.shape[1])) * terms + 4 * y)
    return Values(scaled(y, keep, rate), scaled(error, keep, rate))


def layer(draw: Draw, rows: tuple[int, ...], n: int, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Input, weight and bias; z has a standard deviation near 1."""
    return draw.normal(*rows, k), draw.normal(n, k, std=k**-0.5), draw.normal(n)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("p = 0.6", (*layer(draw, (40,), 33, 19), 0.6))
    yield Case("no bias, p = 0.2", layer(draw, (3, 17), 21, 9)[:2], {"p": 0.2})
    yield Case("not training", layer(draw, (7,), 21, 33), {"training": False})


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = 2 * draw.size(20, 30) + 1, 2 * draw.size(9, 20) + 1
    yield Case("p = 0.1", (*layer(draw, (70,), n, k), 0.1))
    yield Case("p = 0.8, three dimensions", (*layer(draw, (2, 33), n, k), 0.8))
    yield Case("p = 0", (*layer(draw, (3, 5), n, k), 0.0))
    yield Case("p = 1", (*layer(draw, (5,), n, k), 1.0))
    x, w, b = layer(draw, (1,), n, k)
    yield Case("one row, not training", (x, w, b, draw.pick([0.3, 0.6]), False))
    yield Case("K = 1, N = 1", (draw.normal(3, 1), draw.normal(1, 1)), {"training": False})
    x, w, b = layer(draw, (n,), 70, k)
    yield Case("dropping half, strided input, transposed weight", (draw.strided(x), w.t().contiguous().t(), b))
    x, w, b = layer(draw, (19,), n, k)
    yield Case("large values, not training", (x * 30, w, b), {"training": False})
    x, w, b = layer(draw, (9,), n, k)
    x[1, 2], x[4, 0] = math.nan, draw.pick([math.inf, -math.inf])
    yield Case("NaN and infinity, not training", (x, w, b), {"training": False})


def timed(draw: Draw) -> Iterator[Case]:
    for rows, n, k in ((1024, 1024, 1024), (4096, 1000, 1024), (8192, 512, 2048)):
        yield Case(f"{rows} x {k} to {n}", (*layer(draw, (rows,), n, k), 0.5, True, True))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, n, k in ((100, 130, 90), (150, 70, 50)):
        yield Case(f"{rows} x {k} to {n}", (*layer(draw, (rows,), n, k), 0.5, True, True))


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
) -> Cost:
    results = input.numel() // weight.shape[1] * weight.shape[0]
    return Cost(nbytes(input, weight, bias) + 4 * results, 2 * results * weight.shape[1])


TASK = Task(
    id="Fusion/fused_dropout_sigmoid_linear",
    entry="fused_dropout_sigmoid_linear",
    aliases=("dropout_sigmoid_linear",),
    signature=(
        "fused_dropout_sigmoid_linear(input: torch.Tensor, weight: torch.Tensor, bias=None, p=0.5, training=True, "
        "inplace=False)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Dropout(chance, values),
    cost=cost,
    stochastic=True,
)
