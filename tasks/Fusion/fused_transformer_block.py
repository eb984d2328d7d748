"""Fusion/fused_transformer_block: product, softmax, dropout, product, residual and layer norm."""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.families.dropout import EPS, Dropout, Mask, Values, demands, scaled
from tasks.task import Case, Cost, Task, nbytes

TEXT = f"""\
Product, softmax, dropout, product, residual sum and layer normalisation, in this order:

    s = softmax(input @ weight1) along the last dimension
    d = s / (1 - dropout_p) where kept, 0 where dropped
    u = d @ weight2 + residual
    y = (u - mean(u)) / sqrt(var(u) + eps), mean and var (divided by their count) over the last dimension of u

`input` is (..., N, D_in) with any number of batch dimensions, also none; `weight1` (D_in, D_k); `weight2`
(D_k, D_out); `residual` broadcasts to (..., N, D_out), the shape of the result. All are float32, with any strides. The
layer norm has no weight and no bias. Elements are always dropped as in training; dropout_p = 0 keeps all, and with
dropout_p = 1 only the residual is left.
`out`, when given, is a contiguous tensor of the result's shape: the result is written into it, and `out` itself is
returned. The inputs are left alone.

Float32 throughout: large products must not overflow in softmax, and tf32 is too coarse: on a GPU `tl.dot` needs
`input_precision="ieee"`. While dropping, NaN and infinity don't occur; with dropout_p = 0 a NaN stays in its row.

The mask has the shape of s, and the result is judged by it: wherever something is dropped, D_out >= 1.5 D_k, so that d
can be found from y.

{demands("dropout_p")}
"""


