"""Math/ifftshift: move the middle of each dimension to its start."""

import math
from collections.abc import Iterator, Sequence

import torch

from tasks.draw import Draw
from tasks.judges import Exact
from tasks.task import Case, Cost, Task

TEXT = """\
Undo the shift that puts the zero frequency in the middle: along each dimension that is shifted, of length n,

    y[i] = input[(i + floor(n / 2)) mod n]

(for odd n this differs from the shift in the other direction, by floor((n + 1) / 2) places).

`dim` is an int, a tuple or list of different ints, or None for all dimensions; negative values count from the end.
`input` is float32 or int64 (the dtype is kept), with one to four dimensions and any strides. The result is a new tensor
of its shape. Values are copied as they are: NaN and infinity, and all 64 bits of integers.
"""

Dims = int | Sequence[int] | None


def reference(input: torch.Tensor, dim: Dims = None) -> torch.Tensor:
    shifted: torch.Tensor = torch.fft.ifftshift(input, dim)
    return shifted.contiguous()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("vector of odd length", (draw.normal(33),))
    yield Case("matrix, all dimensions", (draw.normal(7, 20),))
    yield Case("int64, last dimension", (draw.integers(-9, 9, 5, 19), -1))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = 2 * draw.size(2, 5) + 1, 2 * draw.size(17, 60) + 1
    yield Case("several blocks", (draw.normal(2 * draw.size(550, 1000) + 1),))
    yield Case("even sizes", (draw.normal(rows + 1, cols + 1),))
    yield Case("first dimension", (draw.normal(rows, cols), 0))
    yield Case("middle dimension", (draw.normal(3, rows, draw.size(20, 40)), draw.pick((1, -2))))
    yield Case("two of three dimensions", (draw.normal(3, rows, cols // 2), (0, -1)))
    yield Case("four dimensions", (draw.normal(2, rows, 3, 19),))
    yield Case("dimensions as a list", (draw.normal(3, 5, 4, 13), [2, 1]))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)),))
    yield Case("transposed view", (draw.normal(cols, rows).T, 0))
    yield Case("sizes of 1", (draw.normal(1, cols, 1),))
    wide = 2**60 + draw.integers(0, 2**40, rows, cols)
    yield Case("int64 beyond float precision", (wide * (1 - 2 * draw.size(0, 1)),))
    special = draw.normal(rows, cols, std=1e20)
    special[0], special[1, ::3], special[2] = math.nan, math.inf, -math.inf
    yield Case("NaN and infinity", (special, 1))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("4099 x 4096, both", (draw.normal(4099, 4096),))
    yield Case("2^24 + 1", (draw.normal(2**24 + 1),))
    yield Case("int64, 64 x 300 x 400, last two", (draw.integers(-9, 9, 64, 300, 400), (1, 2)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("101 x 110, both", (draw.normal(101, 110),))
    yield Case("int64, 4 x 30 x 41, last two", (draw.integers(-9, 9, 4, 30, 41), (1, 2)))


def cost(input: torch.Tensor, dim: Dims = None) -> Cost:
    return Cost(2 * input.numel() * input.element_size(), 0)


TASK = Task(
    id="Math/ifftshift",
    entry="ifftshift",
    signature="ifftshift(input, dim=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
)
