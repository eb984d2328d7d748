"""Fusion/fused_index_select_eq: slices picked along a dimension, compared with something for equality."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Exact
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Slices of `input` picked along dimension `dim` by `index`, and whether each of their elements equals `other`:

    s[..., j, ...] = input[..., index[j], ...]        (j and index[j] stand in dimension `dim`)
    y = (s == other)

`input` is int64 with any strides; `dim` may be negative. `index` is a one-dimensional int64 tensor of any length, with
any stride, in any order, repeats included; its values lie in 0..input.shape[dim]-1. `other` is an int, or an int64
tensor with any strides that is broadcast to the shape of s. The result is a bool tensor of the shape of s.
All 64 bits count: values beyond 2**53 that differ in their last bit are not equal.
`out`, when given, is a contiguous bool tensor of that shape: the result is written into it, and `out` itself is
returned.
"""

Other = torch.Tensor | int


def reference(
    input: torch.Tensor, dim: int, index: torch.Tensor, other: Other, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    result = torch.eq(torch.index_select(input, dim, index), other)
    return result if out is None else out.copy_(result)


def small(draw: Draw, *shape: int) -> torch.Tensor:
    """Few different values, so that many are equal."""
    return draw.integers(-1, 1, *shape)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("columns, a tensor", (small(draw, 7, 33), 1, draw.integers(0, 32, 19), small(draw, 7, 19)))
    yield Case("rows, a number", (small(draw, 9, 41), 0, draw.integers(0, 8, 5), 1))
    yield Case("rows, one row to compare", (small(draw, 9, 41), 0, draw.integers(0, 8, 13), small(draw, 41)))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols, picks = draw.size(3, 9), draw.size(35, 130), draw.size(17, 45)
    middle = draw.integers(0, rows - 1, picks)
    yield Case("middle dimension", (small(draw, 3, rows, 19), -2, middle, small(draw, 3, picks, 19)))
    long = draw.size(500, 900)
    yield Case("several blocks", (small(draw, 3, long), 1, draw.integers(0, long - 1, long), small(draw, 3, long)))
    yield Case("vector", (small(draw, cols), 0, draw.integers(0, cols - 1, picks), small(draw, picks)))
    yield Case(
        "one column to compare", (small(draw, rows, cols), 1, draw.integers(0, cols - 1, picks), small(draw, rows, 1))
    )
    yield Case("one index", (small(draw, rows, cols), 0, draw.integers(0, rows - 1, 1), 0))
    base = 2**60 + draw.size(0, 99)
    wide = base + draw.integers(0, 1, rows, cols)
    yield Case("beyond float precision", (wide, 1, draw.integers(0, cols - 1, picks), base))
    view = draw.strided(small(draw, rows, cols))
    strided = (view, 1, draw.strided(draw.integers(0, cols - 1, picks)), draw.strided(small(draw, rows, picks)))
    yield Case("strided views", strided)
    turned = (small(draw, cols, rows).T, 0, draw.integers(0, rows - 1, picks), small(draw, cols, picks).T)
    yield Case("transposed views", turned)
    inputs = (small(draw, rows, cols), 1, draw.integers(0, cols - 1, picks), small(draw, rows, picks))
    yield Case("out given", inputs, {"out": draw.mask(rows, picks)})


def timed(draw: Draw) -> Iterator[Case]:
    rows = (small(draw, 4096, 3000), 0, draw.integers(0, 4095, 3000), small(draw, 3000, 3000))
    yield Case("3000 of 4096 rows of 3000", rows)
    columns = (small(draw, 3000, 4096), 1, draw.integers(0, 4095, 2000), small(draw, 3000, 2000))
    yield Case("2000 of 4096 columns", columns)
    yield Case("20000 of 4096 rows, a number", (small(draw, 4096, 1000), 0, draw.integers(0, 4095, 20000), 1))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("70 of 90 rows", (small(draw, 90, 100), 0, draw.integers(0, 89, 70), small(draw, 70, 100)))
    yield Case("50 of 90 columns, a number", (small(draw, 100, 90), 1, draw.integers(0, 89, 50), 1))


def cost(input: torch.Tensor, dim: int, index: torch.Tensor, other: Other, *, out: torch.Tensor | None = None) -> Cost:
    """No more of the input is read than is picked; what is picked twice is read once."""
    slice_size = input.numel() // input.shape[dim]
    read = len(set(index.tolist())) * slice_size * input.element_size()
    compared = nbytes(other) if isinstance(other, torch.Tensor) else 0
    results = index.numel() * slice_size
    return Cost(read + nbytes(index) + compared + results, results)


TASK = Task(
    id="Fusion/fused_index_select_eq",
    entry="fused_index_select_eq",
    aliases=("index_select_eq",),
    signature="fused_index_select_eq(input, dim, index, other, *, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
    writes_to="out",
)
