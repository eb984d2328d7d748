"""Fusion/fused_mul_sub: a product, less a scaled tensor."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
A product and a scaled subtraction, element by element, in float32:

    y = input * other_mul - alpha * other_sub

`input` is a float32 tensor; `other_mul` and `other_sub` are float32 tensors or numbers, and `alpha` is a number. All
tensors are broadcast against each other, and may have any strides; the result is float32 of the common shape.
`out`, when given, is a contiguous float32 tensor of that shape: the result is written into it, and `out` itself is
returned.
NaN and infinity follow IEEE arithmetic: inf * 0 and inf - inf give NaN.
"""

Operand = torch.Tensor | float


def reference(
    input: torch.Tensor, other_mul: Operand, other_sub: Operand, alpha: float = 1, out: torch.Tensor | None = None
) -> torch.Tensor:
    result = input * other_mul - alpha * other_sub
    return result if out is None else out.copy_(result)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("three matrices", tuple(draw.normal(7, 33) for _ in range(3)))
    yield Case("a row, a column and alpha", (draw.normal(9, 21), draw.normal(21), draw.normal(9, 1)), {"alpha": 2.5})
    yield Case("numbers", (draw.normal(41), 3.0, 0.5))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    long = 2 * draw.size(550, 1000) + 1
    yield Case("several blocks, alpha", tuple(draw.normal(long) for _ in range(3)), {"alpha": draw.pick([-0.7, 1.3])})
    views = (draw.strided(draw.normal(rows, cols)), draw.normal(cols, rows).T, draw.strided(draw.normal(cols)))
    yield Case("strided and transposed views", views, {"alpha": 2})
    everything = (draw.normal(2, rows, 1), draw.normal(cols), draw.normal(2, 1, cols))
    yield Case("all broadcast", everything, {"alpha": 0.25})
    yield Case("the subtrahend is the largest", (draw.normal(cols), draw.normal(1), draw.normal(rows, cols)))
    yield Case("factor a number", (draw.normal(rows, cols), -2, draw.normal(rows, cols)), {"alpha": 3})
    yield Case("subtrahend a number", (draw.normal(rows, cols), draw.normal(rows, cols), 7), {"alpha": 0.3})
    yield Case("one element", (draw.normal(1), draw.normal(1), draw.normal(1)), {"alpha": 2})
    given = {"alpha": -1, "out": draw.normal(rows, cols)}
    yield Case("out given", tuple(draw.normal(rows, cols) for _ in range(3)), given)
    left, right = draw.normal(rows, cols, mean=1000.0), draw.normal(rows, cols, mean=100.0)
    yield Case("large terms that cancel", (left, right, left * right + draw.normal(rows, cols)))
    special = draw.normal(4, cols)
    special[0, :3] = torch.tensor([math.nan, math.inf, -math.inf])
    factor = draw.normal(4, cols)
    factor[0, 1] = 0.0
    subtrahend = draw.normal(4, cols)
    subtrahend[1, :2] = torch.tensor([math.inf, math.nan])
    yield Case("NaN and infinity", (special, factor, subtrahend))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("1500 x 4099", tuple(draw.normal(1500, 4099) for _ in range(3)))
    yield Case("3000 x 3500, alpha", tuple(draw.normal(3000, 3500) for _ in range(3)), {"alpha": 0.5})
    row = (draw.normal(4096, 4096), draw.normal(4096), draw.normal(4096))
    yield Case("4096 x 4096 and two rows", row, {"alpha": 2})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("40 x 250", tuple(draw.normal(40, 250) for _ in range(3)))
    yield Case("16 x 1001 and two rows", (draw.normal(16, 1001), draw.normal(1001), draw.normal(1001)), {"alpha": 2})


def magnitude(
    input: torch.Tensor, other_mul: Operand, other_sub: Operand, alpha: float, out: torch.Tensor | None
) -> torch.Tensor:
    factor, subtrahend = (torch.as_tensor(other).double() for other in (other_mul, other_sub))
    return (input.double() * factor).abs() + (alpha * subtrahend).abs()


def cost(
    input: torch.Tensor, other_mul: Operand, other_sub: Operand, alpha: float = 1, out: torch.Tensor | None = None
) -> Cost:
    tensors = [t for t in (input, other_mul, other_sub) if isinstance(t, torch.Tensor)]
    shapes = [torch.as_tensor(t, device="meta") for t in (input, other_mul, other_sub)]
    results = (shapes[0] * shapes[1] - shapes[2]).numel()
    return Cost(nbytes(*tensors) + results * input.element_size(), 3 * results)


TASK = Task(
    id="Fusion/fused_mul_sub",
    entry="fused_mul_sub",
    aliases=("mul_sub",),
    signature="fused_mul_sub(input, other_mul, other_sub, alpha=1, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda **_: 2.0, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
