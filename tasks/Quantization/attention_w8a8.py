"""Quantization/attention_w8a8: scaled dot-product attention with query, key and value quantised to int8 at run time."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.quantised import doubt, quantise
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Scaled dot-product attention on int8 values: `query` (..., L, D), `key` (..., S, D) and `value` (..., S, D) are float32
with the same leading dimensions (one of them: batch; or two: batch and heads), any strides and finite values. L and
S may differ. The result is (..., L, D), float32. There is no mask and no dropout. For each batch and head:

    sq[i] = max_d |query[i, d]| / 127                     one scale for each row (token) of query
    sk[j] = max_d |key[j, d]| / 127                       one scale for each row (token) of key
    sv[d] = max_j |value[j, d]| / 127                     one scale for each column (channel) of value
    qq[i, d] = rint(query[i, d] / sq[i]),  qk[j, d] = rint(key[j, d] / sk[j]),  qv[j, d] = rint(value[j, d] / sv[d])
                                                          int8, -127..127
    acc[i, j] = sum_d qq[i, d] * qk[j, d]                 int32
    score[i, j] = acc[i, j] * sq[i] * sk[j] / sqrt(D)     float32
    p[i, j] = exp(score[i, j]) / sum_j exp(score[i, j])   float32, computed so that large scores don't overflow
    result[i, d] = sv[d] * sum_j p[i, j] * qv[j, d]       float32; p is not quantised

Scales and quotients are float32 divisions, and rint rounds to the nearest integer, half to even. (`/` in Triton is a
little less exact than an IEEE division, which `tl.div_rn` is: a quotient within a few units in the last place of a
half-integer may be rounded either way, no other.) A row or a column of zeros is quantised to zeros.
The probabilities and their products with qv are full float32 (errors of p up to 2**-24 don't matter): float16,
bfloat16 and tf32 are too coarse, so a `tl.dot` of float32 tiles needs `input_precision="ieee"`. The result is that of
the quantised scheme; plain float32 attention is wrong, and so is a scale that several rows, columns, heads or batches
share.
"""


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, work: torch.dtype) -> torch.Tensor:
    """The scheme with scales and decisions in float32, and all that follows from them in `work`."""
    (qq, sq), (qk, sk), (qv, sv) = quantise(query, -1), quantise(key, -1), quantise(value, -2)
    # every integer below 2**53 is a float64, so this is the integer product
    acc = qq.double() @ qk.double().mT
    scores = acc.to(work) * sq.to(work) * sk.mT.to(work) / math.sqrt(query.shape[-1])
    return (scores.softmax(-1) @ qv.to(work)) * sv.to(work)


def reference(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return attend(query, key, value, torch.float32)


def exact(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return attend(query.float(), key.float(), value.float(), torch.float64)


def magnitude(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """What float32 arithmetic may blur, plus one step of the grid for each decision in doubt; unit: float32 eps."""
    (qq, sq), (qk, sk), (qv, sv) = quantise(query, -1), quantise(key, -1), quantise(value, -2)
    qq, qk, qv, sv = qq.double(), qk.double(), qv.double(), sv.double()
    doubt_q, doubt_k, doubt_v = doubt(query, -1), doubt(key, -1), doubt(value, -2)
    unit = sq.double() * sk.double().mT / math.sqrt(query.shape[-1])
    scores = qq @ qk.mT * unit
    p, size_v = scores.softmax(-1), qv.abs() * sv
    # exp amplifies the rounding of its argument by the argument's own size, in p and in the sum that divides it
    relative = 4 * math.sqrt(key.shape[-2]) + 8 + 6 * scores.abs().amax(-1, keepdim=True)
    plain = p @ size_v
    steps = (p @ doubt_v) * sv
    if doubt_q.any() or doubt_k.any():
        shift = (doubt_q @ (qk.abs() + doubt_k).mT + qq.abs() @ doubt_k.mT) * unit
        moved = p * torch.expm1(2 * shift)
        steps = steps + moved @ size_v + moved.sum(-1, keepdim=True) * plain
    # probabilities need not be more exact than 1 in float32: a tiny one may be lost
    return relative * plain + 127 * sv + steps / torch.finfo(torch.float32).eps


def trio(draw: Draw, *lead: int, rows: int, keys: int, depth: int, std: float = 1.0) -> tuple[torch.Tensor, ...]:
    """Query, key and value."""
    query, key = (draw.normal(*lead, size, depth, std=std) for size in (rows, keys))
    return query, key, draw.normal(*lead, keys, depth)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small", trio(draw, 2, 3, rows=9, keys=9, depth=33))
    yield Case("batch only, more keys than queries", trio(draw, 2, rows=5, keys=37, depth=21))
    query, key, value = trio(draw, 1, 2, rows=17, keys=19, depth=16)
    yield Case("channels of unequal size", (query, key, value * draw.uniform(16, low=0.1, high=9)))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, keys, depth = draw.size(5, 20), 2 * draw.size(10, 20) + 1, 2 * draw.size(9, 20) + 1
    query, key, value = trio(draw, 2, 2, rows=rows, keys=keys, depth=depth)
    query[:, :, draw.size(0, rows - 1)] *= 7
    key[:, 1, draw.size(0, keys - 1)] *= 5
    value[..., draw.size(0, depth - 1)] *= 60
    value[1, :, draw.size(0, keys - 1)] *= 9
    yield Case("outlier tokens and channels", (query, key, value))
    yield Case("scores beyond the range of exp", trio(draw, 1, 1, rows=rows, keys=keys, depth=depth, std=13.0))
    query, key, value = trio(draw, 3, 1, rows=rows, keys=33, depth=depth)
    spread = torch.tensor([0.05, 1.0, 6.0]).view(3, 1, 1, 1)
    yield Case("batches of unequal size", (query * spread, key, value / spread))
    yield Case("long reduction, one query", trio(draw, 1, 1, rows=1, keys=2 * draw.size(100, 130) + 1, depth=17))
    yield Case("one key", trio(draw, 2, 1, rows=rows, keys=1, depth=depth))
    yield Case("D = 1", trio(draw, 1, 2, rows=7, keys=keys, depth=1))
    query, key, value = trio(draw, 1, 2, rows=rows, keys=keys, depth=depth)
    value[..., draw.size(0, depth - 1)] = 0
    query[:, :, 0] = 0
    yield Case("tokens and channels of zeros", (query, key, value))
    heads_last = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in trio(draw, 1, 3, rows=7, keys=21, depth=19))
    query, key, value = heads_last
    yield Case("heads inside tokens, strided query", (draw.strided(query), key, value))


def timed(draw: Draw) -> Iterator[Case]:
    for b, h, rows, keys, depth in ((2, 16, 512, 512, 64), (1, 16, 1000, 1000, 64), (4, 8, 384, 777, 128)):
        yield Case(f"{b} x {h} x {rows} x {keys} x {depth}", trio(draw, b, h, rows=rows, keys=keys, depth=depth))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for b, h, rows, keys, depth in ((1, 2, 100, 90, 33), (2, 1, 70, 130, 48)):
        yield Case(f"{b} x {h} x {rows} x {keys} x {depth}", trio(draw, b, h, rows=rows, keys=keys, depth=depth))


def cost(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> Cost:
    return Cost(nbytes(query, key, value, query), 4 * query.numel() * key.shape[-2])


TASK = Task(
    id="Quantization/attention_w8a8",
    entry="attention_w8a8",
    signature="attention_w8a8(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor)",
    text=TEXT,
    reference=reference,
    exact=exact,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=8, slack=lambda query, key, value: 1.0, magnitude=magnitude),
    cost=cost,
)
