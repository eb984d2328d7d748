"""MatrixMultiply/matmul: the matrix product with torch's rules for vectors and batches."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Matrix product of two float32 tensors:

    y[..., i, j] = sum_k tensor1[..., i, k] * tensor2[..., k, j]

Either has one dimension or more, and any strides. All dimensions before the last two are batch dimensions and are
broadcast against each other (also where the numbers of dimensions differ). A one-dimensional `tensor1` counts as one
row, a one-dimensional `tensor2` as one column, and that row or column is left out of the result's shape: two vectors
give a result without dimensions. The result is float32.

Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs `input_precision="ieee"`. NaN and
infinity go through as in any sum of products (inf * 0 and inf - inf are NaN), and reach no other row or column.
"""


def reference(tensor1: torch.Tensor, tensor2: torch.Tensor) -> torch.Tensor:
    return torch.matmul(tensor1, tensor2)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("two matrices", (draw.normal(5, 33), draw.normal(33, 17)))
    yield Case("matrix and vector", (draw.normal(19, 45), draw.normal(45)))
    yield Case("batch of matrices", (draw.normal(3, 7, 21), draw.normal(3, 21, 9)))


def hidden(draw: Draw) -> Iterator[Case]:
    m, k, n = (2 * draw.size(*bounds) + 1 for bounds in ((2, 20), (16, 30), (8, 20)))
    yield Case("large values", (draw.normal(m, k, mean=100.0, std=1000.0), draw.normal(k, n, mean=-50.0, std=200.0)))
    yield Case("one row, K = 1", (draw.normal(1, 1), draw.normal(1, n)))
    yield Case("two vectors", (draw.normal(k), draw.normal(k)))
    yield Case("vector and batch", (draw.normal(k), draw.normal(2, k, 5)))
    yield Case("broadcast batches", (draw.normal(2, 1, 5, 17), draw.normal(3, 17, 7)))
    yield Case("strided and transposed", (draw.strided(draw.normal(m, k)), draw.normal(n, k).t()))
    long = draw.size(500, 900)
    yield Case("long K", (draw.normal(3, long), draw.normal(long, 5)))
    special = draw.normal(9, k)
    special[1, draw.size(0, k - 1)] = math.nan
    special[3, draw.size(0, k - 1)] = math.inf
    special[5, 0], special[5, k - 1] = math.inf, -math.inf
    yield Case("NaN and infinity", (special, draw.normal(k, n)))


def timed(draw: Draw) -> Iterator[Case]:
    for a, b in (((1024, 1024), (1024, 1024)), ((4096, 1024), (1024, 2048)), ((16, 512, 768), (16, 768, 512))):
        yield Case(f"{' x '.join(map(str, a))} by {' x '.join(map(str, b))}", (draw.normal(*a), draw.normal(*b)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for a, b in (((100, 90), (90, 130)), ((3, 70, 50), (3, 50, 70))):
        yield Case(f"{' x '.join(map(str, a))} by {' x '.join(map(str, b))}", (draw.normal(*a), draw.normal(*b)))


def magnitude(tensor1: torch.Tensor, tensor2: torch.Tensor) -> torch.Tensor:
    return torch.matmul(tensor1.double().abs(), tensor2.double().abs())


def cost(tensor1: torch.Tensor, tensor2: torch.Tensor) -> Cost:
    results = torch.matmul(tensor1.to("meta"), tensor2.to("meta")).numel()
    return Cost(nbytes(tensor1, tensor2) + results * tensor1.element_size(), 2 * results * tensor1.shape[-1])


TASK = Task(
    id="MatrixMultiply/matmul",
    entry="matmul",
    signature="matmul(tensor1, tensor2)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # a float32 sum of same-signed terms in plain order is off by about 0.8 sqrt(K) eps at worst; tf32 by far more
    judge=Elementwise(slack=lambda tensor1, tensor2: 2 * math.sqrt(tensor1.shape[-1]), magnitude=magnitude),
    cost=cost,
)
