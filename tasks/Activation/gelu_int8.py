"""Activation/gelu_int8: the Gaussian error linear unit of int8 values, truncated back to int8."""

from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
GELU of an int8 tensor, element by element; the result is int8, of the same shape:

    g = x/2 * (1 + erf(x / sqrt(2)))                                          approximate='none'
    g = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3)))                  approximate='tanh'
    y = g truncated towards zero to int8

x is converted to float32, g computed in float32, and truncated (not rounded: 1.95 becomes 1, -0.16 becomes 0). The
two forms differ by less than 0.0005, and no int8 value has an integer between its two: one result is right for both.
Where g lies below an integer by less than 4 * 2**-23 * |x| (which it does for 5, 6, 7 and 8), that integer will do as
well.

`input` has any number of dimensions (none too), any strides, and it may be empty.
"""


def reference(input: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    return torch.nn.functional.gelu(input.float(), approximate=approximate).to(torch.int8)


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """Whether each element is the truncated value, or the one above where float32 can't tell g from an integer."""
    x = arguments["input"].double()
    g = torch.nn.functional.gelu(x)
    down = g.trunc()
    # for x of 9 and more, g is x in float64 too, and for negative x it truncates to 0 from afar
    up = torch.where(g != down, (g + 4 * torch.finfo(torch.float32).eps * x.abs()).trunc(), down)
    got = returned.double()
    wrong = (got < down) | (got > up)
    if not wrong.any():
        return None
    first = int(wrong.flatten().int().argmax())
    value, have, want = (int(t.flatten()[first]) for t in (x, got, down))
    return f"{int(wrong.sum())} of {wrong.numel()} elements are wrong: {value} gave {have}, and {want} is right"


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.integers(-128, 127, *shape, dtype=torch.int8)


def few(draw: Draw, *shape: int) -> torch.Tensor:
    """Values where the function bends."""
    return draw.integers(-9, 9, *shape, dtype=torch.int8)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield Case("around zero", (few(draw, 5, 50),), {"approximate": "none"})


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    every = torch.arange(-128, 128, dtype=torch.int8).roll(draw.size(1, 255))
    yield Case("every value", (every,))
    yield Case(
        "around zero, strided view",
        (draw.strided(few(draw, draw.size(3, 9), draw.size(35, 130))),),
        {"approximate": "none"},
    )
    yield Case("around zero, several blocks", (few(draw, 2 * draw.size(550, 1000) + 1),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input: torch.Tensor, approximate: str = "none") -> Cost:
    return unary.cost_of(input, 10)


TASK = Task(
    id="Activation/gelu_int8",
    entry="gelu_int8",
    signature="gelu_int8(input: torch.Tensor, approximate: str='none')",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
)
