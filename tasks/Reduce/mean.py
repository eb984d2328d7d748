"""Reduce/mean: the arithmetic mean of a tensor along some of its dimensions."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The arithmetic mean of `input_tensor` along the dimensions `dim`: an int, a tuple or list of different ints, or None for
all dimensions; negative values count from the end. The reduced dimensions are removed, or kept with size 1 where
`keepdim` is true.

`input_tensor` is float32 or int32, with one to five dimensions and any strides. With `dtype` given (float32 or float64)
every element is converted to it first and the result has it; otherwise the result is float32 (int32 inputs always come
with `dtype`). Float32 sums may be made in any order in float32; float64 ones need float64 arithmetic.
With `out` given (contiguous, of the right shape, and of the dtype of the result), the result is written into `out`, and
`out` itself is returned.
NaN, or infinities of both signs, gives NaN; infinities of one sign give that. No reduced dimension is empty.
"""

Dims = int | tuple[int, ...] | list[int] | None


def reference(
    input_tensor: torch.Tensor,
    dim: Dims,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    values = torch.mean(input_tensor, dim, keepdim, dtype=dtype)
    return values if out is None else out.copy_(values)


def reduced(input_tensor: torch.Tensor, dim: Dims) -> int:
    """How many elements each result averages."""
    dims = range(input_tensor.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    return math.prod(input_tensor.shape[d] for d in dims)


def slack(input_tensor: torch.Tensor, dim: Dims, **_: object) -> float:
    return 4 * math.sqrt(max(1, reduced(input_tensor, dim)))


def magnitude(input_tensor: torch.Tensor, dim: Dims, keepdim: bool, **_: object) -> torch.Tensor:
    return torch.mean(input_tensor.double().abs(), dim, keepdim)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("last dimension", (draw.normal(6, 37), 1))
    yield Case("first dimension, kept", (draw.normal(21, 9), 0), {"keepdim": True})
    yield Case("int32", (draw.integers(-50, 50, 5, 33, dtype=torch.int32), -1), {"dtype": torch.float32})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("middle dimension", (draw.normal(3, draw.size(35, 60), draw.size(5, 19)), -2))
    yield Case("longer than one block", (draw.normal(2, draw.size(1100, 1900), mean=1.0), 1, True))
    yield Case("whole tensor", (draw.normal(5, 3, cols), None))
    yield Case("first and last dimension", (draw.normal(rows, 7, draw.size(20, 40)), (0, -1), True))
    yield Case("two dimensions of four", (draw.normal(2, 5, rows, 13), [1, 2]))
    yield Case("float64 result", (draw.normal(rows, cols, std=1000.0), 1, False), {"dtype": torch.float64})
    integers = draw.integers(-99999, 99999, cols, rows, dtype=torch.int32)
    yield Case("int32 along the first dimension", (integers, 0), {"dtype": torch.float32})
    yield Case("out given", (draw.normal(rows, cols), 1), {"out": draw.normal(rows)})
    kept = {"keepdim": True, "out": draw.normal(1, cols)}
    yield Case("out given, dimension kept", (draw.normal(rows, cols), 0), kept)
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
    yield Case("64 x 500 x 700, first and last", (draw.normal(64, 500, 700), (0, 2)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, last", (draw.normal(24, 600), -1))
    yield Case("3 x 50 x 70, middle", (draw.normal(3, 50, 70), 1))


def cost(
    input_tensor: torch.Tensor,
    dim: Dims,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> Cost:
    results = input_tensor.numel() // reduced(input_tensor, dim)
    written = results * (dtype or torch.float32).itemsize
    return Cost(input_tensor.numel() * input_tensor.element_size() + written, input_tensor.numel() + results)


TASK = Task(
    id="Reduce/mean",
    entry="mean",
    signature="mean(input_tensor, dim, keepdim=False, dtype=None, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
