"""Math/i0: the modified Bessel function of the first kind of order 0."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The modified Bessel function of the first kind of order 0, element by element; it is even, and at least 1:

    I0(x) = sum_k (x^2 / 4)^k / (k!)^2,      I0(x) ~ exp(|x|) / sqrt(2 pi |x|)   for large |x|

`input_tensor` is float32, with any number of dimensions (perhaps none) and any strides; an empty tensor gives an empty
one. The result is float32, of its shape. With `out` given (contiguous, of that shape and dtype) the result is written
into `out`, and `out` itself is returned. NaN gives NaN; infinity does not occur. Results too large for float32
(|x| > 95) are +inf; values of |x| between 85 and 95 do not occur.

The error may be 4 eps (2 + |x|) I0(x), eps of float32 (1.2e-7): an exponential magnifies the rounding of its argument
by the argument's own size.
"""


def reference(input_tensor: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    values: torch.Tensor = torch.special.i0(input_tensor)
    return values if out is None else out.copy_(values)


def magnitude(input_tensor: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    x = input_tensor.double()
    size: torch.Tensor = torch.special.i0(x)
    return size * (1 + x.abs())


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=-20.0, high=20.0)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield unary.out_given(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    yield Case("large arguments", (draw.uniform(3, draw.size(35, 130), low=-85.0, high=85.0),))
    yield Case("small arguments", (draw.normal(draw.size(35, 130), std=draw.pick((1e-6, 0.1, 2.0))),))
    special = (math.nan, 0.0, -0.0, 100.0, -300.0, 8.0, -8.0)
    yield Case("NaN and results that overflow", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values, ((1500, 4099), (3072, 4096)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input_tensor: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input_tensor, 25)


TASK = Task(
    id="Math/i0",
    entry="i0",
    signature="i0(input_tensor, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input_tensor, out: 4.0, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
