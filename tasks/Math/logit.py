"""Math/logit: log(x / (1 - x)), with an optional clamp."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Log-odds, element by element:

    y = log(z / (1 - z)),    z = x                             where eps is None
                             z = min(max(x, eps), 1 - eps)     otherwise (0 < eps < 0.5)

It is computed in float32. The error may be 4 units in the last place of y and 4 * 2**-23 in all: y passes through 0 at
z = 1/2, where log(z) - log(1 - z) cancels. `eps` is a power of 1/2, so eps and 1 - eps are exact.
Without eps: 0 gives -inf, 1 gives +inf, everything outside 0..1 gives NaN. With eps: everything is clamped, infinities
too. NaN gives NaN in either case.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. The result is float32,
of the same shape. `out`, when given, is a contiguous float32 tensor of the input's shape: the result is written into
it, and `out` itself is returned.
"""


def reference(input: torch.Tensor, eps: float | None = None, out: torch.Tensor | None = None) -> torch.Tensor:
    y = torch.special.logit(input, eps)
    return y if out is None else out.copy_(y)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield Case("clamped", (draw.normal(5, 21),), {"eps": 0.125})


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    special = [math.nan, 0.0, 1.0, 0.5, -0.5, 1.5, 1e-30, 0.99999994]
    yield Case("special values", (unary.among(draw, values, special),))
    eps = 2.0 ** -draw.size(2, 7)
    yield Case("clamped", (draw.normal(draw.size(3, 9), draw.size(35, 130), mean=0.5, std=0.5),), {"eps": eps})
    outside = [math.nan, math.inf, -math.inf, 0.0, 1.0, -0.5, 1.5]
    yield Case("clamped special values, strided view", (draw.strided(unary.among(draw, values, outside)), eps / 4))
    tails = 10.0 ** draw.uniform(draw.size(200, 400), low=-30.0, high=-2.0)
    yield Case("close to 0", (tails,))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def magnitude(input: torch.Tensor, eps: float | None, out: torch.Tensor | None) -> dict[str, torch.Tensor]:
    """The logarithm turns the relative error of its argument into an absolute one."""
    return unary.sizes(torch.ones_like(input, dtype=torch.float64), out=out)


def cost(input: torch.Tensor, eps: float | None = None, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 6)


TASK = Task(
    id="Math/logit",
    entry="logit",
    signature="logit(input: torch.Tensor, eps: float=None, out: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, eps, out: 4.0, magnitude=magnitude),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
