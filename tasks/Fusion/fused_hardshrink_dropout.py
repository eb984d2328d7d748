"""Fusion/fused_hardshrink_dropout: dropout, then small values set to zero."""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.families.dropout import EPS, Dropout, Values, demands, scaled
from tasks.task import Case, Cost, Task, nbytes

TEXT = f"""\
Dropout, then hard shrinkage, element by element:

    d = x / (1 - p) where kept, 0 where dropped
    y = 0 where |d| <= lambd, d elsewhere

`input` is float32, of any number of dimensions and any strides; the result has its shape and is float32. lambd >= 0.
With training=False nothing is dropped and nothing scaled: d = x, and y is exact. p = 0 keeps all, p = 1 gives zeros.

inplace=True: the result is written into `input` (which is contiguous then), and `input` itself is returned.
inplace=False: the result is a new tensor, and `input` is left alone.

While dropping, NaN and infinity don't occur, nor values of |x| / (1 - p) that are within a few roundings of lambd;
otherwise NaN and infinities stay what they are, and |x| = lambd gives 0.

{demands()}
"""


def reference(
    input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, lambd: float = 0.5
) -> torch.Tensor:
    y = F.hardshrink(F.dropout(input, p, training), lambd)
    return input.copy_(y) if inplace else y


def chance(p: float, training: bool, **_: Any) -> float:
    return p if training else 0.0


def values(keep: torch.Tensor, input: torch.Tensor, p: float, training: bool, inplace: bool, lambd: float) -> Values:
    d = scaled(input.double(), keep, chance(p, training))
    # without scaling nothing is rounded
    error = 3 * EPS * d.abs().nan_to_num(0.0, 0.0, 0.0) if chance(p, training) else torch.zeros_like(d)
    return Values(F.hardshrink(d, lambd), error)


def clear(draw: Draw, *shape: int, edge: float) -> torch.Tensor:
    """Values whose size is not near `edge`, the threshold divided by what they are scaled with."""
    x = draw.normal(*shape)
    return torch.where((x.abs() - edge).abs() < 0.01 * edge, 1.5 * x, x)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("dropping half", (clear(draw, 19, 70, edge=0.25),))
    yield Case("p = 0.2, in place", (clear(draw, 2, 13, 33, edge=0.4), 0.2), {"inplace": True})
    yield Case("not training", (draw.normal(7, 33),), {"training": False})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(20, 30), draw.size(70, 130)
    yield Case("p = 0.1, lambd = 0.2", (clear(draw, rows, cols, edge=0.18), 0.1), {"lambd": 0.2})
    yield Case("p = 0.75, in place", (clear(draw, 4, rows, 17, edge=0.125), 0.75, True, True, 0.5))
    yield Case("one dimension, lambd = 0", (clear(draw, draw.size(2000, 3000), edge=0.0), 0.5, True, False, 0.0))
    x = draw.normal(rows, 33)
    x[1, 2:6] = torch.tensor([0.75, -0.75, math.nan, math.inf])
    x[2, 5] = -math.inf
    yield Case("NaN, infinity and values at lambd, not training", (x, 0.5, False, False, 0.75))
    yield Case("not training, in place", (draw.normal(rows, 19), 0.3, False, True, draw.pick([0.9, 1.2])))
    yield Case("p = 0", (draw.normal(rows, 19), 0.0))
    yield Case("p = 1", (draw.normal(3, 40), 1.0))
    yield Case("one element", (draw.normal(1) + 3.0, draw.pick([0.3, 0.6]), False))
    yield Case("strided view", (draw.strided(clear(draw, rows, 65, edge=0.25)),))
    yield Case("transposed view, not training", (draw.normal(33, rows).T,), {"training": False})


def timed(draw: Draw) -> Iterator[Case]:
    for shape in ((3000, 3000), (4096, 4096)):
        yield Case(" x ".join(map(str, shape)), (clear(draw, *shape, edge=0.25),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for shape in ((40, 250), (16, 1001)):
        yield Case(" x ".join(map(str, shape)), (clear(draw, *shape, edge=0.25),))


def cost(input: torch.Tensor, *_: Any, **__: Any) -> Cost:
    return Cost(2 * nbytes(input), 2 * input.numel())


TASK = Task(
    id="Fusion/fused_hardshrink_dropout",
    entry="fused_hardshrink_dropout",
    aliases=("hardshrink_dropout",),
    signature=(
        "fused_hardshrink_dropout(input: torch.Tensor, p: float=0.5, training: bool=True, inplace: bool=False, "
        "lambd: float=0.5)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Dropout(chance, values, ulps=1.0, inplace="input"),
    cost=cost,
    mutates=("input",),
    stochastic=True,
)
