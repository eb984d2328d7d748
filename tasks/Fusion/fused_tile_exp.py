"""Fusion/fused_tile_exp: a tensor repeated along its dimensions, and the exponential of it."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
The exponential of `input` repeated as `torch.tile` repeats it, in float32. Dimension k of the result is `dims[k]`
copies of dimension k of the input, one behind the other:

    y[i0, i1, ...] = exp(input[i0 % n0, i1 % n1, ...]),    y has shape (dims[0] * n0, dims[1] * n1, ...)

`dims` is a tuple of positive ints. Where it is shorter than the input's shape, ones are put ahead of it; where it is
longer, dimensions of size 1 are put ahead of the input's (new leading dimensions of the result). `input` is float32
with any strides; the result is float32, has at least one dimension and at most four.
`out`, when given, is a contiguous float32 tensor of the result's shape: the result is written into it, and `out`
itself is returned.
Exponentials are float32: relative errors in proportion to |x| are allowed. NaN gives NaN, +inf gives inf, -inf gives 0.
"""


def reference(input: torch.Tensor, dims: tuple[int, ...], *, out: torch.Tensor | None = None) -> torch.Tensor:
    result = torch.tile(input, dims).exp()
    return result if out is None else out.copy_(result)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix", (draw.normal(5, 33), (2, 3)))
    yield Case("new leading dimension", (draw.normal(7, 19), (3, 1, 1)))
    yield Case("fewer repeats than dimensions", (draw.normal(2, 3, 21), (2,)))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 90)
    yield Case("vector, several blocks", (draw.normal(draw.size(300, 500)), (draw.size(4, 7),)))
    yield Case("two new dimensions, vector", (draw.normal(cols), (2, draw.size(2, 5), 3)))
    yield Case("four dimensions", (draw.normal(2, 3, 5, draw.size(5, 13)), (2, 1, 3, 2)))
    yield Case("no repeats", (draw.normal(rows, cols), (1, 1)))
    yield Case("one element", (draw.normal(1), (draw.size(2, 40),)))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)), (2, 2)))
    yield Case("transposed view", (draw.normal(cols, rows).T, (draw.size(2, 4), 1)))
    yield Case("large values", (draw.normal(rows, cols, std=25.0).clamp(-80.0, 85.0), (1, 3)))
    yield Case("out given", (draw.normal(rows, cols), (2, 3)), {"out": draw.normal(2 * rows, 3 * cols)})
    special = draw.normal(4, cols)
    special[0, draw.size(0, cols - 1)] = math.nan
    special[1, draw.size(0, cols - 1)] = math.inf
    special[2, :3] = -math.inf
    special[3, :2] = torch.tensor([200.0, -200.0])
    yield Case("NaN, infinity and overflow", (special, (2, 2)))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("4096 x 1000, tiled (1, 6)", (draw.normal(4096, 1000), (1, 6)))
    yield Case("2000 x 4096, 4 copies", (draw.normal(2000, 4096), (4, 1, 1)))
    yield Case("64 x 250 x 300, tiled (3, 2, 1)", (draw.normal(64, 250, 300), (3, 2, 1)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("40 x 70, tiled (2, 3)", (draw.normal(40, 70), (2, 3)))
    yield Case("30 x 101, 5 copies", (draw.normal(30, 101), (5, 1, 1)))


def magnitude(input: torch.Tensor, dims: tuple[int, ...], **_: Any) -> torch.Tensor:
    """exp amplifies the rounding of its argument by the argument's own size."""
    x = torch.tile(input.double(), dims)
    return x.exp() * (1 + x.abs().clamp_max(1000.0))


def cost(input: torch.Tensor, dims: tuple[int, ...], *, out: torch.Tensor | None = None) -> Cost:
    results = torch.tile(input.to("meta"), dims)
    return Cost(nbytes(input, results), input.numel())


TASK = Task(
    id="Fusion/fused_tile_exp",
    entry="fused_tile_exp",
    aliases=("tile_exp",),
    signature="fused_tile_exp(input, dims, *, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda **_: 2.0, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
