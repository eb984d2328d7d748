"""Quantization/matmul_w8a8: both factors quantised to int8 at run time, then an integer product."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Product of two float32 matrices, both quantised to int8 at run time: `input` (M, K) times `weight` (K, N), result
(M, N) in float32. Both have any strides, and finite values. The scheme is symmetric:

    sx[i] = max_k |input[i, k]| / 127                    one scale for each row of input
    sw[j] = max_k |weight[k, j]| / 127                   one scale for each column of weight
    qx[i, k] = rint(input[i, k] / sx[i])                 int8, -127..127
    qw[k, j] = rint(weight[k, j] / sw[j])                int8, -127..127
    acc[i, j] = sum_k qx[i, k] * qw[k, j]                int32
    result[i, j] = acc[i, j] * sx[i] * sw[j]             float32

Scales and quotients are float32 divisions, and rint rounds to the nearest integer, half to even. (`/` in Triton is a
little less exact than an IEEE division, which `tl.div_rn` is: a quotient within a few units in the last place of a
half-integer may be rounded either way, no other.) A row or a column of zeros is quantised to zeros. The
result is that of the quantised scheme; the plain float32 product is wrong, and so is one scale for a whole matrix.
"""


def quantise(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """int8 values of float32 `x`, and their float32 scales along `dim` (kept as size 1)."""
    scale = x.abs().amax(dim, keepdim=True) / 127
    return torch.round(x / torch.where(scale > 0, scale, 1)).to(torch.int8), scale


def reference(input: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    qx, sx = quantise(input, 1)
    qw, sw = quantise(weight, 0)
    # every integer below 2**53 is a float64, so this is the integer product
    return (qx.double() @ qw.double()).float() * sx * sw


def exact(input: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Decisions and scales as float32 gives them, the rest in float64."""
    qx, sx = quantise(input.float(), 1)
    qw, sw = quantise(weight.float(), 0)
    return (qx.double() @ qw.double()) * sx.double() * sw.double()


def doubt(x: torch.Tensor, dim: int) -> torch.Tensor:
    """1 where rounding may go either way: scale and quotient off by 2 ulp each and a half-integer that near; else 0."""
    _, scale = quantise(x, dim)
    quotient = x.double() / torch.where(scale > 0, scale, 1).double()
    from_tie = (quotient - quotient.floor() - 0.5).abs()
    return (from_tie <= 6 * torch.finfo(torch.float32).eps * quotient.abs()).double()


def magnitude(input: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """What float32 arithmetic may blur, plus one step of the grid for each decision in doubt; unit: float32 eps."""
    qx, sx = quantise(input, 1)
    qw, sw = quantise(weight, 0)
    size_x, size_w = qx.double().abs(), qw.double().abs()
    doubt_x, doubt_w = doubt(input, 1), doubt(weight, 0)
    steps = doubt_x @ (size_w + doubt_w) + size_x @ doubt_w
    # integer accumulation is exact; this room is for exact-enough ones, e.g. float32 sums of dequantised values
    blur = 2 * math.sqrt(input.shape[1]) * (size_x @ size_w)
    return (blur + steps / torch.finfo(torch.float32).eps) * sx.double() * sw.double()


def odd(draw: Draw, low: int, high: int) -> int:
    return 2 * draw.size(low // 2, high // 2) + 1


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small", (draw.normal(5, 33), draw.normal(33, 17)))
    yield Case(
        "columns of unequal size", (draw.normal(19, 45), draw.normal(45, 21) * draw.uniform(21, low=0.1, high=9))
    )
    yield Case("row of zeros", (draw.normal(3, 7) * torch.tensor([[1.0], [0.0], [1.0]]), draw.normal(7, 7)))


def hidden(draw: Draw) -> Iterator[Case]:
    k, n = odd(draw, 33, 61), odd(draw, 17, 35)
    outliers = draw.normal(odd(draw, 5, 21), k)
    outliers[draw.size(0, 4)] *= 100
    outliers[:, draw.size(0, k - 1)] *= 8
    heavy = draw.normal(k, n, std=0.05)
    heavy[:, draw.size(0, n - 1)] *= 60
    heavy[draw.size(0, k - 1)] *= 9
    yield Case("outlier rows and columns", (outliers, heavy))
    yield Case("large values", (draw.normal(7, k, std=1000.0, mean=300.0), draw.normal(k, n, std=50.0)))
    yield Case("one row", (draw.normal(1, k), draw.normal(k, n)))
    long = odd(draw, 191, 231)
    yield Case("long reduction", (draw.normal(5, long), draw.normal(long, 7)))
    yield Case("K = 1", (draw.normal(9, 1), draw.normal(1, n)))
    yield Case("strided input, transposed weight", (draw.strided(draw.normal(11, k)), draw.normal(n, k).t()))
    empty = draw.normal(k, n)
    empty[:, draw.size(0, n - 1)] = 0
    yield Case("column of zeros", (draw.uniform(5, k, low=-2.0, high=3.0), empty))


def timed(draw: Draw) -> Iterator[Case]:
    for m, k, n in ((512, 4096, 4096), (2048, 2048, 2048), (4096, 2048, 2048)):
        yield Case(f"{m} x {k} x {n}", (draw.normal(m, k), draw.normal(k, n)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for m, k, n in ((70, 90, 100), (100, 150, 70)):
        yield Case(f"{m} x {k} x {n}", (draw.normal(m, k), draw.normal(k, n)))


def cost(input: torch.Tensor, weight: torch.Tensor) -> Cost:
    (m, k), n = input.shape, weight.shape[1]
    return Cost(nbytes(input, weight) + m * n * input.element_size(), 2 * m * n * k)


TASK = Task(
    id="Quantization/matmul_w8a8",
    entry="matmul_w8a8",
    signature="matmul_w8a8(input: torch.Tensor, weight: torch.Tensor)",
    text=TEXT,
    reference=reference,
    exact=exact,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # 8 ulp: two scales off by 2 ulp each, the conversion and two products by a half each, and some room
    judge=Elementwise(ulps=8, slack=lambda input, weight: 1.0, magnitude=magnitude),
    cost=cost,
)
