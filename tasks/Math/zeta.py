"""Math/zeta: the Hurwitz zeta function of two broadcast tensors."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The Hurwitz zeta function, with s from `input` and q from `other`, element by element:

    zeta(s, q) = sum_(k>=0) 1 / (k + q)^s

A direct sum converges far too slowly when s is near 1; the Euler-Maclaurin formula gives the rest after N terms
(a = q + N; B_2 = 1/6, B_4 = -1/30, B_6 = 1/42):

    a^(1-s) / (s - 1) + a^(-s) / 2 + sum_(j>=1) B_2j / (2j)! s (s+1) ... (s+2j-2) a^(-s-2j+1)

Both tensors are float32, with any number of dimensions (perhaps none) and any strides, and are broadcast against each
other. The result is float32, of the common shape; an empty one may occur. With `out` given (contiguous, of that shape
and dtype) the result is written into `out`, and `out` itself is returned.
q is positive (at least 0.05), s at most 40. s = 1 gives +inf, s < 1 gives NaN, NaN in either gives NaN. Infinity does
not occur, and no result overflows; results below the smallest normal float32 may be 0.

The error may be 4 eps y + 8 eps y (1 + s max(1, |log q|)), with y the result and eps of float32 (1.2e-7): rounding the
exponent of q^(-s) = exp(-s log q) costs that much.
"""


def reference(input: torch.Tensor, other: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    values: torch.Tensor = torch.special.zeta(input, other)
    return values if out is None else out.copy_(values)


def magnitude(input: torch.Tensor, other: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    s, q = input.double(), other.double()
    size: torch.Tensor = torch.special.zeta(s, q).abs()
    return size * (1 + s * q.log().abs().clamp_min(1))


def exponents(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=1.05, high=12.0)


def offsets(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=0.2, high=12.0)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrices", (exponents(draw, 7, 33), offsets(draw, 7, 33)))
    yield Case("one row of q", (exponents(draw, 5, 40), offsets(draw, 40)))
    yield unary.pair_out_given(draw, exponents, offsets)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.pairs(draw, exponents, offsets)
    yield unary.pair_out_given(draw, exponents, offsets)
    n = draw.size(35, 130)
    near = 1 + draw.normal(n, std=draw.pick((0.5, 3.0))).exp() * 1e-3
    yield Case("s just above 1", (near, draw.uniform(n, low=0.1, high=60.0)))
    yield Case("large s", (draw.uniform(3, n, low=12.0, high=40.0), draw.uniform(n, low=0.2, high=5.0)))
    special = unary.among(draw, exponents, (1.0, 0.5, -2.0, math.nan, 2.0))
    q = offsets(draw, *special.shape)
    q[-1, -1] = math.nan
    yield Case("s of 1 and less, NaN", (special, q))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large_pairs(draw, exponents, offsets, ((700, 2999), (1000, 4099)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small_pairs(draw, exponents, offsets)


def cost(input: torch.Tensor, other: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of_pair(input, other, 60)


TASK = Task(
    id="Math/zeta",
    entry="zeta",
    signature="zeta(input: torch.Tensor, other: torch.Tensor, out: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, other, out: 8.0, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
