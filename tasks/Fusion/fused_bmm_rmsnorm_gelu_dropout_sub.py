"""Fusion/fused_bmm_rmsnorm_gelu_dropout_sub: a batched matrix product, RMS norm, GELU, dropout, less another tensor."""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.families.dropout import EPS, Dropout, Values, demands, scaled
from tasks.task import Case, Cost, Task, nbytes

TEXT = f"""\
Batched matrix product, RMS normalisation, GELU, dropout and a subtraction, in this order:

    z[b, i, j] = sum_k input1[b, i, k] * input2[b, k, j]
    u = z / sqrt(mean_j(z**2) + eps)
    approximate='none':  g = u/2 * (1 + erf(u / sqrt(2)))
    approximate='tanh':  g = u/2 * (1 + tanh(sqrt(2/pi) * (u + 0.044715 * u**3)))
    d = g / (1 - dropout_p) where kept, 0 where dropped
    y = d - other

`input1` is (B, N, K), `input2` (B, K, M), both float32 with any strides; the result is (B, N, M), float32.
`other` broadcasts to (B, N, M) by torch's rules (dimensions of size 1 or missing ones in front), with any strides.
`normalized_shape` is M, as an int or as a tuple or list of one: the mean runs over the last dimension.
With training=False nothing is dropped and nothing scaled: d = g.
dropout_p = 0 keeps all; dropout_p = 1 gives y = -other.
`out`, when given, is a contiguous tensor of the result's shape: the result is written into it, and `out` itself is
returned. The inputs are left alone.

Float32 throughout: tf32 is too coarse for the product, on a GPU `tl.dot` needs `input_precision="ieee"`. In a row of
zeros g is zero. While dropping, NaN and infinity don't occur; otherwise a NaN in a row of z makes this row NaN and no
other.

{demands("dropout_p")}
"""

Shape = int | tuple[int, ...] | list[int]


def reference(
    input1: torch.Tensor,
    input2: torch.Tensor,
    other: torch.Tensor,
    normalized_shape: Shape,
    dropout_p: float = 0.5,
    training: bool = True,
    approximate: str = "none",
    eps: float = 1e-5,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    normal = F.rms_norm(torch.bmm(input1, input2), shape, eps=eps)
    y = F.dropout(F.gelu(normal, approximate=approximate), dropout_p, training) - other
    return y if out is None else out.copy_(y)


def chance(dropout_p: float, training: bool, **_: Any) -> float:
    return dropout_p if training else 0.0


def values(
    keep: torch.Tensor,
    input1: torch.Tensor,
    input2: torch.Tensor,
    other: torch.Tensor,
    dropout_p: float,
    training: bool,
    approximate: str,
    eps: float,
    **_: Any,
) -> Values:
    rate = chance(dropout_p, training)
    a, b = input1.double(), input2.double()
    z, terms = a @ b, a.abs() @ b.abs()
    rms = (z.square().mean(-1, keepdim=True) + eps).sqrt()
    u = z / rms
    # the root mean square is off by at most that of the errors of z; the derivative of GELU is at most 1.13
    terms = (terms + u.abs() * terms.square().mean(-1, keepdim=True).sqrt()) / rms
    error = EPS * ((4 + 2 * math.sqrt(a.shape[2])) * terms + 8 * u.abs())
    g = scaled(F.gelu(u, approximate=approximate), keep, rate)
    return Values(g - other.double(), scaled(error, keep, rate) + EPS * g.abs())


def operands(draw: Draw, b: int, n: int, k: int, m: int, *shape: int) -> tuple[torch.Tensor, ...]:
    """Two batches of matrices, and what is subtracted: of the result's shape, or of `shape`."""
    return draw.normal(b, n, k), draw.normal(b, k, m), draw.normal(*(shape or (b, n, m)))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("dropping half", (*operands(draw, 2, 19, 9, 33), 33))
    yield Case("p = 0.2, tanh form", (*operands(draw, 1, 33, 17, 21), (21,), 0.2), {"approximate": "tanh"})
    yield Case("not training, other is a row", (*operands(draw, 3, 7, 33, 5, 5), (5,)), {"training": False})


def hidden(draw: Draw) -> Iterator[Case]:
    n, k, m = (2 * draw.size(*bounds) + 1 for bounds in ((15, 20), (9, 20), (18, 30)))
    yield Case("p = 0.1, three batches", (*operands(draw, 3, n, k, m), m, 0.1))
    yield Case("p = 0.75, other is a column of each batch", (*operands(draw, 2, n, k, m, 2, n, 1), [m], 0.75))
    yield Case("not training, tanh form", (*operands(draw, 2, 5, k, m, 5, 1), m, 0.5, False), {"approximate": "tanh"})
    yield Case("eps, not training", (*operands(draw, 2, 5, k, m), m, 0.5, False), {"eps": draw.pick([2.0, 7.0])})
    yield Case("p = 0, out given", (*operands(draw, 2, 5, k, m), m, 0.0), {"out": draw.normal(2, 5, m)})
    yield Case("p = 1", (*operands(draw, 1, 5, k, m), m, 1.0))
    yield Case("one column, K = 1", (*operands(draw, 2, 3, 1, 1), 1), {"training": False})
    a, b, c = operands(draw, 2, 33, k, n)
    strided = (draw.strided(a), b.transpose(1, 2).contiguous().transpose(1, 2), draw.strided(c))
    yield Case("strided and transposed", (*strided, n))
    a, b, c = operands(draw, 2, 9, k, m)
    a[0, 3] = 0.0
    a[:, 5] *= 1000.0
    yield Case("rows of zeros and of large values, not training", (a, b, c, m), {"training": False})
    long = operands(draw, 1, 2, 5, draw.size(1050, 1400))
    yield Case("long rows, not training", (*long, long[1].shape[2]), {"training": False})
    a, b, c = operands(draw, 2, 9, k, m)
    a[0, 1, 2], a[1, 4, 0] = math.nan, math.nan
    yield Case("NaN, not training", (a, b, c, m), {"training": False})


def timed(draw: Draw) -> Iterator[Case]:
    for b, n, k, m in ((8, 512, 768, 512), (4, 1024, 512, 1000), (2, 512, 256, 4096)):
        yield Case(f"{b} of {n} x {k} x {m}", (*operands(draw, b, n, k, m), m))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for b, n, k, m in ((2, 70, 50, 90), (3, 100, 33, 40)):
        yield Case(f"{b} of {n} x {k} x {m}", (*operands(draw, b, n, k, m), m))


def cost(input1: torch.Tensor, input2: torch.Tensor, other: torch.Tensor, *_: Any, **__: Any) -> Cost:
    results = input1.shape[0] * input1.shape[1] * input2.shape[2]
    return Cost(nbytes(input1, input2, other) + 4 * results, 2 * results * input1.shape[2] + 15 * results)


TASK = Task(
    id="Fusion/fused_bmm_rmsnorm_gelu_dropout_sub",
    entry="fused_bmm_rmsnorm_gelu_dropout_sub",
    aliases=("bmm_rmsnorm_gelu_dropout_sub",),
    signature=(
        "fused_bmm_rmsnorm_gelu_dropout_sub(input1, input2, other, normalized_shape, dropout_p=0.5, training=True, "
        "approximate='none', eps=1e-05, *, out=None)"
    ),
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
