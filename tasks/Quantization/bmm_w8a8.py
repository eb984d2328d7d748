"""Quantization/bmm_w8a8: a batch of products, both factors quantised to int8 at run time."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.quantised import doubt, quantise
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Batched product of float32 matrices, both quantised to int8 at run time: `input` (B, M, K) times `mat2` (B, K, N),
result (B, M, N) in float32. Both have any strides, and finite values. The scheme is symmetric, and each matrix of the
batch has scales of its own:

    sx[b, i] = max_k |input[b, i, k]| / 127              one scale for each row of each input matrix
    sw[b, j] = max_k |mat2[b, k, j]| / 127               one scale for each column of each mat2 matrix
    qx[b, i, k] = rint(input[b, i, k] / sx[b, i])        int8, -127..127
    qw[b, k, j] = rint(mat2[b, k, j] / sw[b, j])         int8, -127..127
    acc[b, i, j] = sum_k qx[b, i, k] * qw[b, k, j]       int32
    result[b, i, j] = acc[b, i, j] * sx[b, i] * sw[b, j] float32

Scales and quotients are float32 divisions, and rint rounds to the nearest integer, half to even. (`/` in Triton is a
little less exact than an IEEE division, which `tl.div_rn` is: a quotient within a few units in the last place of a
half-integer may be rounded either way, no other.) A row or a column of zeros is quantised to zeros. The
result is that of the quantised scheme; the plain float32 product is wrong, and so is a scale that several rows, columns
or matrices share.
"""


def reference(input: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
    qx, sx = quantise(input, 2)
    qw, sw = quantise(mat2, 1)
    # every integer below 2**53 is a float64, so this is the integer product
    return (qx.double() @ qw.double()).float() * sx * sw


def exact(input: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
    """Decisions and scales as float32 gives them, the rest in float64."""
    qx, sx = quantise(input.float(), 2)
    qw, sw = quantise(mat2.float(), 1)
    return (qx.double() @ qw.double()) * sx.double() * sw.double()


def magnitude(input: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
    """What float32 arithmetic may blur, plus one step of the grid for each decision in doubt; unit: float32 eps."""
    qx, sx = quantise(input, 2)
    qw, sw = quantise(mat2, 1)
    size_x, size_w = qx.double().abs(), qw.double().abs()
    doubt_x, doubt_w = doubt(input, 2), doubt(mat2, 1)
    steps = doubt_x @ (size_w + doubt_w) + size_x @ doubt_w
    # integer accumulation is exact; this room is for exact-enough ones, e.g. float32 sums of dequantised values
    blur = 2 * math.sqrt(input.shape[2]) * (size_x @ size_w)
    return (blur + steps / torch.finfo(torch.float32).eps) * sx.double() * sw.double()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small", (draw.normal(3, 5, 33), draw.normal(3, 33, 17)))
    sizes = draw.uniform(2, 1, 21, low=0.1, high=9)
    yield Case("columns of unequal size", (draw.normal(2, 19, 45), draw.normal(2, 45, 21) * sizes))
    rows = torch.tensor([1.0, 0.0, 1.0]).view(1, 3, 1)
    yield Case("row of zeros", (draw.normal(2, 3, 7) * rows, draw.normal(2, 7, 7)))


def hidden(draw: Draw) -> Iterator[Case]:
    k, n = 2 * draw.size(16, 30) + 1, 2 * draw.size(8, 17) + 1
    outliers, heavy = draw.normal(2, 2 * draw.size(2, 10) + 1, k), draw.normal(2, k, n, std=0.05)
    outliers[0, draw.size(0, 4)] *= 100
    outliers[:, :, draw.size(0, k - 1)] *= 8
    heavy[1, :, draw.size(0, n - 1)] *= 60
    heavy[:, draw.size(0, k - 1)] *= 9
    yield Case("outlier rows and columns", (outliers, heavy))
    spread = torch.tensor([0.01, 1.0, 300.0]).view(3, 1, 1)
    yield Case("matrices of unequal size", (draw.normal(3, 7, k) * spread, draw.normal(3, k, n) * spread.flip(0)))
    yield Case("large values", (draw.normal(2, 7, k, std=1000.0, mean=300.0), draw.normal(2, k, n, std=50.0)))
    yield Case("one matrix, one row", (draw.normal(1, 1, k), draw.normal(1, k, n)))
    long = 2 * draw.size(95, 115) + 1
    yield Case("long reduction", (draw.normal(2, 5, long), draw.normal(2, long, 7)))
    yield Case("K = 1", (draw.normal(3, 9, 1), draw.normal(3, 1, n)))
    views = draw.strided(draw.normal(3, 11, k)), draw.normal(n, 3, k).permute(1, 2, 0)
    yield Case("strided input, permuted mat2", views)
    empty = draw.normal(2, k, n)
    empty[1, :, draw.size(0, n - 1)] = 0
    yield Case("column of zeros", (draw.uniform(2, 5, k, low=-2.0, high=3.0), empty))


def timed(draw: Draw) -> Iterator[Case]:
    for b, m, k, n in ((64, 512, 512, 512), (16, 1024, 1024, 768), (96, 384, 96, 384)):
        yield Case(f"{b} x {m} x {k} x {n}", (draw.normal(b, m, k), draw.normal(b, k, n)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for b, m, k, n in ((2, 70, 90, 70), (3, 40, 70, 90)):
        yield Case(f"{b} x {m} x {k} x {n}", (draw.normal(b, m, k), draw.normal(b, k, n)))


def cost(input: torch.Tensor, mat2: torch.Tensor) -> Cost:
    (b, m, k), n = input.shape, mat2.shape[2]
    return Cost(nbytes(input, mat2) + b * m * n * input.element_size(), 2 * b * m * n * k)


TASK = Task(
    id="Quantization/bmm_w8a8",
    entry="bmm_w8a8",
    signature="bmm_w8a8(input: torch.Tensor, mat2: torch.Tensor)",
    text=TEXT,
    reference=reference,
    exact=exact,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # 8 ulp: two scales off by 2 ulp each, the conversion and two products by a half each, and some room
    judge=Elementwise(ulps=8, slack=lambda input, mat2: 1.0, magnitude=magnitude),
    cost=cost,
)
