"""Index/permute_copy: the dimensions of a tensor in another order, as a new tensor."""

import math
from collections.abc import Iterator, Sequence

import torch

from tasks.draw import Draw
from tasks.judges import Exact
from tasks.task import Case, Cost, Task

TEXT = """\
A copy of `input` with its dimensions in another order: dimension d of the result is dimension dims[d] of `input`,

    y[i_0, i_1, ...] = input[j_0, j_1, ...]    where j_(dims[d]) = i_d

`dims` is a list or tuple that holds each dimension once; entries may be negative (they count from the end). `input` is
float32 or int64, with one to five dimensions and any strides, and it may be empty. The result is a new tensor of the
same dtype that shares nothing with `input` (a permuted view is not enough), even where `dims` changes nothing.
Values are copied as they are: NaN and infinity, and all 64 bits of integers.
"""


def reference(input: torch.Tensor, dims: Sequence[int]) -> torch.Tensor:
    return input.permute(*dims).clone(memory_format=torch.contiguous_format)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix transposed", (draw.normal(19, 35), [1, 0]))
    yield Case("three dimensions", (draw.normal(5, 7, 11), [2, 0, 1]))
    yield Case("int64", (draw.integers(-9, 9, 4, 6, 5), (0, -1, 1)))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(5, 19), draw.size(35, 70)
    yield Case("several tiles", (draw.normal(cols, draw.size(33, 60)), [1, 0]))
    yield Case("last dimension kept", (draw.normal(3, rows, cols), [1, 0, 2]))
    four = draw.pick(([3, 1, 0, 2], [2, 3, 1, 0], [1, 3, 2, 0]))
    yield Case("four dimensions", (draw.normal(4, rows, 3, 7), four))
    yield Case("five dimensions, negative", (draw.normal(2, 3, rows, 4, 5), [-1, 2, -4, 0, 3]))
    yield Case("nothing changed", (draw.normal(rows, cols), [0, 1]))
    yield Case("one dimension", (draw.normal(20 * cols), [0]))
    yield Case("strided view", (draw.strided(draw.normal(3, rows, cols)), [2, 1, 0]))
    yield Case("transposed view", (draw.normal(cols, rows, 3).transpose(0, 2), draw.pick(([1, 2, 0], [0, 2, 1]))))
    yield Case("sizes of 1", (draw.normal(1, cols, 1, rows), [2, 3, 1, 0]))
    yield Case("empty", (draw.normal(0, rows, 5), [2, 0, 1]))
    wide = 2**60 + draw.integers(0, 2**40, cols, rows)
    yield Case("int64 beyond float precision", (wide * (1 - 2 * draw.size(0, 1)), (1, 0)))
    special = draw.normal(rows, cols, std=1e20)
    special[0], special[1, ::3], special[2] = math.nan, math.inf, -math.inf
    yield Case("NaN and infinity", (special, [1, 0]))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("4096 x 4000 transposed", (draw.normal(4096, 4000), [1, 0]))
    yield Case("64 x 500 x 12 x 64, heads first", (draw.normal(64, 500, 12, 64), [0, 2, 1, 3]))
    yield Case("16 x 64 x 112 x 112, channels last", (draw.normal(16, 64, 112, 112), [0, 2, 3, 1]))
    yield Case("int64, 200 x 300 x 150 reversed", (draw.integers(-9, 9, 200, 300, 150), [2, 1, 0]))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("120 x 130 transposed", (draw.normal(120, 130), [1, 0]))
    yield Case("3 x 40 x 5 x 16, heads first", (draw.normal(3, 40, 5, 16), [0, 2, 1, 3]))


def cost(input: torch.Tensor, dims: Sequence[int]) -> Cost:
    return Cost(max(1, 2 * input.numel() * input.element_size()), 0)


TASK = Task(
    id="Index/permute_copy",
    entry="permute_copy",
    signature="permute_copy(input: torch.Tensor, dims: list)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
)
