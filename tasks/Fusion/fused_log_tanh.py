"""Fusion/fused_log_tanh: tanh(log(x)), element by element."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The hyperbolic tangent of the natural logarithm, element by element, in float32:

    y = tanh(log(x)),    which is (x**2 - 1) / (x**2 + 1)

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32 of
the same shape. Either form, or tanh by way of exponentials, is accurate enough as long as nothing overflows: large
finite x give 1, small ones -1.
x = 0 gives -1, x = +inf gives 1; negative x (-inf too) and NaN give NaN, and no exception is raised.
`out`, when given, is a contiguous float32 tensor of the input's shape: the result is written into it, and `out` itself
is returned.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    result = torch.tanh(torch.log(input))
    return result if out is None else out.copy_(result)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    """Positive numbers, most of them near 1, where the result is neither -1 nor 1."""
    return draw.normal(*shape, std=1.2).exp()


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield Case("out given", (values(draw, 7, 33),), {"out": draw.normal(7, 33)})


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    yield Case("close to 1", (draw.normal(5, draw.size(35, 130), mean=1.0, std=0.02),))
    yield Case("many orders of magnitude", (draw.uniform(5, draw.size(35, 130), low=-85.0, high=85.0).exp(),))
    yield Case("zeros, negative numbers, NaN and infinity", (unary.among(draw, values, SPECIAL),))


SPECIAL = (0.0, -0.0, math.nan, math.inf, -math.inf, -1.0, -3e38, 3e38)


def timed(draw: Draw) -> Iterator[Case]:
    yield from unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield from unary.small(draw, values)


def magnitude(input: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """|y|, and what an error of the logarithm (absolute, near x = 1) makes of it."""
    u = input.double().log()
    y = u.tanh()
    return y.abs() + (1 - y * y) * (1 + u.abs().clamp_max(1000.0))


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 10)


TASK = Task(
    id="Fusion/fused_log_tanh",
    entry="fused_log_tanh",
    aliases=("log_tanh",),
    signature="fused_log_tanh(input, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, out: 4.0, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
