"""Fusion/attention: scaled dot-product attention, causal or not."""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Scaled dot-product attention, separately for each index of the dimensions before the last two:

    s[i, j] = softmax_scale * sum_d q[i, d] * k[j, d]
    p[i, :] = softmax over j of s[i, :];  with causal=True only j <= i take part
    y[i, e] = sum_j p[i, j] * v[j, e]

`q` is (..., L, D), `k` (..., S, D), `v` (..., S, E), with the same one or two dimensions before the last two (say batch
and heads); the result is (..., L, E). All are float32 or all are float16, with any strides, and the result has their
dtype. `softmax_scale` is a number, or None for 1 / sqrt(D). With causal=True, L = S. D and E are at most 256 and need
be no power of two; L and S need be no multiple of anything.
`out`, when given, is a contiguous tensor of the result's shape and dtype: the result is written into it, and `out`
itself is returned. The inputs are left alone.

Scores, softmax and sums are float32 (for float32 inputs tf32 is too coarse: on a GPU `tl.dot` needs
`input_precision="ieee"`). With float16 inputs p may be rounded to float16, normalised or not, ahead of the product with
v, and the result is rounded at the end. Large scores must not overflow. A NaN in a row of q makes this row of the
result NaN and no other; otherwise NaN and infinity don't occur.
"""


def reference(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    softmax_scale: float | None = None,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    y = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=softmax_scale)
    return y if out is None else out.copy_(y)


def tensors(
    draw: Draw, *batch: int, long: int, deep: int, keys: int = 0, wide: int = 0, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k and v; as many keys as queries and as wide values as keys unless told otherwise."""
    q = draw.normal(*batch, long, deep, dtype=dtype)
    k = draw.normal(*batch, keys or long, deep, dtype=dtype)
    return q, k, draw.normal(*batch, keys or long, wide or deep, dtype=dtype)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("plain", tensors(draw, 2, 3, long=19, deep=17))
    yield Case("causal", (*tensors(draw, 1, 2, long=33, deep=20), True))
    yield Case("float16, scale", tensors(draw, 2, long=17, deep=21, dtype=torch.float16), {"softmax_scale": 0.5})


def hidden(draw: Draw) -> Iterator[Case]:
    long, deep = 2 * draw.size(18, 25) + 1, 2 * draw.size(8, 15) + 1
    yield Case("causal, several tiles", (*tensors(draw, 2, long=60 + long, deep=deep), True))
    scale = draw.pick([0.03, 0.7, -0.4])
    yield Case("more keys, wider values, scale", (*tensors(draw, 2, long=9, deep=5, keys=long, wide=29), False, scale))
    yield Case("fewer keys than queries", tensors(draw, 1, 2, long=long, deep=deep, keys=3))
    half = tensors(draw, 2, 2, long=long, deep=deep, dtype=torch.float16)
    yield Case("float16, causal", half, {"causal": True})
    yield Case("one query, one key, D = 1", tensors(draw, 2, 1, long=1, deep=1))
    q, k, v = tensors(draw, 2, long=long, deep=deep)
    yield Case("large scores", (q * 12, k * 5, v))
    given = {"out": draw.normal(2, long, deep), "softmax_scale": scale}
    yield Case("out given, causal, scale", (*tensors(draw, 2, long=long, deep=deep), True), given)
    q, k, v = tensors(draw, 2, long, long=3, deep=deep)
    yield Case("heads inside", (q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)))
    q, k, v = tensors(draw, 1, 2, long=long, deep=deep)
    yield Case("strided and transposed", (draw.strided(q), k.mT.contiguous().mT, draw.strided(v)))
    wide = 2 * draw.size(17, 23) + 1
    yield Case("heads of 35 to 47", tensors(draw, 2, long=9, deep=wide, wide=wide + 4))
    q, k, v = tensors(draw, 1, 2, long=9, deep=deep)
    q[0, 1, 4, 2] = math.nan
    yield Case("NaN in a query", (q, k, v))


def timed(draw: Draw) -> Iterator[Case]:
    half = torch.float16
    yield Case("2 x 8 x 1024 x 64, float16", tensors(draw, 2, 8, long=1024, deep=64, dtype=half))
    yield Case("8 x 1000 x 64, float32", tensors(draw, 1, 8, long=1000, deep=64))
    yield Case("8 x 1024 x 128, float16, causal", (*tensors(draw, 1, 8, long=1024, deep=128, dtype=half), True))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("2 x 90 x 30", tensors(draw, 1, 2, long=90, deep=30))
    yield Case("2 x 100 x 20, causal", (*tensors(draw, 1, 2, long=100, deep=20), True))


def magnitude(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool,
    softmax_scale: float | None,
    out: torch.Tensor | None,
) -> torch.Tensor:
    """In units of float32's eps: an error of a score is a relative one of its p, and p sums up to 1 all the same."""
    deep, keys = k.shape[-1], k.shape[-2]
    scale = deep**-0.5 if softmax_scale is None else softmax_scale
    left, right, size = q.double() * scale, k.double().mT, v.double().abs()
    scores = left @ right
    if causal:
        scores = scores.masked_fill(torch.ones(keys, keys, dtype=torch.bool).triu(1), -math.inf)
    p = scores.softmax(-1)
    off = p * (4 + 2 * math.sqrt(deep)) * (left.abs() @ right.abs())
    mean = p @ size
    error = off @ size + off.sum(-1, keepdim=True) * mean + (4 + 2 * math.sqrt(keys)) * mean
    if q.dtype == torch.float16:
        # one unit in the last place of p in float16; where p is subnormal, half a unit of what is not normalised
        error = error + 8192 * mean + 0.25 * size.sum(-2, keepdim=True)
    return error


def cost(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    softmax_scale: float | None = None,
    *,
    out: torch.Tensor | None = None,
) -> Cost:
    results = q.numel() // q.shape[-1] * v.shape[-1]
    scores = q.numel() // q.shape[-1] * k.shape[-2] // (2 if causal else 1)
    bytes_min = nbytes(q, k, v) + results * q.element_size()
    return Cost(bytes_min, scores * (2 * q.shape[-1] + 2 * v.shape[-1] + 5))


TASK = Task(
    id="Fusion/attention",
    entry="attention",
    signature="attention(q, k, v, causal: bool=False, softmax_scale=None, *, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=1, slack=lambda **_: 1.0, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