def reference(
    input: torch.Tensor,
    weight1: torch.Tensor,
    weight2: torch.Tensor,
    residual: torch.Tensor,
    dropout_p: float = 0.1,
    eps: float = 1e-5,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    d = F.dropout(torch.softmax(input @ weight1, -1), dropout_p, training=True)
    u = d @ weight2 + residual
    y = F.layer_norm(u, u.shape[-1:], eps=eps)
    return y if out is None else out.copy_(y)


def chance(dropout_p: float, **_: Any) -> float:
    return dropout_p


def values(
    keep: torch.Tensor,
    input: torch.Tensor,
    weight1: torch.Tensor,
    weight2: torch.Tensor,
    residual: torch.Tensor,
    dropout_p: float,
    eps: float,
    **_: Any,
) -> Values:
    x, left, right, rest = (t.double() for t in (input, weight1, weight2, residual))
    s = (x @ left).softmax(-1)
    # exp turns the error of its argument into a relative one; the sum of a softmax averages them
    relative = (4 + 2 * math.sqrt(left.shape[0])) * (x.abs() @ left.abs()) + 4 * math.sqrt(left.shape[1])
    relative = relative + (s * relative).sum(-1, keepdim=True)
    d, off = scaled(s, keep, dropout_p), scaled(s * relative, keep, dropout_p)
    u = d @ right + rest
    terms = ((4 + 2 * math.sqrt(right.shape[0])) * d + off) @ right.abs() + 4 * rest.abs()
    # mean and deviation are off by at most the root mean square of the errors of u
    deviation = (u.var(-1, correction=0, keepdim=True) + eps).sqrt()
    y = (u - u.mean(-1, keepdim=True)) / deviation
    spread = terms.square().mean(-1, keepdim=True).sqrt()
    return Values(y, EPS * ((terms + (1 + y.abs()) * spread) / deviation + 8 * y.abs()))


def mask(
    returned: torch.Tensor,
    input: torch.Tensor,
    weight1: torch.Tensor,
    weight2: torch.Tensor,
    residual: torch.Tensor,
    dropout_p: float,
    **_: Any,
) -> Mask:
    """y deviation + mean - residual = d @ weight2. What lies outside the span of weight2's rows and of a constant gives
    the deviation; then d and the mean follow by least squares."""
    y, rest = returned.double(), residual.double().expand(returned.shape)
    rows = torch.cat((weight2.double(), torch.ones(1, returned.shape[-1], dtype=torch.float64)))
    inverse = torch.linalg.pinv(rows)
    outside = torch.eye(returned.shape[-1], dtype=torch.float64) - inverse @ rows
    y_outside, rest_outside = y @ outside, rest @ outside
    deviation = (y_outside * rest_outside).sum(-1, keepdim=True) / y_outside.square().sum(-1, keepdim=True)
    d = ((y * deviation - rest) @ inverse)[..., :-1]
    kept = (input.double() @ weight1.double()).softmax(-1) / (1 - dropout_p)
    return Mask((d - kept).abs() <= d.abs(), kept > 1e-4)


def block(draw: Draw, batch: tuple[int, ...], wide: int, inner: int, out: int) -> tuple[torch.Tensor, ...]:
    """Operands whose softmax is far from one-hot, and whose two summands are of a size."""
    left = draw.normal(wide, inner, std=0.7 * wide**-0.5)
    return draw.normal(*batch, wide), left, draw.normal(inner, out, std=0.5 * inner**0.5), draw.normal(*batch, out)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("dropping a tenth", block(draw, (2, 35), 9, 15, 31))
    yield Case("p = 0.5, no batch", (*block(draw, (60,), 17, 12, 29), 0.5))
    yield Case("nothing dropped", block(draw, (3, 7), 21, 33, 19), {"dropout_p": 0.0})


def hidden(draw: Draw) -> Iterator[Case]:
    n, wide, inner = 2 * draw.size(20, 30) + 1, 2 * draw.size(5, 15) + 1, 2 * draw.size(6, 9) + 1
    out = 2 * inner + draw.size(1, 5)
    yield Case("p = 0.2, two batch dimensions", (*block(draw, (2, 2, n), wide, inner, out), 0.2))
    yield Case("p = 0.75, eps", (*block(draw, (2, n), wide, inner, out), 0.75, draw.pick([0.3, 0.8])))
    x, left, right, _ = block(draw, (2, 9), wide, inner, 21)
    yield Case("residual is a row, p = 0, eps", (x, left, right, draw.normal(21), 0.0, draw.pick([0.3, 0.8])))
    yield Case("p = 0, out given", (x, left, right, draw.normal(9, 1), 0.0), {"out": draw.normal(2, 9, 21)})
    yield Case("p = 1", (*block(draw, (5,), wide, inner, 19), 1.0))
    yield Case("one row, D_in = 1, p = 0", (*block(draw, (1,), 1, inner, 7), 0.0))
    x, left, right, rest = block(draw, (n,), wide, inner, out)
    views = (draw.strided(x), left.t().contiguous().t(), draw.strided(right), rest.t().contiguous().t())
    yield Case("strided and transposed", (*views, 0.3))
    x, left, right, rest = block(draw, (5,), wide, draw.size(140, 200), 9)
    x[:3], left[:, -1] = x[:3].abs(), left.max()  # the largest of three rows comes last
    yield Case("large values, p = 0", (x, left * 200, right * 0.1, rest, 0.0))
    x, left, right, rest = block(draw, (2, 5), wide, 7, draw.size(140, 200))
    yield Case("long rows, p = 0", (x, left, right, rest + 20.0, 0.0))
    x, left, right, rest = block(draw, (9,), wide, inner, 19)
    x[1, 0], rest[4, 3] = math.nan, math.nan
    yield Case("NaN, p = 0", (x, left, right, rest, 0.0))


def timed(draw: Draw) -> Iterator[Case]:
    for batch, wide, inner, out in (((8, 512), 512, 256, 512), ((2, 1000), 1024, 512, 1024), ((16384,), 256, 128, 200)):
        name = " x ".join(map(str, batch))
        yield Case(f"{name} x {wide} to {inner} to {out}", block(draw, batch, wide, inner, out))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for batch, wide, inner, out in (((2, 40), 50, 30, 70), ((70,), 33, 20, 40)):
        name = " x ".join(map(str, batch))
        yield Case(f"{name} x {wide} to {inner} to {out}", block(draw, batch, wide, inner, out))


def cost(
    input: torch.Tensor, weight1: torch.Tensor, weight2: torch.Tensor, residual: torch.Tensor, *_: Any, **__: Any
) -> Cost:
    rows = input.numel() // input.shape[-1]
    inner, out = weight2.shape
    flops = 2 * rows * (weight1.numel() + weight2.numel()) + 6 * rows * (inner + out)
    return Cost(nbytes(input, weight1, weight2, residual) + 4 * rows * out, flops)


TASK = Task(
    id="Fusion/fused_transformer_block",
    entry="fused_transformer_block",
    aliases=("transformer_block",),
    signature="fused_transformer_block(input, weight1, weight2, residual, dropout_p=0.1, eps=1e-05, *, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Dropout(chance, values, mask),
    cost=cost,
    writes_to="out",
    stochastic=True,
)
