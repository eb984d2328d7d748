"""Math/signbit_bitwise_and: the sign bit, and a bitwise AND of integers, as a pair."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Exact
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
A tuple of two tensors, element by element:

    sign = whether the sign bit of `input` is set                  bool
    both = int8(input) & int8(other)                               int8

The sign bit is set for negative values and for -0.0. int8(input) truncates towards zero (-2.9 becomes -2, and 0.9 and
-0.9 become 0); the bitwise AND is that of two's complement. `input` is float32 with values between -128 and 128,
exclusively; `other` is int8, or bool (which counts as 0 and 1), of the same shape. Each has any strides, any number of
dimensions (none too), and may be empty. Both results have the shape of the input.
"""


def reference(input: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.signbit(input), input.to(torch.int8) & other.to(torch.int8)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=-127.9, high=127.9)


def integers(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.integers(-128, 127, *shape, dtype=torch.int8)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix", (values(draw, 7, 33), integers(draw, 7, 33)))
    yield Case("booleans", (values(draw, 2, 3, 19), draw.mask(2, 3, 19)))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    n = 2 * draw.size(550, 1000) + 1
    yield Case("several blocks", (values(draw, n), integers(draw, n)))
    yield Case("strided and transposed", (draw.strided(values(draw, rows, cols)), integers(draw, cols, rows).T))
    yield Case("strided booleans", (values(draw, cols, rows).T, draw.strided(draw.mask(rows, cols))))
    yield Case("one element", (values(draw, 1), integers(draw, 1)))
    yield Case("no dimensions", (values(draw), integers(draw)))
    yield Case("empty", (values(draw, 0, cols), integers(draw, 0, cols)))
    small = [0.0, -0.0, 0.9, -0.9, -1.0, 1.9, -1e-30, 1e-30, -127.99, 127.99]
    zeros = unary.among(draw, values, small)
    yield Case("zeros and fractions", (zeros, torch.full_like(zeros, -1, dtype=torch.int8)))


def timed(draw: Draw) -> Iterator[Case]:
    for shape in unary.LARGE:
        yield Case(" x ".join(map(str, shape)), (values(draw, *shape), integers(draw, *shape)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for shape in unary.SMALL:
        yield Case(" x ".join(map(str, shape)), (values(draw, *shape), integers(draw, *shape)))


def cost(input: torch.Tensor, other: torch.Tensor) -> Cost:
    return Cost(nbytes(input, other) + 2 * input.numel(), 2 * input.numel())


TASK = Task(
    id="Math/signbit_bitwise_and",
    entry="signbit_bitwise_and",
    signature="signbit_bitwise_and(input: torch.Tensor, other: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Exact(),
    cost=cost,
)
