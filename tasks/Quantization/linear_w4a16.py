"""Quantization/linear_w4a16: a float16 linear layer whose weight is quantised to four bits at run time."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.quantised import ROOM
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Linear layer with four-bit weights: `input` (..., K) times the transpose of `weight` (N, K), plus `bias` (N,) or None
(0). All are float16 with any strides and finite values; `input` has two or three dimensions. The result is (..., N),
float16. The weight is quantised symmetrically at run time, with one scale for each output channel (row of `weight`),
and the activations stay float16:

    s[n] = max_k |weight[n, k]| / 8                               float32
    q[n, k] = min(7, max(-8, rint(weight[n, k] / s[n])))          four bits, -8..7
    result[..., n] = sum_k input[..., k] * (q[n, k] * s[n]) + bias[n]

A row's largest magnitude is thus 8 steps: -8 is on the grid, +8 is not and is clamped to 7. rint rounds to the
nearest integer, half to even; quotients are float32. (`/` in Triton is a little less exact than an IEEE division,
which `tl.div_rn` is: a quotient within a few units in the last place of a half-integer may be rounded either way, no
other.) A row of zeros is quantised to zeros.

Products are added in float32, and the result is rounded to float16 once, after the bias; sums in float16 are too
coarse. The scale may be applied to the sum, or q * s rounded to float16 ahead of the product. How the four-bit values
are kept in between (two in a byte, or not) is up to you. The result is that of the quantised scheme: the plain product
is wrong, and so is one scale for several rows.
"""


def dequantised(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """q * s in float64, and by how much of it a rounding near a half-integer may change it."""
    scale = weight.float().abs().amax(1, keepdim=True) / 8
    quotient = weight.float() / torch.where(scale > 0, scale, 1)
    q = torch.round(quotient).clamp(-8, 7)
    wide = quotient.double()
    ways = (torch.round(wide * factor).clamp(-8, 7) for factor in (1 + ROOM, 1 - ROOM))
    return q.double() * scale.double(), torch.sub(*ways).abs() * scale.double()


def reference(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    y = input.float() @ dequantised(weight)[0].float().T
    return (y if bias is None else y + bias.float()).to(input.dtype)


def exact(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Decisions and scales as float32 gives them, the rest in float64."""
    y = input @ dequantised(weight)[0].T
    return y if bias is None else y + bias


def magnitude(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Float32 sums, q * s rounded to float16, and a step of the grid for each decision in doubt; unit: float32 eps."""
    x, (w, doubt) = input.double(), dequantised(weight)
    sums = x.abs() @ w.abs().T
    # what rounding q * s does is known, so that this room hides no other rounding
    rounded = (x @ (w.half().double() - w).T).abs()
    steps = x.abs() @ doubt.T
    size = 4 * math.sqrt(input.shape[-1]) * sums + (rounded + steps) / torch.finfo(torch.float32).eps
    return size if bias is None else size + bias.double().abs()


def half(draw: Draw, *shape: int, std: float = 1.0, mean: float = 0.0) -> torch.Tensor:
    return draw.normal(*shape, std=std, mean=mean, dtype=torch.float16)


def layer(draw: Draw, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A weight whose rows differ in size, and a bias."""
    sizes = draw.uniform(n, 1, low=0.1, high=4.0)
    return (draw.normal(n, k, std=0.2) * sizes).half(), half(draw, n)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small, with bias", (half(draw, 5, 33), *layer(draw, 17, 33)))
    yield Case("three dimensions", (half(draw, 2, 7, 45), layer(draw, 21, 45)[0]))
    weight = layer(draw, 9, 21)[0]
    weight[1] = 0
    yield Case("row of zeros", (half(draw, 3, 21), weight))


def hidden(draw: Draw) -> Iterator[Case]:
    m, n, k = draw.size(5, 20), 2 * draw.size(8, 17) + 1, 2 * draw.size(16, 30) + 1
    weight, bias = layer(draw, n, k)
    weight[draw.size(0, n - 1)] *= 20
    weight[:, draw.size(0, k - 1)] *= 3
    yield Case("outlier rows and columns", (half(draw, m, k), weight, bias))
    yield Case("largest weights positive", (half(draw, m, k), half(draw, n, k, std=0.1, mean=1.0), half(draw, n)))
    long = 2 * draw.size(190, 220) + 1
    input, weight = half(draw, 9, long, std=0.3, mean=1.0), half(draw, 15, long, std=0.05, mean=0.5)
    # large partial sums, small results
    weight[:, long // 2 :] *= -1
    yield Case("long sums that cancel", (input, weight))
    yield Case("one row", (half(draw, 1, k), *layer(draw, n, k)))
    yield Case("one output", (half(draw, m, k), layer(draw, 1, k)[0]))
    yield Case("K = 1", (half(draw, m, 1), *layer(draw, n, 1)))
    yield Case("even K, large bias", (half(draw, m, k + 1), layer(draw, n, k + 1)[0], half(draw, n, std=300.0)))
    views = draw.strided(half(draw, 2, 5, k)).transpose(0, 1), layer(draw, k, n)[0].T
    yield Case("strided input, transposed weight, strided bias", (*views, draw.strided(half(draw, n))))


def timed(draw: Draw) -> Iterator[Case]:
    for m, k, n in ((16, 4096, 6144), (256, 4096, 4096), (1, 5120, 5120)):
        yield Case(f"{m} x {k} x {n}", (half(draw, m, k), half(draw, n, k, std=0.02), half(draw, n)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for m, k, n in ((70, 90, 70), (40, 150, 100)):
        yield Case(f"{m} x {k} x {n}", (half(draw, m, k), *layer(draw, n, k)))


def cost(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> Cost:
    results = input.numel() // input.shape[-1] * weight.shape[0]
    return Cost(nbytes(input, weight, bias) + results * input.element_size(), 2 * results * weight.shape[1])


TASK = Task(
    id="Quantization/linear_w4a16",
    entry="linear_w4a16",
    signature="linear_w4a16(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    exact=exact,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # one rounding to float16 is half an ulp
    judge=Elementwise(ulps=1, slack=lambda input, weight, bias: 1.0, magnitude=magnitude),
    cost=cost,
)
