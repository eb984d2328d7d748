"""Fusion/fused_relu_sqrt: the square root of what is positive, and zero of the rest, in place if asked."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
ReLU and then the square root, element by element, in float32:

    y = sqrt(max(x, 0))

`input` is float32 or int64, with any number of dimensions (none too), any strides, and it may be empty. The result is
float32 of the same shape (int64 values are rounded to float32).
`inplace` (only with float32): the result is written over `input`, whatever its strides are, and `input` itself is
returned. Otherwise `input` stays as it is.
`out` (never together with `inplace`), when given, is a contiguous float32 tensor of the input's shape: the result is
written into it, and `out` itself is returned.
Negative numbers, -inf and -0.0 give 0, +inf gives inf, and NaN gives NaN.
"""


def reference(input: torch.Tensor, inplace: bool = False, out: torch.Tensor | None = None) -> torch.Tensor:
    result = torch.relu(input).sqrt()
    if inplace:
        return input.copy_(result)
    return result if out is None else out.copy_(result)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, unary.normal)
    yield Case("in place", (draw.normal(7, 33, std=9.0),), {"inplace": True})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield from unary.shapes(draw, unary.normal)
    yield unary.out_given(draw, unary.normal)
    yield Case("in place, several blocks", (draw.normal(2 * draw.size(550, 1000) + 1), True))
    yield Case("in place, strided view", (draw.strided(draw.normal(rows, cols)), True))
    yield Case("in place, transposed view", (draw.normal(cols, rows).T,), {"inplace": True})
    yield Case("int64", (draw.integers(-(10**6), 10**6, rows, cols),))
    yield Case("small and large values", (draw.uniform(5, cols, low=-60.0, high=60.0).exp(),))
    special = (math.nan, math.inf, -math.inf, 0.0, -0.0, -1e-30)
    yield Case("NaN, infinity and signed zeros", (unary.among(draw, unary.normal, special),))


def timed(draw: Draw) -> Iterator[Case]:
    yield from unary.large(draw, unary.normal, unary.LARGE[:2])
    yield Case("8192 x 4000, in place", (draw.normal(8192, 4000), True))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("40 x 250", (draw.normal(40, 250),))
    yield Case("16 x 1001, in place", (draw.normal(16, 1001), True))


def cost(input: torch.Tensor, inplace: bool = False, out: torch.Tensor | None = None) -> Cost:
    return Cost(input.numel() * (input.element_size() + 4), 2 * input.numel())


TASK = Task(
    id="Fusion/fused_relu_sqrt",
    entry="fused_relu_sqrt",
    aliases=("relu_sqrt",),
    signature="fused_relu_sqrt(input: Tensor, inplace: bool=False, out: Tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(),
    cost=cost,
    mutates=("input",),
    writes_to="out",
)
