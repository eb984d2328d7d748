"""MatrixMultiply/tensordot_rsqrt: a contraction of two tensors, then the reciprocal square root."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families.products import just_above_two, odd
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
A contraction of two float32 tensors with any strides, and then the reciprocal square root of each element:

    t = sum over the contracted dimensions of a * b,    result = 1 / sqrt(t)

`dims` says what is contracted. An int n >= 1: the last n dimensions of `a` with the first n of `b`, in order. A pair of
sequences of ints (lists or tuples of one length): dimension dims[0][i] of `a` with dimension dims[1][i] of `b`, for
every i, in whatever order they are listed; negative values count from the end. Contracted dimensions have equal sizes.
The result is float32; its shape is the dimensions of `a` that are left, in their order, followed by those of `b`; none,
where all are contracted.

Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs `input_precision="ieee"`. Where t is 0
the result is inf, where t is negative or NaN it is NaN, where t is inf it is 0.
"""

Dims = int | tuple[list[int], list[int]]


def reference(a: torch.Tensor, b: torch.Tensor, dims: Dims) -> torch.Tensor:
    return torch.rsqrt(torch.tensordot(a, b, dims))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("two matrices", (draw.uniform(5, 33, low=0.1), draw.uniform(33, 17, low=0.1), 1))
    pair = ([1, 0], [0, 2])
    yield Case("two pairs of dimensions", (draw.uniform(4, 5, 6), draw.uniform(5, 7, 4, low=0.1), pair))
    yield Case("everything contracted", (draw.uniform(7, 9), draw.uniform(7, 9), 2))


def hidden(draw: Draw) -> Iterator[Case]:
    m, k, n = odd(draw, 5, 30), odd(draw, 33, 60), odd(draw, 17, 40)
    yield Case("values just above 2", (just_above_two(draw, m, k), just_above_two(draw, k, n), 1))
    large = (draw.uniform(m, k, low=100.0, high=5000.0), draw.uniform(n, k, low=10.0, high=900.0))
    yield Case("large values, last dimension of both", (*large, ([1], [-1])))
    yield Case("all sizes 1", (draw.uniform(1, 1, low=0.1), draw.uniform(1, low=0.1), 1))
    cubes = (draw.uniform(7, 3, draw.size(5, 19)), draw.uniform(3, 9, 7, 2, low=0.1))
    yield Case("dimensions out of order", (*cubes, ([1, 0], [0, 2])))
    two = (draw.uniform(9, 4, 11), draw.uniform(4, 11, draw.size(65, 90)))
    yield Case("two last dimensions", (*two, 2))
    views = (draw.strided(draw.uniform(m, k, low=0.2)), draw.uniform(n, k, low=0.2).t(), 1)
    yield Case("strided and transposed", views)
    long = draw.size(300, 500)
    yield Case("two vectors", (draw.uniform(long), draw.uniform(long), ([0], [0])))
    yield Case("zero, negative, NaN and infinity", (special_rows(draw, k), draw.uniform(k, n, low=0.1), 1))


def special_rows(draw: Draw, k: int) -> torch.Tensor:
    """Rows whose products with positive values are positive, 0, negative, NaN and infinite."""
    rows = draw.uniform(9, k, low=0.1)
    rows[2] = 0.0
    rows[4] *= -1
    rows[6, draw.size(0, k - 1)] = math.nan
    rows[7, draw.size(0, k - 1)] = math.inf
    return rows


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("1024 x 1024 by 1024 x 1024", (draw.uniform(1024, 1024), draw.uniform(1024, 1024), 1))
    pair = ([1, 2], [0, 1])
    yield Case("2000 x 32 x 48 by 32 x 48 x 1500", (draw.uniform(2000, 32, 48), draw.uniform(32, 48, 1500), pair))
    yield Case("1500 x 1000 by 2500 x 1000", (draw.uniform(1500, 1000), draw.uniform(2500, 1000), ([1], [1])))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("100 x 90 by 90 x 130", (draw.uniform(100, 90), draw.uniform(90, 130), 1))
    yield Case("70 x 9 x 10 by 9 x 10 x 140", (draw.uniform(70, 9, 10), draw.uniform(9, 10, 140), 2))


def contracted(a: torch.Tensor, dims: Dims) -> int:
    """How many products are added for each element."""
    return math.prod(a.shape[d] for d in (range(-dims, 0) if isinstance(dims, int) else dims[0]))


def magnitude(a: torch.Tensor, b: torch.Tensor, dims: Dims) -> torch.Tensor:
    """|result| times half the relative condition of the sum: the root halves relative errors."""
    total = torch.tensordot(a.double(), b.double(), dims)
    terms = torch.tensordot(a.double().abs(), b.double().abs(), dims)
    size: torch.Tensor = 0.5 * terms / total.abs() * total.rsqrt()
    return size


def cost(a: torch.Tensor, b: torch.Tensor, dims: Dims) -> Cost:
    k = contracted(a, dims)
    results = (a.numel() // k) * (b.numel() // k)
    return Cost(nbytes(a, b) + results * a.element_size(), 2 * results * (k + 1))


TASK = Task(
    id="MatrixMultiply/tensordot_rsqrt",
    entry="tensordot_rsqrt",
    signature="tensordot_rsqrt(a: torch.Tensor, b: torch.Tensor, dims)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda a, b, dims: 2 * math.sqrt(contracted(a, dims)), magnitude=magnitude),
    cost=cost,
)
