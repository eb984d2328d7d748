"""Fusion/fused_cos_signbit: the cosine, and whether it is negative."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
The cosine of each element, and the sign bit of this cosine, as a tuple of two tensors of the input's shape:

    (c, s):    c = cos(x), float32;    s = true where c is negative (bool)

`input` is float32, in radians, with any number of dimensions (none too), any strides, and it may be empty. The cosine
is computed in float32, with an absolute error of a few units of 2**-24 also for arguments of some thousands, and the
sign must be right: it is judged wherever |cos(x)| is more than 2e-6 and, wherever c isn't zero, against c itself.
NaN and infinities give a NaN cosine; the sign bit of a NaN is not judged.
"""

CLEAR = 2e-6
"""Where the cosine is larger than this, every float32 cosine that is right has the right sign."""


def reference(input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    cosine = torch.cos(input)
    return cosine, torch.signbit(cosine)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, std=4.0)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield Case("large arguments", (draw.normal(5, draw.size(35, 130), std=3000.0),))
    yield Case("small arguments", (draw.normal(5, draw.size(35, 130), std=1e-3),))
    special = (math.nan, math.inf, -math.inf, 0.0, -0.0)
    yield Case("NaN, infinity and signed zeros", (unary.among(draw, values, special),))


def timed(draw: Draw) -> Iterator[Case]:
    yield from unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield from unary.small(draw, values)


def check(arguments: dict[str, Any], returned: Any, native: Any) -> str | None:
    """The cosine to four units of float32 roundoff (absolute: near a zero of the cosine no more is left), and signs."""
    exact = arguments["input"].double().cos()
    cosine, negative = returned
    if not torch.equal(cosine.isnan(), exact.isnan()):
        return "NaN must stand exactly where the input is NaN or infinite"
    error = torch.where(exact.isnan(), 0.0, (cosine.double() - exact).abs())
    limit = 8 * torch.finfo(torch.float32).eps / 2
    if (error > limit).any():
        return f"the largest error of a cosine is {float(error.max()):.3g}, at most {limit:.3g} is allowed"
    wrong = (negative != (exact < 0)) & (exact.abs() > CLEAR)
    wrong |= (negative != (cosine < 0)) & (cosine.abs() > 0)
    if wrong.any():
        return f"{int(wrong.sum())} of {wrong.numel()} sign bits are wrong"
    return None


def cost(input: torch.Tensor) -> Cost:
    return Cost(input.numel() * (2 * input.element_size() + 1), 10 * input.numel())


TASK = Task(
    id="Fusion/fused_cos_signbit",
    entry="fused_cos_signbit",
    aliases=("cos_signbit",),
    signature="fused_cos_signbit(input: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
)
