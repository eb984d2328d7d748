"""Math/chebyshev_polynomial_t: Chebyshev polynomials of the first kind."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
The Chebyshev polynomial of the first kind of degree `n` of each element:

    T_0(x) = 1,   T_1(x) = x,   T_(k+1)(x) = 2 x T_k(x) - T_(k-1)(x);      T_n(cos t) = cos(n t)

`n` is an int, 2 to 300; it does not change with the element. `input` is float32, with any number of dimensions (perhaps
none) and any strides; an empty tensor gives an empty one. Values outside [-1, 1] occur (T_n grows fast there; no result
overflows). T_n(1) = 1 and T_n(-1) = (-1)^n. NaN gives NaN; infinity does not occur.
The result is float32, of the shape of `input`. With `out` given (contiguous, of that shape and dtype) the result is
written into `out`, and `out` itself is returned.

Both the recurrence and the cosine in float32 are exact enough. The error may be 4 eps |T_n| (eps of float32: 1.2e-7)
plus

    4 eps max(1, |T_n(x)|) n min(n, max(1, |x|) / sqrt|1 - x^2|)

which is what rounding the argument, or each step of the recurrence, costs.
"""


def reference(input: torch.Tensor, n: int, out: torch.Tensor | None = None) -> torch.Tensor:
    values: torch.Tensor = torch.special.chebyshev_polynomial_t(input, n)
    return values if out is None else out.copy_(values)


def magnitude(input: torch.Tensor, n: int, out: torch.Tensor | None = None) -> torch.Tensor:
    x = input.double()
    size: torch.Tensor = torch.special.chebyshev_polynomial_t(x, n).abs().clamp_min(1)
    growth = x.abs().clamp_min(1) / (1 - x * x).abs().sqrt()
    return size * n * growth.clamp_max(n)


def values(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.uniform(*shape, low=-1.0, high=1.0)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("n = 3", (values(draw, 7, 33), 3))
    yield Case("n = 20", (values(draw, 2, 3, 19), 20))
    yield Case("out given, n = 4", (values(draw, 3, 40), 4), {"out": draw.normal(3, 40)})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("several blocks", (values(draw, 2 * draw.size(550, 1000) + 1), draw.size(5, 12)))
    yield Case("strided view", (draw.strided(values(draw, rows, cols)), draw.size(2, 9)))
    yield Case("transposed view", (values(draw, cols, rows).T, draw.size(30, 40)))
    yield Case("n = 2", (draw.normal(rows, cols), 2))
    yield Case("high degree", (values(draw, rows, cols), draw.size(150, 300)))
    yield Case("outside [-1, 1]", (draw.normal(rows, cols, std=5.0), draw.size(3, 9)))
    yield Case("around 1", (draw.uniform(cols, low=0.98, high=1.02) * draw.pick((1.0, -1.0)), draw.size(11, 60)))
    yield Case("out given", (values(draw, rows, cols), draw.size(2, 30)), {"out": draw.normal(rows, cols)})
    yield Case("one element", (values(draw, 1), 7))
    yield Case("no dimensions", (values(draw), 5))
    yield Case("empty", (values(draw, 0, cols), 3))
    special = unary.among(draw, values, (math.nan, 1.0, -1.0, 0.0, -0.0))
    yield Case("NaN, 1 and 0", (special, draw.size(2, 16)))


def timed(draw: Draw) -> Iterator[Case]:
    for n, rows, cols in ((5, 4096, 4096), (12, 1500, 4099), (40, 4096, 2048)):
        yield Case(f"n = {n}, {rows} x {cols}", (values(draw, rows, cols), n))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for n, rows, cols in ((5, 40, 250), (12, 16, 1001)):
        yield Case(f"n = {n}, {rows} x {cols}", (values(draw, rows, cols), n))


def cost(input: torch.Tensor, n: int, out: torch.Tensor | None = None) -> Cost:
    # doubling formulas need about four operations a bit of n
    return unary.cost_of(input, 4 * max(1, n.bit_length()))


TASK = Task(
    id="Math/chebyshev_polynomial_t",
    entry="chebyshev_polynomial_t",
    signature="chebyshev_polynomial_t(input: torch.Tensor, n: int, out: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, n, out: 4.0, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
