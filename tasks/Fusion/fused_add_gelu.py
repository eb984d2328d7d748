"""Fusion/fused_add_gelu: GELU of the sum of a tensor and a multiple of another."""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
GELU of a scaled sum, element by element:

    x = input + alpha * other
    approximate='none':  y = x/2 * (1 + erf(x / sqrt(2)))
    approximate='tanh':  y = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3)))

`input` is a float32 tensor; `other` is a float32 tensor, or a number. Two tensors are broadcast against each other by
torch's rules (either may be the smaller one), and the result has their common shape; they have any strides. `alpha` is
a number. `out`, when given, is a contiguous tensor of the result's shape: the result is written into it, and `out`
itself is returned. The inputs are left alone.

Float32 throughout. NaN and -inf give NaN, +inf gives +inf; finite values never give NaN, however large.
"""

Other = torch.Tensor | float


def reference(
    input: torch.Tensor,
    other: Other,
    alpha: float = 1,
    approximate: str = "none",
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    y = F.gelu(input + alpha * other, approximate=approximate)
    return y if out is None else out.copy_(y)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("plain", (draw.normal(7, 33), draw.normal(7, 33)))
    yield Case("alpha, tanh form", (draw.normal(5, 50), draw.normal(5, 50)), {"alpha": 0.4, "approximate": "tanh"})
    yield Case("other is a number", (draw.normal(2, 3, 19), 0.7))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("many values", (draw.normal(draw.size(1100, 2000), std=2.0),) * 2, {"alpha": draw.pick([0.3, -1.5])})
    yield Case("other is a row, tanh form", (draw.normal(2, rows, cols), draw.normal(cols)), {"approximate": "tanh"})
    yield Case(
        "both broadcast to four dimensions, alpha",
        (draw.normal(rows, 1), draw.normal(2, 3, 1, cols)),
        {"alpha": draw.pick([2, -0.5])},
    )
    yield Case(
        "other is a number, out given", (draw.normal(rows, cols), -1), {"alpha": 0.5, "out": draw.normal(rows, cols)}
    )
    small = (draw.normal(1, cols), draw.normal(rows, 1))
    yield Case(
        "broadcast, tanh form, out given", small, {"alpha": 3.0, "approximate": "tanh", "out": draw.normal(rows, cols)}
    )
    yield Case("one element", (draw.normal(1), draw.normal()))
    tail = draw.uniform(rows, cols, low=-6.0, high=-1.0)
    yield Case("negative tail", (tail, draw.normal(rows, cols, std=0.1)), {"approximate": draw.pick(["none", "tanh"])})
    yield Case("strided views", (draw.strided(draw.normal(rows, cols)), draw.strided(draw.normal(cols))))
    yield Case("transposed view", (draw.normal(cols, rows).t(), draw.normal(rows, cols)), {"alpha": 1.25})
    special = draw.normal(4, cols)
    special[0, 1], special[1, 2], special[2, 3] = math.nan, math.inf, -math.inf
    special[3] = draw.normal(cols, std=1e15)
    yield Case("NaN, infinity and huge values", (special, draw.normal(4, cols)))
    yield Case(
        "NaN, infinity and huge values, tanh form",
        (special.clone(), draw.normal(4, cols)),
        {"approximate": "tanh"},
    )


def timed(draw: Draw) -> Iterator[Case]:
    for rows, cols in ((2048, 4096), (4096, 4000)):
        yield Case(f"{rows} x {cols}", (draw.normal(rows, cols), draw.normal(rows, cols)), {"alpha": 0.5})
    yield Case("4096 x 6000, other is a row", (draw.normal(4096, 6000), draw.normal(6000)), {"approximate": "tanh"})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("40 x 250", (draw.normal(40, 250), draw.normal(40, 250)), {"alpha": 0.5})
    yield Case("16 x 1000, other is a row", (draw.normal(16, 1000), draw.normal(1000)), {"approximate": "tanh"})


def magnitude(
    input: torch.Tensor, other: Other, alpha: float, approximate: str, out: torch.Tensor | None
) -> torch.Tensor:
    addend = alpha * (other.double() if isinstance(other, torch.Tensor) else torch.tensor(other, dtype=torch.float64))
    # the derivative of GELU is at most 1.13; 1 + erf and 1 + tanh cancel for negative x: y is off by eps |x|
    return input.double().abs() + addend.abs()


def cost(
    input: torch.Tensor,
    other: Other,
    alpha: float = 1,
    approximate: str = "none",
    out: torch.Tensor | None = None,
) -> Cost:
    shape = (input.to("meta") + (other.to("meta") if isinstance(other, torch.Tensor) else 0)).shape
    read = nbytes(input, other if isinstance(other, torch.Tensor) else None)
    return Cost(read + 4 * shape.numel(), 12 * shape.numel())


TASK = Task(
    id="Fusion/fused_add_gelu",
    entry="fused_add_gelu",
    aliases=("add_gelu",),
    signature="fused_add_gelu(input, other, alpha=1, approximate='none', out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda **_: 4.0, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
