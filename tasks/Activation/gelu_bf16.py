"""Activation/gelu_bf16: the Gaussian error linear unit on bfloat16, computed in float32 and rounded once."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
GELU of a bfloat16 tensor, element by element; the result is a bfloat16 tensor of the same shape.

    approximate='none':  y = x/2 * (1 + erf(x / sqrt(2)))
    approximate='tanh':  y = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3)))

Numerical contract: convert x to float32, evaluate the whole formula in float32, round once to bfloat16 (to nearest,
ties to even). Each element must be the correctly rounded value, up to the float32 error of the formula (a few times
2**-24 * |x|). Rounding an intermediate value to bfloat16, or truncating instead of rounding, is too inaccurate.
`input` has any number of dimensions and any strides. NaN and -inf give NaN, +inf gives +inf; finite values never
give NaN, however large.
"""


def reference(input: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    work = torch.promote_types(input.dtype, torch.float32)
    return torch.nn.functional.gelu(input.to(work), approximate=approximate).to(input.dtype)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("erf form", (draw.normal(7, 33, dtype=torch.bfloat16),))
    yield Case("tanh form", (draw.normal(5, 50, std=2.0, dtype=torch.bfloat16),), {"approximate": "tanh"})
    yield Case("three dimensions", (draw.normal(2, 3, 19, dtype=torch.bfloat16),), {"approximate": "none"})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("many values", (draw.normal(draw.size(1100, 2000), std=1.5, dtype=torch.bfloat16),))
    many = draw.normal(draw.size(1100, 2000), std=1.5, dtype=torch.bfloat16)
    yield Case("many values, tanh form", (many,), {"approximate": "tanh"})
    yield Case("one element", (draw.normal(1, dtype=torch.bfloat16),), {"approximate": draw.pick(["none", "tanh"])})
    tail = draw.uniform(rows, cols, low=-7.0, high=-1.0, dtype=torch.bfloat16)
    yield Case("negative tail", (tail,), {"approximate": draw.pick(["none", "tanh"])})
    yield Case("strided view", (draw.strided(draw.normal(rows, cols, dtype=torch.bfloat16)),))
    yield Case("transposed view", (draw.normal(cols, rows, dtype=torch.bfloat16).T,), {"approximate": "tanh"})
    special = draw.normal(4, cols, dtype=torch.bfloat16)
    special[0, draw.size(0, cols - 1)] = math.nan
    special[1, draw.size(0, cols - 1)] = math.inf
    special[2, draw.size(0, cols - 1)] = -math.inf
    special[3] = draw.normal(cols, std=1e15, dtype=torch.bfloat16)
    yield Case("NaN, infinity and huge values", (special,))
    yield Case("NaN, infinity and huge values, tanh form", (special.clone(),), {"approximate": "tanh"})


def timed(draw: Draw) -> Iterator[Case]:
    for rows, cols in ((2048, 4096), (8192, 4096), (4000, 8000)):
        yield Case(f"{rows} x {cols}", (draw.normal(rows, cols, dtype=torch.bfloat16),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("40 x 250", (draw.normal(40, 250, dtype=torch.bfloat16),))
    yield Case("16 x 1000, tanh form", (draw.normal(16, 1000, dtype=torch.bfloat16),), {"approximate": "tanh"})


def magnitude(input: torch.Tensor, approximate: str) -> torch.Tensor:
    # 1 + erf and 1 + tanh cancel for negative x: their float32 error is relative to 1, so that of y is to x
    return input.double().abs()


def cost(input: torch.Tensor, approximate: str = "none") -> Cost:
    return Cost(2 * input.numel() * input.element_size(), 10 * input.numel())


TASK = Task(
    id="Activation/gelu_bf16",
    entry="gelu_bf16",
    signature="gelu_bf16(input: torch.Tensor, approximate: str='none')",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # half a unit of bfloat16 is one correct rounding; `slack` is what float32 may add before it
    judge=Elementwise(ulps=0.501, slack=lambda input, approximate: 4.0, magnitude=magnitude, baseline=1.0),
    cost=cost,
)
