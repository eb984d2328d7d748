"""Math/airy_ai: the Airy function Ai of each element."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The Airy function of the first kind, element by element: the solution of Ai''(x) = x Ai(x) that tends to 0 for large x,

    Ai(x) = (1/pi) integral_0^inf cos(t^3 / 3 + x t) dt,    Ai(0) = 0.355028..., Ai'(0) = -0.258819...

It decays as exp(-2/3 x^1.5) for x > 0 (results below the smallest normal float32 may be 0) and oscillates for x < 0.

`input` is float32, with any number of dimensions (perhaps none) and any strides; an empty tensor gives an empty one.
The result is float32, of its shape. With `out` given (contiguous, of that shape and dtype) the result is written into
`out`, and `out` itself is returned. |x| is at most 200; NaN gives NaN; infinity does not occur.

The error may be 4 eps |Ai(x)| (eps of float32: 1.2e-7) plus what rounding within the usual formulas costs:
    4 eps (1 + |x|^1.25)               for x < 0, where the argument 2/3 |x|^1.5 of sine and cosine is rounded
    4 eps Ai(x) (2 + x^1.5)            for x >= 0, where that of the exponential is;
    and 2 eps more for x <= 2.5        where two power series are subtracted.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    values: torch.Tensor = torch.special.airy_ai(input)
    return values if out is None else out.copy_(values)


def exact(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """To ten digits; PyTorch's own float64 values are off by 3e-6 left of -2.09. Small pieces stay in the cache."""
    pieces = torch.split(input.double().flatten(), 2**15)
    return torch.cat([airy(piece) for piece in pieces]).reshape(input.shape)


def airy(x: torch.Tensor) -> torch.Tensor:
    """Two power series (DLMF 9.4.1) about 0, the asymptotic expansions (9.7.5, 9.7.9) beyond."""
    far = (x < -6.5) | (x > 5.5)
    cube = torch.where(far, 0, x) ** 3
    f, g = torch.full_like(x, 0.355028053887817239), 0.258819403792806798 * x
    near = f - g
    for k in range(1, 26):
        f, g = f * cube / ((3 * k - 1) * 3 * k), g * cube / (3 * k * (3 * k + 1))
        near += f - g
    size = torch.where(far, x.abs(), 6.5)
    zeta = size**1.5 * (2 / 3)
    terms = [torch.ones_like(x)]
    for k in range(1, 12):
        terms.append(terms[-1] / zeta * ((6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1))))
    even, odd = (alternating(terms[first::2]) for first in (0, 1))
    wave = torch.cos(zeta - math.pi / 4) * even + torch.sin(zeta - math.pi / 4) * odd
    decay = torch.exp(-zeta) * alternating(terms) / 2
    return torch.where(far, torch.where(x < 0, wave, decay) / (math.pi**0.5 * size**0.25), near)


def alternating(terms: list[torch.Tensor]) -> torch.Tensor:
    total = torch.zeros_like(terms[0])
    for k, term in enumerate(terms):
        total += (-1) ** k * term
    return total


def magnitude(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    x = input.double()
    size = x.abs()
    decaying = torch.special.airy_ai(x) * (2 + size**1.5) + 0.5 * (x <= 2.5)
    return torch.where(x < 0, 1 + size**1.25, decaying)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=-12.0, high=9.0)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield unary.out_given(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    yield Case("far left", (draw.uniform(draw.size(35, 130), low=-200.0, high=-5.0),))
    yield Case("far right", (draw.uniform(draw.size(35, 130), low=5.0, high=150.0),))
    yield Case("near 0", (draw.normal(draw.size(35, 130), std=draw.pick((1e-8, 1e-3, 0.5))),))
    yield Case("NaN and zeros", (unary.among(draw, values, (math.nan, 0.0, -0.0, -2.3381074)),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values, ((700, 1501), (1024, 2048), (1000, 4099)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 40)


TASK = Task(
    id="Math/airy_ai",
    entry="airy_ai",
    signature="airy_ai(input: torch.Tensor, out: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    exact=exact,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, out: 4.0, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
