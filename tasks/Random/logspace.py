"""Random/logspace: numbers evenly spaced on a logarithmic scale. Deterministic, for all its category."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
A vector of `steps` numbers, evenly spaced on a logarithmic scale from base^start to base^end, both included:

    y[i] = base ^ (start + i (end - start) / (steps - 1)),    i = 0 .. steps - 1

`start` and `end` are Python numbers in any order (end < start gives a falling sequence, end = start a constant one),
`base` is a positive number, perhaps below 1. `steps` is 2 or more, or 0, which gives an empty vector. No result
overflows or underflows.
The dtype is `dtype`, float32 (also for None) or float64. `device=None` stands for the CUDA device where there is one,
else for the CPU. `layout` and `requires_grad` keep their defaults.

Compute in the dtype of the result: float32 arithmetic for float32, float64 for float64 (exponents in float32 are not
enough then). The error may be 8 eps y + 4 eps y |log base| max(|start|, |end|), eps of the dtype: rounding an exponent
in proportion to its range changes the result by that much.
"""


def reference(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return torch.logspace(start, end, steps, base, **options)


def exact(start: float, end: float, steps: int, base: float = 10.0, *_: Any, **__: Any) -> torch.Tensor:
    """float64, whatever the dtype that is asked for."""
    return torch.logspace(start, end, steps, base, dtype=torch.float64)


def magnitude(start: float, end: float, steps: int, base: float, **_: Any) -> torch.Tensor:
    return exact(start, end, steps, base) * abs(math.log(base)) * max(abs(start), abs(end))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("powers of ten", (-2.0, 3.0, 51))
    yield Case("base 2, falling", (7, -3.5, 33), {"base": 2.0})
    yield Case("float64", (0.0, 1.0, 100), {"dtype": torch.float64})


def hidden(draw: Draw) -> Iterator[Case]:
    start, end = (draw.size(-900, 900) / 100 for _ in range(2))
    yield Case("several blocks", (start, end, 2 * draw.size(1100, 1900) + 1))
    yield Case("base below 1", (start, end, draw.size(35, 130)), {"base": draw.size(3, 9) / 10})
    yield Case("large exponents", (-draw.size(25, 36), draw.size(25, 36), draw.size(35, 130)))
    yield Case(
        "large exponents, float64", (draw.size(150, 300), -draw.size(150, 300), 97, 10.0), {"dtype": torch.float64}
    )
    yield Case("narrow range, float64", (start, start + 1e-5, 77), {"base": 3.7, "dtype": torch.float64})
    yield Case("base e, float32 given", (0, draw.size(2, 60), 45, math.e), {"dtype": torch.float32})
    yield Case("two steps", (-1.5, draw.size(1, 9), 2))
    yield Case("three steps, base 5", (draw.size(1, 9) / 2, 12.0, 3), {"base": 5.0})
    yield Case("no steps", (start, end, 0))
    yield Case("constant", (draw.size(1, 30) / 10, draw.size(1, 30) / 10, 3, 1.0))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("2000003", (-3.0, 5.0, 2_000_003))
    yield Case("2^24", (0.5, 6.0, 2**24), {"base": 2.0})
    yield Case("2^23, float64", (-20.0, 20.0, 2**23), {"dtype": torch.float64})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("16001", (-3.0, 5.0, 16001))
    yield Case("9000, float64", (-20.0, 20.0, 9000), {"dtype": torch.float64})


def cost(start: float, end: float, steps: int, base: float = 10.0, dtype: torch.dtype | None = None, **_: Any) -> Cost:
    return Cost(max(steps, 1) * (dtype or torch.float32).itemsize, 4 * steps)


TASK = Task(
    id="Random/logspace",
    entry="logspace",
    signature="logspace(start, end, steps, base=10.0, dtype=None, layout=torch.strided, device=None, "
    "requires_grad=False)",
    text=TEXT,
    reference=reference,
    exact=exact,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=8, slack=lambda **_: 4.0, magnitude=magnitude),
    cost=cost,
)
