"""Fusion/fused_mv_logsoftmax_dropout: a matrix times a vector, the logarithm of softmax, then dropout."""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.families.dropout import EPS, Dropout, Values, demands, scaled
from tasks.task import Case, Cost, Task, nbytes

TEXT = f"""\
Product of a matrix and a vector, log-softmax and dropout, in this order:

    z[i] = sum_k input[i, k] * vec[k]
    s[i] = z[i] - m - log(sum_j exp(z[j] - m)),    m = max_j z[j]
    y[i] = s[i] / (1 - p) where kept, 0 where dropped

`input` is (n, m), `vec` (m,), both float32 with any strides; the result is (n,), float32. `dim` is the dimension of z
along which the softmax runs: z has one, so that 0 and -1 occur and mean the same. With training=False nothing is
dropped and nothing scaled: y = s. p = 0 keeps all; p = 1 gives zeros.
`inplace` is about an intermediate value: it changes nothing that a caller could see, and the inputs are left alone.
`out`, when given, is a contiguous tensor of the result's shape: the result is written into it, and `out` itself is
returned.

Float32 throughout, with the maximum subtracted: large z must not overflow. While dropping, NaN and infinity don't
occur; otherwise a NaN in z makes the whole result NaN.

{demands()}
"""


def reference(
    input: torch.Tensor,
    vec: torch.Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    dim: int = 0,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    y = F.dropout(torch.log_softmax(torch.mv(input, vec), dim), p, training, inplace)
    return y if out is None else out.copy_(y)


def chance(p: float, training: bool, **_: Any) -> float:
    return p if training else 0.0


def values(keep: torch.Tensor, input: torch.Tensor, vec: torch.Tensor, p: float, training: bool, **_: Any) -> Values:
    rate = chance(p, training)
    a, v = input.double(), vec.double()
    z, terms = a @ v, a.abs() @ v.abs()
    # an error of z reaches its own element whole, and all elements with its softmax for a weight
    terms = (4 + 2 * math.sqrt(len(v))) * terms + 4 * math.sqrt(len(z))
    error = EPS * (terms + terms @ z.softmax(0) + 4 * z.abs() + 4 * z.logsumexp(0).abs())
    return Values(scaled(z.log_softmax(0), keep, rate), scaled(error, keep, rate))


def operands(draw: Draw, n: int, m: int, std: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Matrix and vector; their product has about this standard deviation."""
    return draw.normal(n, m), draw.normal(m, std=std * m**-0.5)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("dropping half", operands(draw, 700, 5))
    yield Case("p = 0.2", operands(draw, 300, 17), {"p": 0.2})
    yield Case("not training", operands(draw, 33, 70), {"training": False})


def hidden(draw: Draw) -> Iterator[Case]:
    n, m = 2 * draw.size(500, 800) + 1, 2 * draw.size(1, 4) + 1
    yield Case("p = 0.1", (*operands(draw, n, m), 0.1))
    yield Case("p = 0.8", (*operands(draw, n, m), 0.8))
    yield Case("strided matrix and vector", (draw.strided(draw.normal(n, 3)), draw.strided(draw.normal(3))))
    yield Case("transposed view, not training", (draw.normal(41, n // 9).t(), draw.normal(41)), {"training": False})
    yield Case("long rows, not training", (*operands(draw, 5, draw.size(700, 999)), 0.5, False))
    yield Case("many rows, not training", (*operands(draw, 2 * n, 2), draw.pick([0.3, 0.6]), False))
    yield Case("large values, not training", operands(draw, draw.size(35, 70), 19, 150.0), {"training": False})
    yield Case("p = 0, out given", (*operands(draw, 19, 33), 0.0), {"out": draw.normal(19)})
    yield Case("p = 1", (*operands(draw, 40, 7), 1.0))
    yield Case("one row", (*operands(draw, 1, 33), 0.5, False))
    a, v = operands(draw, 9, 33)
    a[4, draw.size(0, 32)] = math.nan
    yield Case("NaN, not training", (a, v), {"training": False})


def timed(draw: Draw) -> Iterator[Case]:
    for n, m in ((4096, 4096), (16384, 1000), (1000, 12000)):
        yield Case(f"{n} x {m}", (*operands(draw, n, m), 0.5, True, True, -1))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for n, m in ((300, 90), (120, 150)):
        yield Case(f"{n} x {m}", (*operands(draw, n, m), 0.5, True, True, -1))


def cost(input: torch.Tensor, vec: torch.Tensor, *_: Any, **__: Any) -> Cost:
    return Cost(nbytes(input, vec) + 4 * input.shape[0], 2 * input.numel() + 6 * input.shape[0])


TASK = Task(
    id="Fusion/fused_mv_logsoftmax_dropout",
    entry="fused_mv_logsoftmax_dropout",
    aliases=("mv_logsoftmax_dropout",),
    signature="fused_mv_logsoftmax_dropout(input, vec, p=0.5, training=True, inplace=False, dim=0, *, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Dropout(chance, values),
    cost=cost,
    writes_to="out",
    stochastic=True,
)
