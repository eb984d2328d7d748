"""Reduce/sum: the sum of a tensor along some of its dimensions."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The sum of `input` along the dimensions `dim`: an int, a tuple or list of different ints, or None for all dimensions;
negative values count from the end. The reduced dimensions are removed, or kept with size 1 where `keepdim` is true.

`input` is float32 or int64, with one to five dimensions and any strides. With `dtype` given (float32, float64 or int64;
int64 only for int64 inputs) every element is converted to it first and the result has it; otherwise the result has the
dtype of the input. Float32 sums may be made in any order in float32, float64 ones need float64 arithmetic. int64 sums
are exact, and wrap around at 64 bits.
`input` is never empty. NaN, or infinities of both signs, gives NaN; infinities of one sign give that.
"""

Dims = int | tuple[int, ...] | list[int] | None


def reference(input: torch.Tensor, dim: Dims, keepdim: bool = False, dtype: torch.dtype | None = None) -> torch.Tensor:
    return torch.sum(input, dim, keepdim, dtype=dtype)


def exact(input: torch.Tensor, dim: Dims, keepdim: bool = False, dtype: torch.dtype | None = None) -> torch.Tensor:
    """In float64, but an int64 sum in integers."""
    wide = torch.int64 if dtype in (None, torch.int64) and not input.is_floating_point() else torch.float64
    return torch.sum(input, dim, keepdim, dtype=wide)


def reduced(input: torch.Tensor, dim: Dims) -> int:
    """How many elements each result adds."""
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    return math.prod(input.shape[d] for d in dims)


def slack(input: torch.Tensor, dim: Dims, keepdim: bool, dtype: torch.dtype | None) -> float:
    return 4 * math.sqrt(max(1, reduced(input, dim)))


def magnitude(input: torch.Tensor, dim: Dims, keepdim: bool, dtype: torch.dtype | None) -> torch.Tensor:
    return torch.sum(input.double().abs(), dim, keepdim)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("last dimension", (draw.normal(6, 37), 1))
    yield Case("first dimension, kept", (draw.normal(21, 9), 0), {"keepdim": True})
    yield Case("int64", (draw.integers(-50, 50, 5, 33), -1))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("middle dimension", (draw.normal(3, draw.size(35, 60), draw.size(5, 19)), -2))
    yield Case("longer than one block", (draw.normal(2, draw.size(2100, 2900), mean=1.0), 1, True))
    yield Case("whole tensor", (draw.normal(5, 3, cols), None))
    yield Case("first and last dimension", (draw.normal(rows, 7, draw.size(20, 40)), (0, -1), True))
    yield Case("two dimensions of four", (draw.normal(2, 5, rows, 13), [1, 2]))
    yield Case("float64 result", (draw.normal(rows, cols, std=1000.0), 1, False), {"dtype": torch.float64})
    wide = 2**60 + draw.integers(0, 2**40, rows, cols)
    yield Case("int64 beyond float precision", (wide, 1), {"keepdim": True})
    yield Case("int64 to float32", (draw.integers(-9999, 9999, cols, rows), 0), {"dtype": torch.float32})
    mixed = draw.normal(rows, cols)
    mixed[:, draw.size(0, cols - 1)] = 3e4
    yield Case("one large value a row", (mixed, 1))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)), -1))
    yield Case("transposed view, whole tensor", (draw.normal(cols, rows).T, None, True))
    yield Case("size 1 along dim", (draw.normal(rows, 1, 5), 1))
    special = draw.normal(6, cols)
    special[0, 3], special[1, 5], special[2, cols - 2] = math.nan, math.inf, -math.inf
    special[3, 1], special[3, cols - 1] = math.inf, -math.inf
    yield Case("NaN and infinity", (special, 1))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("8192 x 4000, last", (draw.normal(8192, 4000), -1))
    yield Case("5000 x 4096, first", (draw.normal(5000, 4096), 0))
    yield Case("2^24 + 3, all", (draw.normal(2**24 + 3), None))
    yield Case("int64, 64 x 500 x 300, middle", (draw.integers(-9999, 9999, 64, 500, 300), 1))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, last", (draw.normal(24, 600), -1))
    yield Case("3 x 50 x 70, middle", (draw.normal(3, 50, 70), 1))


def cost(input: torch.Tensor, dim: Dims, keepdim: bool = False, dtype: torch.dtype | None = None) -> Cost:
    results = input.numel() // max(1, reduced(input, dim))
    return Cost(max(1, input.numel() * input.element_size() + results * (dtype or input.dtype).itemsize), input.numel())


TASK = Task(
    id="Reduce/sum",
    entry="sum",
    signature="sum(input, dim, keepdim=False, dtype=None)",
    text=TEXT,
    reference=reference,
    exact=exact,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
