"""MatrixMultiply/matmul_fp16: a product of float16 matrices, summed in float32 and rounded once."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.products import absolute_product, odd, with_specials
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Product of two float16 matrices, `input` of shape (M, K) and `other` of shape (K, N), with any strides:

    y[i, j] = sum_k input[i, k] * other[k, j]

The result is a new float16 matrix of shape (M, N).

Numerical contract: products and their sum are float32 (a `tl.dot` of float16 tiles with a float32 accumulator), and
the sum is rounded once to float16, to nearest. Each element must be that rounded value, up to the float32 error of the
sum. Rounding partial sums to float16 is too inaccurate, and a partial sum may lie far beyond the range of float16 while
the whole does not. A sum that itself lies beyond it gives inf of its sign. NaN and infinity go through as in any sum of
products (inf * 0 and inf - inf are NaN), and reach no other row or column.
"""
HALF = torch.float16


def reference(input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    work = torch.promote_types(input.dtype, torch.float32)
    return torch.matmul(input.to(work), other.to(work)).to(input.dtype)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small", (draw.normal(5, 33, dtype=HALF), draw.normal(33, 17, dtype=HALF)))
    yield Case("several tiles", (draw.normal(19, 150, dtype=HALF), draw.normal(150, 45, dtype=HALF)))
    yield Case("one row", (draw.normal(1, 70, dtype=HALF), draw.normal(70, 21, dtype=HALF)))


def hidden(draw: Draw) -> Iterator[Case]:
    m, k, n = odd(draw, 9, 40), odd(draw, 70, 130), odd(draw, 17, 40)
    yield Case("odd sizes", (draw.normal(m, k, dtype=HALF), draw.normal(k, n, dtype=HALF)))
    long = draw.size(500, 800)
    yield Case("long K", (draw.normal(7, long, dtype=HALF), draw.normal(long, 9, std=0.1, dtype=HALF)))
    positive = (draw.uniform(5, long, high=0.5, dtype=HALF), draw.uniform(long, 11, dtype=HALF))
    yield Case("long K, positive values", positive)
    yield Case("all sizes 1", (draw.normal(1, 1, dtype=HALF), draw.normal(1, 1, dtype=HALF)))
    views = (draw.strided(draw.normal(m, k, dtype=HALF)), draw.normal(n, k, dtype=HALF).t())
    yield Case("strided and transposed", views)
    yield Case("partial sums beyond the range", there_and_back(draw, m, k, n))
    beyond = draw.uniform(m, k, low=10.0, high=20.0, dtype=HALF)
    beyond[::2] *= 30
    yield Case("some sums beyond the range", (beyond, draw.uniform(k, n, low=2.0, high=4.0, dtype=HALF)))
    special = with_specials(draw, draw.normal(9, k, dtype=HALF))
    yield Case("NaN and infinity", (special, draw.normal(k, n, dtype=HALF)))


def there_and_back(draw: Draw, m: int, k: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows whose first half adds up to some 10**6 and whose second half takes it away again."""
    half = k // 2
    left = draw.normal(m, k, dtype=HALF)
    left[:, :half] = draw.uniform(m, half, low=150.0, high=250.0, dtype=HALF)
    left[:, half : 2 * half] = -left[:, :half]
    right = draw.normal(k, n, dtype=HALF)
    right[:half] = draw.uniform(half, n, low=100.0, high=200.0, dtype=HALF)
    right[half : 2 * half] = right[:half]
    return left, right


def timed(draw: Draw) -> Iterator[Case]:
    for m, k, n in ((2048, 2048, 2048), (4096, 4096, 3072), (1000, 8192, 2000)):
        yield Case(f"{m} x {k} by {k} x {n}", (draw.normal(m, k, dtype=HALF), draw.normal(k, n, dtype=HALF)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for m, k, n in ((200, 96, 160), (140, 200, 180)):
        yield Case(f"{m} x {k} by {k} x {n}", (draw.normal(m, k, dtype=HALF), draw.normal(k, n, dtype=HALF)))


def magnitude(input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return absolute_product(input, other)


def cost(input: torch.Tensor, other: torch.Tensor) -> Cost:
    results = input.shape[0] * other.shape[1]
    return Cost(nbytes(input, other) + results * input.element_size(), 2 * results * input.shape[1])


TASK = Task(
    id="MatrixMultiply/matmul_fp16",
    entry="matmul_fp16",
    signature="matmul_fp16(input: torch.Tensor, other: torch.Tensor)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # half a unit of float16 is one correct rounding; `slack` is what a float32 sum may add before it
    judge=Elementwise(
        ulps=0.51, slack=lambda input, other: 2 * math.sqrt(input.shape[1]), magnitude=magnitude, baseline=1.0
    ),
    cost=cost,
)
