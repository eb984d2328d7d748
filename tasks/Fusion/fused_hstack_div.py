"""Fusion/fused_hstack_div: tensors side by side, divided by something, the quotients rounded if asked."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Tensors put side by side, and the whole divided by `divisor`:

    y = round(hstack(tensors) / divisor)

`tensors` is a list or tuple of one or more tensors of the same dtype, float32 or int64. They are joined along
dimension 1 (one-dimensional ones along dimension 0), and have the same size in all other dimensions. `divisor` is a
number, or a float32 or int64 tensor that is broadcast to the joined shape. All tensors may have any strides. The result
is float32: int64 values (less than 2**24 in magnitude) are converted to float32 ahead of the division.

`rounding_mode`: None leaves the quotient as it is, 'trunc' rounds it towards zero and 'floor' towards minus infinity,
to a float32 whole number. With a rounding mode (float32 tensors and divisors only), no quotient lies within 1e-3 of a
whole number, and no divisor is 0: how the division itself rounds makes no difference.
`out`, when given, is a contiguous float32 tensor of the result's shape: the result is written into it, and `out` itself
is returned.
Without rounding, x / 0 is inf or -inf, and 0 / 0 NaN; NaN and infinity follow IEEE arithmetic.
"""

Tensors = list[torch.Tensor] | tuple[torch.Tensor, ...]
Divisor = torch.Tensor | float


def reference(
    tensors: Tensors, divisor: Divisor, *, rounding_mode: str | None = None, out: torch.Tensor | None = None
) -> torch.Tensor:
    result = torch.div(torch.hstack(tuple(tensors)), divisor, rounding_mode=rounding_mode)
    return result if out is None else out.copy_(result)


def divisors(draw: Draw, *shape: int) -> torch.Tensor:
    """Numbers of either sign, away from zero."""
    return draw.uniform(*shape, low=0.5, high=3.0) * (1 - 2 * draw.mask(*shape).float())


def between(draw: Draw, divisor: torch.Tensor) -> torch.Tensor:
    """What gives quotients between whole numbers, but not near one."""
    quotient = draw.integers(-20, 20, *divisor.shape) + draw.uniform(*divisor.shape, low=0.05, high=0.95)
    return quotient * divisor


def public(draw: Draw) -> Iterator[Case]:
    yield Case("two matrices, a number", ([draw.normal(7, 33), draw.normal(7, 10)], 2.5))
    yield Case("three vectors, a tensor", ((draw.normal(5), draw.normal(40), draw.normal(1)), divisors(draw, 46)))
    divisor = divisors(draw, 6, 21)
    rounded = list(between(draw, divisor).tensor_split([8], 1))
    yield Case("floor", ([part.clone() for part in rounded], divisor), {"rounding_mode": "floor"})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, first, second = draw.size(3, 9), draw.size(35, 90), draw.size(17, 45)
    width = first + second
    yield Case("one tensor", ([draw.normal(rows, first)], divisors(draw, rows, 1)))
    volume = (draw.normal(2, 3, second), draw.normal(2, 1, second), draw.normal(2, 5, second))
    yield Case("three dimensions, one row of divisors", (volume, divisors(draw, second)))
    many = [draw.normal(rows, draw.size(1, 40)) for _ in range(6)]
    yield Case("six tensors", (many, -0.7))
    for mode in ("trunc", "floor"):
        divisor = divisors(draw, rows, width)
        parts = between(draw, divisor).tensor_split([first], 1)
        yield Case(f"{mode}, tensors that are views", (parts, divisor), {"rounding_mode": mode})
    number = draw.pick([1.5, -2.25])
    whole = between(draw, torch.full((rows, width), number))
    negative = [part.clone() for part in whole.tensor_split([first], 1)]
    yield Case("floor, a number", (negative, number), {"rounding_mode": "floor"})
    integers = [draw.integers(-999, 999, rows, first), draw.integers(-999, 999, rows, second)]
    yield Case("int64", (integers, draw.integers(1, 9, width)))
    yield Case("one element", ([draw.normal(1)], 3))
    views = [draw.strided(draw.normal(rows, first)), draw.normal(second, rows).T]
    yield Case("strided and transposed", (views, draw.strided(divisors(draw, rows, width))))
    pair = [draw.normal(rows, first), draw.normal(rows, second)]
    yield Case("out given", (pair, divisors(draw, width)), {"out": draw.normal(rows, width)})
    special = draw.normal(2, first)
    special[0, :4] = torch.tensor([math.nan, math.inf, -math.inf, 0.0])
    divisor = divisors(draw, 2, width)
    divisor[0, 3:6] = 0.0
    divisor[1, :2] = torch.tensor([math.inf, math.nan])
    yield Case("NaN, infinity and division by zero", ([special, draw.normal(2, second)], divisor))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("3000 x (2000, 1500), a number", ([draw.normal(3000, 2000), draw.normal(3000, 1500)], 1.7))
    four = [draw.normal(2500, 1000) for _ in range(4)]
    yield Case("2500 x 4 times 1000, a tensor", (four, divisors(draw, 2500, 4000)))
    divisor = divisors(draw, 2000, 6000)
    parts = [part.clone() for part in between(draw, divisor).tensor_split([1000], 1)]
    yield Case("2000 x (1000, 5000), floor", (parts, divisor), {"rounding_mode": "floor"})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("40 x (90, 61), a tensor", ([draw.normal(40, 90), draw.normal(40, 61)], divisors(draw, 40, 151)))
    yield Case("50 x 3 times 43, a number", ([draw.normal(50, 43) for _ in range(3)], 1.7))


def cost(
    tensors: Tensors, divisor: Divisor, *, rounding_mode: str | None = None, out: torch.Tensor | None = None
) -> Cost:
    results = sum(t.numel() for t in tensors)
    divided = nbytes(divisor) if isinstance(divisor, torch.Tensor) else 0
    return Cost(nbytes(*tensors) + divided + 4 * results, results)


TASK = Task(
    id="Fusion/fused_hstack_div",
    entry="fused_hstack_div",
    aliases=("hstack_div",),
    signature="fused_hstack_div(tensors, divisor, *, rounding_mode=None, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(),
    cost=cost,
    writes_to="out",
)
