"""Math/bessel_j1: the Bessel function J1 of each element."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The Bessel function of the first kind of order 1, element by element; it is odd:

    J1(x) = (1/pi) integral_0^pi cos(t - x sin t) dt = sum_k (-1)^k / (k! (k+1)!) (x/2)^(2k+1)

`input` is float32, with any number of dimensions (perhaps none) and any strides; an empty tensor gives an empty one.
The result is float32, of its shape. With `out` given (contiguous, of that shape and dtype) the result is written into
`out`, and `out` itself is returned. |x| is at most 30,000; NaN gives NaN; infinity does not occur.

The error may be 4 eps |J1(x)| (eps of float32: 1.2e-7) plus 4 eps |x| / sqrt(4 + |x|), about four times what rounding
the argument costs: J1(x) = sqrt(2 / (pi |x|)) cos(|x| - 3 pi/4) sign(x) for large |x|. Tiny x give x / 2.
"""


def reference(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    values: torch.Tensor = torch.special.bessel_j1(input)
    return values if out is None else out.copy_(values)


def exact(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """To ten digits; PyTorch's own float64 values are off by 4e-7 around 5. Small pieces stay in the cache."""
    pieces = torch.split(input.double().flatten(), 2**15)
    return torch.cat([bessel(piece) for piece in pieces]).reshape(input.shape)


def bessel(x: torch.Tensor) -> torch.Tensor:
    """The power series up to |x| = 13, Hankel's expansion (DLMF 10.17.3) beyond."""
    far = x.abs() > 13
    half = torch.where(far, 0, x) / 2
    term, near = half, half.clone()
    for k in range(1, 30):
        term = term * half * half / -(k * (k + 1))
        near += term
    size = torch.where(far, x.abs(), 13.0)
    term, even, odd = torch.ones_like(x), torch.ones_like(x), torch.zeros_like(x)
    for k in range(1, 15):
        term = term / size * ((4 - (2 * k - 1) ** 2) / (8 * k))
        (odd if k % 2 else even).add_(term, alpha=(-1) ** (k // 2))
    angle = size - 0.75 * math.pi
    wave = (2 / math.pi / size).sqrt() * (torch.cos(angle) * even - torch.sin(angle) * odd)
    return torch.where(far, torch.copysign(torch.ones_like(x), x) * wave, near)


def magnitude(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    size = input.double().abs()
    return size / (4 + size).sqrt()


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=-30.0, high=30.0)


def public(draw: Draw) -> Iterator[Case]:
    yield from unary.plain(draw, values)
    yield unary.out_given(draw, values)


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.shapes(draw, values)
    yield unary.out_given(draw, values)
    yield Case("large arguments", (draw.uniform(draw.size(35, 130), low=-1.0, high=1.0) * draw.pick((500.0, 30000.0)),))
    yield Case("small arguments", (draw.normal(draw.size(35, 130), std=draw.pick((1e-12, 1e-3, 0.5))),))
    yield Case("NaN and zeros", (unary.among(draw, values, (math.nan, 0.0, -0.0, 3.8317060, -7.0155867, 5.0, 8.0)),))


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large(draw, values, ((1500, 4099), (4096, 4096)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small(draw, values)


def cost(input: torch.Tensor, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of(input, 30)


TASK = Task(
    id="Math/bessel_j1",
    entry="bessel_j1",
    signature="bessel_j1(input: torch.Tensor, out: torch.Tensor=None)",
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
