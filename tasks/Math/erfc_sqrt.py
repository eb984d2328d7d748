"""Math/erfc_sqrt: the complementary error function and the square root, as a pair."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
A tuple of two tensors, each computed from the input, element by element:

    erfc(x) = 2 / sqrt(pi) * (integral of exp(-t**2) for t from x to infinity),    sqrt(x)

Both are computed in float32. The relative error of erfc may be 8 + 4 x**2 units of 2**-23 (exp(-x**2) amplifies the
rounding of its argument) for large x too: 1 - erf(x) is nowhere near for x above 1, and 0 from x = 4 on. Results
below the smallest normal float32 (1.2e-38, x above 9.2) may be 0.
The square root is off by a few units in the last place at most, and NaN for negative x. NaN gives NaN twice, +inf gives
0 and +inf, -inf gives 2 and NaN.

`input` is float32, with any number of dimensions (none too), any strides, and it may be empty. Both results are
float32, of the same shape.
"""


def reference(input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.special.erfc(input), torch.sqrt(input)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape, mean=1.0, std=2.0)


def public(draw: Draw) -> Iterator[Case]:
    return unary.plain(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    special = [math.nan, math.inf, -math.inf, 0.0, 12.0, 1e30, -30.0, 1e-20, -1e-20, -1e30]
    yield Case("special values", (unary.among(draw, values, special),))
    yield Case("large values", (draw.uniform(draw.size(3, 9), draw.size(35, 130), low=2.0, high=9.1),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def magnitude(input: torch.Tensor) -> dict[str, torch.Tensor]:
    """What the rounding of exp's argument does to erfc; the root has nothing of the kind."""
    x = input.double()
    size = (torch.special.erfc(x) * x.clamp_min(0) ** 2).nan_to_num(0.0)
    return {"result[0]": size, "result[1]": torch.zeros_like(x)}


def cost(input: torch.Tensor) -> Cost:
    return unary.cost_of(input, 25, 2)


TASK = Task(
    id="Math/erfc_sqrt",
    entry="erfc_sqrt",
    signature="erfc_sqrt(input: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=8, slack=lambda input: 4.0, magnitude=magnitude),
    cost=cost,
)
