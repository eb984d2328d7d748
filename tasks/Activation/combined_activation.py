"""Activation/combined_activation: a matrix product, sigmoid, tanh, a weight and a bias, fused."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
A matrix product, two activations on top of each other, a weight and a bias:

    z = input @ weight1
    y = weight2 * tanh(1 / (1 + exp(-z))) + bias

`input` has the shape (..., K), with two dimensions or more, and `weight1` has (K, N): the result has (..., N).
`weight2` and `bias` are multiplied and added element by element: each has a shape that can be broadcast to the
result's, for example (N,), (..., N), (M, 1) or (). Everything is float32, with any strides.
`out`, when given, is a contiguous float32 tensor of the result's shape: the result is written into it, and `out`
itself is returned.

All of it is computed in float32: tf32 is too coarse for the product, on a GPU `tl.dot` needs
`input_precision="ieee"`. Infinite z saturate: the sigmoid of -inf is 0 and that of +inf is 1, and no finite z may give
NaN. A NaN in a row of `input` makes the elements of that row of the result NaN, and no others.
"""


def reference(
    input: torch.Tensor,
    weight1: torch.Tensor,
    weight2: torch.Tensor,
    bias: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    y = weight2 * torch.tanh(torch.sigmoid(input @ weight1)) + bias
    return y if out is None else out.copy_(y)


def product(draw: Draw, *shape: int, std: float = 1.5) -> tuple[torch.Tensor, torch.Tensor]:
    """An input (..., K) and a weight1 (K, N) whose product has this standard deviation."""
    *rows, k, n = shape
    return draw.normal(*rows, k), draw.normal(k, n, std=std / math.sqrt(k))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("two dimensions", (*product(draw, 5, 33, 17), draw.normal(17), draw.normal(17)))
    yield Case("three dimensions", (*product(draw, 2, 3, 21, 9), draw.normal(3, 9), draw.normal(2, 1, 9)))


def hidden(draw: Draw) -> Iterator[Case]:
    m, k, n = (2 * draw.size(*bounds) + 1 for bounds in ((2, 20), (16, 30), (8, 20)))
    yield Case("weight and bias of the result's shape", (*product(draw, m, k, n), draw.normal(m, n), draw.normal(m, n)))
    yield Case("weight of one column, bias a scalar", (*product(draw, m, k, n), draw.normal(m, 1), draw.normal()))
    yield Case("one row, K = 1", (*product(draw, 1, 1, n), draw.normal(n), draw.normal(1)))
    yield Case("large sums", (*product(draw, m, k, n, std=40.0), draw.normal(n), draw.normal(n)))
    x, w = product(draw, m, k, n)
    yield Case("strided and transposed", (draw.strided(x), w.T.contiguous().T, draw.normal(n, m).T, draw.normal(n)))
    given = {"out": draw.normal(2, 3, n)}
    yield Case("out given", (*product(draw, 2, 3, k, n), draw.normal(2, 1, 1), draw.normal(3, n)), given)
    yield Case("long K", (*product(draw, 3, draw.size(300, 500), 5), draw.normal(5), draw.normal(5)))
    special, w = product(draw, 9, k, n)
    special[1, draw.size(0, k - 1)] = math.nan
    special[3, draw.size(0, k - 1)] = math.inf
    special[5, draw.size(0, k - 1)] = -math.inf
    yield Case("NaN and infinity", (special, w, draw.normal(n), draw.normal(n)))


def timed(draw: Draw) -> Iterator[Case]:
    for shape in ((2048, 1024, 1000), (4096, 512, 1024), (16, 128, 768, 1536)):
        yield Case(
            " x ".join(map(str, shape)), (*product(draw, *shape), draw.normal(shape[-1]), draw.normal(shape[-1]))
        )


def stand_ins(draw: Draw) -> Iterator[Case]:
    for shape in ((100, 90, 130), (3, 40, 50, 70)):
        yield Case(
            " x ".join(map(str, shape)), (*product(draw, *shape), draw.normal(shape[-1]), draw.normal(shape[-1]))
        )


def magnitude(
    input: torch.Tensor,
    weight1: torch.Tensor,
    weight2: torch.Tensor,
    bias: torch.Tensor,
    out: torch.Tensor | None,
) -> dict[str, torch.Tensor]:
    """|weight2| * (1 + the product's terms times the slope of tanh(sigmoid(z))) + |bias|."""
    s = torch.sigmoid(input.double() @ weight1.double())
    slope = s * (1 - s) * (1 - torch.tanh(s) ** 2)
    terms = (slope * (input.double().abs() @ weight1.double().abs())).nan_to_num(0.0, 0.0, 0.0)
    return unary.sizes(weight2.double().abs() * (1 + terms) + bias.double().abs(), out=out)


def cost(
    input: torch.Tensor,
    weight1: torch.Tensor,
    weight2: torch.Tensor,
    bias: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> Cost:
    k, n = weight1.shape
    results = input.numel() // k * n
    return Cost(nbytes(input, weight1, weight2, bias) + 4 * results, results * (2 * k + 10))


TASK = Task(
    id="Activation/combined_activation",
    entry="combined_activation",
    signature="combined_activation(input, weight1, weight2, bias, *, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # as for a product: float32 sums in plain order stay below sqrt(K) eps of the terms, tf32 doesn't
    judge=Elementwise(
        slack=lambda input, weight1, weight2, bias, out: 2 * math.sqrt(input.shape[-1]), magnitude=magnitude
    ),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
