"""Reduce/min: the smallest value along a dimension, and where it stands."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
The smallest value of `input_tensor` along dimension `dim`, and its index: a tuple (values, indices) with values of the
input's dtype and indices as int64.

`dim` is an int; a negative one counts from the end. The reduced dimension is removed from both results, or kept with
size 1 where `keepdim` is true. It is never empty.
Of several equal minima any index is right; -0.0 equals 0.0. A slice with NaNs gives NaN, and the index of one of them.
Infinities are ordinary values: a slice of nothing but +inf gives +inf and any of its indices.
The input is float32 or int64, with any number of dimensions (at least one) and any strides. Values are compared at full
precision: neither float32 nor int64 may be rounded to a narrower type.
"""


def reference(input_tensor: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    values, indices = torch.min(input_tensor, dim, keepdim)
    return values, indices


def check(arguments: dict[str, Any], returned: tuple[torch.Tensor, torch.Tensor], native: Any) -> str | None:
    values, indices = returned
    least: torch.Tensor = native[0]
    x, dim = arguments["input_tensor"], arguments["dim"]
    if found := _different("values", values, least):
        return found
    outside = (indices < 0) | (indices >= x.shape[dim])
    if outside.any():
        return f"indices: {int(indices[outside][0])} is not between 0 and {x.shape[dim] - 1}"
    index = indices if arguments["keepdim"] else indices.unsqueeze(dim)
    there = x.gather(dim, index)
    return _different("the elements at indices", there if arguments["keepdim"] else there.squeeze(dim), least)


def _different(name: str, have: torch.Tensor, want: torch.Tensor) -> str | None:
    wrong = have != want
    if want.is_floating_point():
        wrong &= ~(have.isnan() & want.isnan())
    if not wrong.any():
        return None
    place = tuple(int(i) for i in wrong.nonzero()[0])
    first = f"the first, at {place}, is {have[place].item()} and should be {want[place].item()}"
    return f"{name}: {int(wrong.sum())} of {wrong.numel()} are not the minimum; {first}"


def public(draw: Draw) -> Iterator[Case]:
    yield Case("last dimension", (draw.normal(6, 37), 1))
    yield Case("first dimension, kept", (draw.normal(21, 9), 0), {"keepdim": True})
    yield Case("int64", (draw.integers(-1000, 1000, 5, 33), -1))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("middle dimension", (draw.normal(3, draw.size(35, 60), draw.size(5, 19)), -2, draw.pick([True, False])))
    yield Case("size 1 along dim", (draw.normal(rows, 1, 5), 1))
    yield Case("longer than one block", (draw.normal(2, draw.size(1030, 1900)), -1, True))
    yield Case("one dimension", (draw.normal(cols), 0))
    yield Case("all positive", (draw.uniform(rows, cols, low=3.0, high=4.0), 1))
    yield Case("ties", (draw.integers(0, 3, rows, cols).float(), 1))
    yield Case("large values close together", (draw.normal(rows, cols, mean=1000.0, std=0.25), -1))
    wide = 2**60 + draw.integers(0, 200, cols, rows)
    yield Case("int64 beyond float precision", (wide * (1 - 2 * draw.size(0, 1)), 0))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)), -1))
    yield Case("transposed view", (draw.normal(cols, rows).T, 0))
    special = draw.normal(5, cols)
    half = cols // 2
    special[0, [half, cols - 2]] = math.nan
    special[1, 0], special[1, half] = -math.inf, math.nan
    special[2] = math.inf
    special[3, half] = -math.inf
    special[4] = special[4].abs() + 1
    special[4, [half, half + 5]] = torch.tensor([-0.0, 0.0])
    yield Case("NaN, infinity and signed zeros", (special, 1))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("16384 x 2000, last", (draw.normal(16384, 2000), -1))
    yield Case("1000 x 32000, last", (draw.normal(1000, 32000), -1))
    yield Case("30 x 500 x 2048, middle", (draw.normal(30, 500, 2048), 1))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, last", (draw.normal(24, 600), -1))
    yield Case("4 x 50 x 70, middle", (draw.normal(4, 50, 70), 1))


def cost(input_tensor: torch.Tensor, dim: int, keepdim: bool = False) -> Cost:
    n, size = input_tensor.numel(), input_tensor.element_size()
    results = n // input_tensor.shape[dim]
    return Cost(n * size + results * (size + torch.int64.itemsize), n)


TASK = Task(
    id="Reduce/min",
    entry="min",
    signature="min(input_tensor, dim, keepdim=False)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
)
