"""Math/mul: multiplication of real, integer or complex tensors."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Product, element by element:

    y = input * other

Both are float32, both int64 or both complex64, and the result has their dtype. Float32 products may be a few units in
the last place off; int64 products are exact (they wrap around modulo 2**64). A complex product (a + b i)(c + d i) is
(a c - b d) + (a d + b c) i, with an error of at most a few units of 2**-23 * |input| * |other|; complex values are
finite. For float32, NaN and infinity go through as in any product: inf * 0 is NaN.

`input` and `other` are tensors with any number of dimensions (none too) and any strides; they may be empty. They are
broadcast against each other, and the result has the common shape. Beside a float32 `input`, `other` may be a Python
number, too.
`out`, when given, is a contiguous tensor of the result's shape and dtype: the result is written into it, and `out`
itself is returned. Triton has no complex pointers: `torch.view_as_real` of a tensor is the same memory in float32.
"""


def reference(input: torch.Tensor, other: torch.Tensor | float, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.mul(input, other)
    return y if out is None else out.copy_(y)


def integers(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.integers(-(2**40), 2**40, *shape)


def complexes(draw: Draw, *shape: int) -> torch.Tensor:
    return torch.complex(draw.normal(*shape), draw.normal(*shape))


def strided_complexes(draw: Draw, rows: int, cols: int) -> torch.Tensor:
    """A view of every second column."""
    return complexes(draw, rows, 2 * cols)[:, 1::2]


def public(draw: Draw) -> Iterator[Case]:
    yield Case("two matrices", (unary.normal(draw, 7, 33), unary.normal(draw, 7, 33)))
    yield Case("other of one row", (unary.normal(draw, 5, 21), unary.normal(draw, 21)))
    yield Case("complex", (complexes(draw, 3, 19), complexes(draw, 3, 19)))
    yield Case("integers", (integers(draw, 3, 19), integers(draw, 19)))


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.pairs(draw, unary.normal, unary.normal)
    yield unary.pair_out_given(draw, unary.normal, unary.normal)
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("a number", (draw.normal(rows, cols), draw.size(3, 99) / 7))
    yield Case("integers that wrap around", (draw.strided(integers(draw, rows, cols)), integers(draw, rows, 1)))
    given = {"out": complexes(draw, rows, cols)}
    yield Case("complex, out given", (strided_complexes(draw, rows, cols), complexes(draw, cols)), given)
    yield Case("complex, transposed", (complexes(draw, cols, rows).T, complexes(draw, rows, cols)))
    special = [math.nan, math.inf, -math.inf, 0.0, 1e30, -math.inf]
    yield Case("special values", (unary.among(draw, unary.normal, special), torch.full((), draw.pick([0.0, -2.0]))))


def timed(draw: Draw) -> Iterator[Case]:
    yield from unary.large_pairs(draw, unary.normal, unary.normal)
    yield Case("complex, 1500 x 4099", (complexes(draw, 1500, 4099), complexes(draw, 1500, 4099)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small_pairs(draw, unary.normal, unary.normal)


def magnitude(input: torch.Tensor, other: torch.Tensor | float, out: torch.Tensor | None) -> dict[str, torch.Tensor]:
    """|input| * |other|: the parts of a complex product may cancel."""
    size = input.to(torch.complex128).abs() * (
        other.to(torch.complex128).abs() if isinstance(other, torch.Tensor) else abs(other)
    )
    return unary.sizes(size, out=out)


def cost(input: torch.Tensor, other: torch.Tensor | float, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of_pair(input, other, 6 if input.is_complex() else 1)


TASK = Task(
    id="Math/mul",
    entry="mul",
    signature="mul(input, other, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, other, out: 2.0, magnitude=magnitude),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
