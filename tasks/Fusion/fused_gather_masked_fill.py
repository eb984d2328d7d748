"""Fusion/fused_gather_masked_fill: elements gathered along a dimension, some of them replaced by a value."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Exact
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Elements gathered along dimension `dim`, and then a fixed value where the mask is true. For three dimensions and dim=1:

    y[i, j, k] = value                          where mask[i, j, k]
    y[i, j, k] = input[i, index[i, j, k], k]    elsewhere

and likewise for any number of dimensions (at least one) and any `dim`, which may be negative. `input` is float32 or
int64; the result has its dtype and the shape of `index`. `index` (int64) has as many dimensions as `input` and is no
larger than it in each dimension but `dim`; its values lie in 0..input.shape[dim]-1, repeats included. `mask` (bool) is
broadcast to the shape of `index`. `value` is a number, or a tensor of the input's dtype without dimensions. All tensors
may have any strides.
`sparse_grad` concerns gradients and has no effect here.
`out`, when given, is a contiguous tensor of the result's shape and dtype: the result is written into it, and `out`
itself is returned.
Values are copied as they are, all 64 bits of an int64, NaN and infinity included; `value` may be infinite or NaN.
"""

Value = torch.Tensor | float


def reference(
    input: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    mask: torch.Tensor,
    value: Value,
    *,
    sparse_grad: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    result = torch.gather(input, dim, index, sparse_grad=sparse_grad).masked_fill(mask, value)
    return result if out is None else out.copy_(result)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("columns", (draw.normal(7, 33), 1, draw.integers(0, 32, 7, 19), draw.mask(7, 19), -1.5))
    yield Case("rows, fewer columns", (draw.normal(9, 41), 0, draw.integers(0, 8, 12, 30), draw.mask(12, 30), 0.0))
    int64 = (draw.integers(-99, 99, 5, 21), 1, draw.integers(0, 20, 5, 21), draw.mask(21), 7)
    yield Case("int64, mask of one row", int64)


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols, picks = draw.size(3, 9), draw.size(35, 130), draw.size(17, 45)

    def index(*shape: int, among: int) -> torch.Tensor:
        return draw.integers(0, among - 1, *shape)

    middle = (draw.normal(3, cols, 11), -2, index(2, picks, 7, among=cols), draw.mask(2, picks, 7, p=0.3), 2.0)
    yield Case("middle dimension, smaller index", middle)
    long = draw.size(500, 900)
    several = (draw.normal(3, long), 1, index(3, long, among=long), draw.mask(3, long, p=0.2), math.inf)
    yield Case("several blocks, filled with infinity", several)
    yield Case("vector", (draw.normal(cols), 0, index(picks, among=cols), draw.mask(picks), math.nan))
    column = (draw.normal(rows, cols), 1, index(rows, picks, among=cols), draw.mask(rows, 1), draw.normal())
    yield Case("mask of one column, value a tensor", column)
    wide = 2**60 + draw.integers(0, 99, rows, cols)
    yield Case(
        "int64 beyond float precision", (wide, 0, index(picks, cols, among=rows), draw.mask(picks, cols), 2**60 + 1)
    )
    integer = (draw.integers(-9, 9, 5, 9), 1, index(5, 7, among=9), draw.mask(5, 7), draw.integers(-9, 9))
    yield Case("int64, value a tensor", integer)
    yield Case("one element", (draw.normal(1), 0, index(1, among=1), torch.zeros(1, dtype=torch.bool), 3))
    strided = (draw.strided(draw.normal(rows, cols)), 1, draw.strided(index(rows, picks, among=cols)))
    yield Case("strided views", (*strided, draw.strided(draw.mask(rows, 2 * picks))[:, :picks], 0.5))
    turned = (draw.normal(cols, rows).T, 0, index(picks, rows, among=rows).T.contiguous()[:, :cols])
    yield Case("transposed view", (*turned, draw.mask(*turned[2].shape), -2))
    everything = (draw.normal(rows, cols), 1, index(rows, picks, among=cols), draw.mask(rows, picks), 4)
    yield Case("out given", everything, {"out": draw.normal(rows, picks)})
    special = draw.normal(4, cols)
    special[:, ::3] = torch.tensor([math.nan, math.inf, -math.inf, -0.0])[:, None]
    yield Case("NaN and infinity", (special, 1, index(4, picks, among=cols), draw.mask(4, picks, p=0.2), 1))


def timed(draw: Draw) -> Iterator[Case]:
    columns = (draw.normal(3000, 4096), 1, draw.integers(0, 4095, 3000, 4000), draw.mask(3000, 4000), -1.0)
    yield Case("3000 x 4000 of 4096 columns", columns)
    rows = (draw.normal(4096, 3000), 0, draw.integers(0, 4095, 4000, 3000), draw.mask(4000, 3000, p=0.1), 0.0)
    yield Case("4000 x 3000 of 4096 rows", rows)
    yield Case("1000 of 1100 columns, int64", (
        draw.integers(-9, 9, 4096, 1100), 1, draw.integers(0, 1099, 4096, 1000), draw.mask(1000), 5
    ))  # fmt: skip


def stand_ins(draw: Draw) -> Iterator[Case]:
    columns = (draw.normal(60, 90), 1, draw.integers(0, 89, 60, 101), draw.mask(60, 101), -1.0)
    yield Case("60 x 101 of 90 columns", columns)
    yield Case("80 x 70 of 50 rows", (draw.normal(50, 70), 0, draw.integers(0, 49, 80, 70), draw.mask(80, 70), 0.0))


def cost(
    input: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    mask: torch.Tensor,
    value: Value,
    *,
    sparse_grad: bool = False,
    out: torch.Tensor | None = None,
) -> Cost:
    """Neither the index nor the input need be read where the mask is true; what is picked twice is read once."""
    kept = (~mask).int().expand(index.shape)
    picked = torch.zeros(input.shape, dtype=torch.int32).scatter_add_(dim, index, kept) > 0
    read = int(kept.sum()) * index.element_size() + int(picked.sum()) * input.element_size() + nbytes(mask)
    return Cost(read + index.numel() * input.element_size(), 0)


TASK = Task(
    id="Fusion/fused_gather_masked_fill",
    entry="fused_gather_masked_fill",
    aliases=("gather_masked_fill",),
    signature="fused_gather_masked_fill(input, dim, index, mask, value, *, sparse_grad=False, out=None)",
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
