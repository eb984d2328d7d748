"""Fusion/fused_bmm_dropout_gelu: a batched matrix product, dropout, then GELU."""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.families.dropout import EPS, Dropout, Values, demands, scaled
from tasks.task import Case, Cost, Task, nbytes

TEXT = f"""\
Batched matrix product, dropout and GELU, in this order:

    z[b, i, j] = sum_k input1[b, i, k] * input2[b, k, j]
    d = z / (1 - p) where kept, 0 where dropped
    approximate='none':  y = d/2 * (1 + erf(d / sqrt(2)))
    approximate='tanh':  y = d/2 * (1 + tanh(sqrt(2/pi) * (d + 0.044715 * d**3)))

`input1` is (B, N, K), `input2` (B, K, M), both float32 or both float16, with any strides; the result is (B, N, M) of
the same dtype. With training=False nothing is dropped and nothing scaled: d = z. p = 0 keeps all; p = 1 gives zeros.
`inplace` is about an intermediate value: it changes nothing that a caller could see, and the inputs are left alone.
`out`, when given, is a contiguous tensor of the result's shape and dtype: the result is written into it, and `out`
itself is returned.

Products and sums are float32 (for float32 inputs tf32 is too coarse: `tl.dot` needs `input_precision="ieee"` on a GPU),
and so is the rest. A float16 result is rounded at the end; that z and d are rounded to float16 as well is accepted.
While dropping, NaN and infinity don't occur; otherwise NaN goes through, and infinity as in the formulas.

{demands()}
"""


def reference(
    input1: torch.Tensor,
    input2: torch.Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    approximate: str = "none",
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    y = F.gelu(F.dropout(torch.bmm(input1, input2), p, training, inplace), approximate=approximate)
    return y if out is None else out.copy_(y)


def chance(p: float, training: bool, **_: Any) -> float:
    return p if training else 0.0


def values(
    keep: torch.Tensor, input1: torch.Tensor, input2: torch.Tensor, p: float, training: bool, approximate: str, **_: Any
) -> Values:
    rate = chance(p, training)
    a, b = input1.double(), input2.double()
    d = scaled(a @ b, keep, rate)
    terms = scaled(a.abs() @ b.abs(), keep, rate)
    # the derivative of GELU is at most 1.13; 1 + erf and 1 + tanh cancel for negative d, so that y is off by eps |d|
    error = EPS * ((4 + 2 * math.sqrt(a.shape[2])) * terms + 4 * d.abs())
    if input1.dtype == torch.float16:
        error = error + torch.finfo(torch.float16).eps * d.abs() * (d > -4)
    return Values(F.gelu(d, approximate=approximate), error)


def pair(draw: Draw, b: int, n: int, k: int, m: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """Two batches of matrices whose products have a standard deviation near 1."""
    return draw.normal(b, n, k, dtype=dtype), draw.normal(b, k, m, std=k**-0.5, dtype=dtype)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("p = 0.6", (*pair(draw, 2, 19, 9, 33), 0.6))
    yield Case("p = 0.2, tanh form", pair(draw, 1, 33, 17, 21), {"p": 0.2, "approximate": "tanh"})
    yield Case("float16, not training", (*pair(draw, 3, 7, 33, 5, torch.float16), 0.5, False))


def hidden(draw: Draw) -> Iterator[Case]:
    n, k, m = (2 * draw.size(*bounds) + 1 for bounds in ((15, 20), (9, 20), (18, 30)))
    yield Case("p = 0.1, three batches", (*pair(draw, 3, n, k, m), 0.1))
    yield Case("p = 0.75, float16", (*pair(draw, 2, n, k, m, torch.float16), 0.75))
    half = pair(draw, 2, n, k, m, torch.float16)
    yield Case("not training, float16, tanh form", half, {"training": False, "approximate": "tanh"})
    yield Case("not training, tanh form", (*pair(draw, 2, 5, k, m), 0.5, False, False), {"approximate": "tanh"})
    yield Case("p = 0, out given", (*pair(draw, 2, 5, k, m), 0.0), {"out": draw.normal(2, 5, m)})
    yield Case("p = 1", (*pair(draw, 1, 5, k, m), 1.0))
    yield Case("one element, K = 1", pair(draw, 1, 1, 1, 1), {"training": False})
    a, b = pair(draw, 2, 33, k, n)
    yield Case(
        "dropping half, strided and transposed", (draw.strided(a), b.transpose(1, 2).contiguous().transpose(1, 2))
    )
    a, b = pair(draw, 2, 9, k, m)
    yield Case("large values, not training", (a * 3, b), {"training": False})
    a[0, 1, 2], a[1, 4, 0] = math.nan, math.nan
    yield Case("NaN, not training", (a, b), {"training": False})


def timed(draw: Draw) -> Iterator[Case]:
    for b, n, k, m, dtype in (
        (8, 512, 768, 512, torch.float32),
        (4, 1024, 512, 1000, torch.float32),
        (8, 512, 768, 512, torch.float16),
    ):
        yield Case(f"{b} of {n} x {k} x {m}, {str(dtype)[6:]}", (*pair(draw, b, n, k, m, dtype), 0.5, True, True))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for b, n, k, m in ((2, 70, 50, 90), (3, 100, 33, 40)):
        yield Case(f"{b} of {n} x {k} x {m}", (*pair(draw, b, n, k, m), 0.5, True, True))


def cost(input1: torch.Tensor, input2: torch.Tensor, p: float = 0.5, *_: Any, **__: Any) -> Cost:
    results = input1.shape[0] * input1.shape[1] * input2.shape[2]
    bytes_min = nbytes(input1, input2) + results * input1.element_size()
    return Cost(bytes_min, 2 * results * input1.shape[2] + 12 * results)


TASK = Task(
    id="Fusion/fused_bmm_dropout_gelu",
    entry="fused_bmm_dropout_gelu",
    aliases=("bmm_dropout_gelu",),
    signature=(
        "fused_bmm_dropout_gelu(input1, input2, p=0.5, training=True, inplace=False, approximate='none', *, out=None)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # one unit in the last place of float16 holds a rounding of the result; float32 has its error term
    judge=Dropout(chance, values, ulps=1.0),
    cost=cost,
    writes_to="out",
    stochastic=True,
)
