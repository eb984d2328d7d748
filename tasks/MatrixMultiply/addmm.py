"""MatrixMultiply/addmm: a scaled matrix product plus a scaled matrix."""

import math
from collections.abc import Iterator, Mapping

import torch

from tasks.draw import Draw
from tasks.families.products import absolute_product, just_above_two, odd, with_specials
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
A matrix product added to a matrix, each with a factor:

    y = beta * input + alpha * (mat1 @ mat2)

`mat1` is (N, M), `mat2` is (M, P), `input` has any shape that broadcasts to (N, P): a matrix, a row (P,) or (1, P), a
column (N, 1), one element (1,). All are float32 with any strides; so is the result, of shape (N, P), a new tensor
unless `out` is given. `alpha` and `beta` are Python numbers. Where beta is 0, `input` is not used at all: its NaN and
infinities have no effect.
`out`, when given, is a contiguous float32 tensor of shape (N, P) that shares no memory with the inputs: the result is
written into it, and `out` itself is returned.

Products and sums are full float32: tf32 is too coarse, on a GPU `tl.dot` needs `input_precision="ieee"`. NaN and
infinity go through as in any sum of products (inf * 0 and inf - inf are NaN), and reach no other row or column.
"""


def reference(
    input: torch.Tensor,
    mat1: torch.Tensor,
    mat2: torch.Tensor,
    beta: float = 1,
    alpha: float = 1,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    result = torch.addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return result if out is None else out.copy_(result)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("three matrices", (draw.normal(5, 17), draw.normal(5, 33), draw.normal(33, 17)))
    yield Case(
        "bias of each column", (draw.normal(21), draw.normal(19, 45), draw.normal(45, 21)), {"beta": 0.5, "alpha": 2.0}
    )
    scaled = (draw.normal(7, 9), draw.normal(7, 21), draw.normal(21, 9))
    yield Case("beta and alpha, out given", scaled, {"beta": -1.5, "alpha": 0.25, "out": draw.normal(7, 9)})


def hidden(draw: Draw) -> Iterator[Case]:
    n, m, p = odd(draw, 5, 40), odd(draw, 33, 60), odd(draw, 17, 40)
    large = (draw.normal(n, m, mean=100.0, std=1000.0), draw.normal(m, p, mean=-50.0, std=200.0))
    yield Case("large values", (draw.normal(n, p, std=1e5), *large), {"alpha": draw.pick([0.75, -1.25])})
    yield Case(
        "values just above 2", (draw.normal(p), just_above_two(draw, n, m), just_above_two(draw, m, p)), {"beta": -0.5}
    )
    yield Case("all sizes 1", (draw.normal(1, 1), draw.normal(1, 1), draw.normal(1, 1)), {"beta": 3.0, "alpha": -2.0})
    yield Case(
        "a column and one row of products", (draw.normal(n, 1), draw.normal(n, 1), draw.normal(1, p)), {"beta": 2.0}
    )
    unused = torch.full((n, p), draw.pick([math.nan, math.inf]))
    yield Case(
        "beta 0 and an input of NaN or infinity",
        (unused, draw.normal(n, m), draw.normal(m, p)),
        {"beta": 0, "alpha": 1.5},
    )
    views = (draw.strided(draw.normal(n, p)), draw.strided(draw.normal(n, m)), draw.normal(p, m).t())
    yield Case("strided and transposed, out given", views, {"beta": 0.75, "out": draw.normal(n, p)})
    long = draw.size(500, 800)
    yield Case(
        "long M, one element for all",
        (draw.normal(1), draw.normal(3, long), draw.normal(long, 5)),
        {"beta": -4.0, "alpha": 0.5},
    )
    special = with_specials(draw, draw.normal(9, m))
    yield Case("NaN and infinity", (draw.normal(9, p), special, draw.normal(m, p)))


def timed(draw: Draw) -> Iterator[Case]:
    for n, m, p in ((1024, 1024, 1024), (4096, 1024, 2048), (2000, 3000, 2500)):
        yield Case(
            f"{n} x {m} by {m} x {p}",
            (draw.normal(p), draw.normal(n, m), draw.normal(m, p)),
            {"beta": 0.5, "alpha": 2.0},
        )


def stand_ins(draw: Draw) -> Iterator[Case]:
    for n, m, p in ((100, 90, 130), (70, 200, 90)):
        yield Case(
            f"{n} x {m} by {m} x {p}",
            (draw.normal(n, p), draw.normal(n, m), draw.normal(m, p)),
            {"beta": 0.5, "alpha": 2.0},
        )


def magnitude(
    input: torch.Tensor,
    mat1: torch.Tensor,
    mat2: torch.Tensor,
    beta: float,
    alpha: float,
    out: torch.Tensor | None,
) -> Mapping[str, torch.Tensor]:
    size = abs(alpha) * absolute_product(mat1, mat2)
    if beta != 0:
        size = size + abs(beta) * input.double().abs()
    return {"result": size, "out after the call": size}


def cost(
    input: torch.Tensor,
    mat1: torch.Tensor,
    mat2: torch.Tensor,
    beta: float = 1,
    alpha: float = 1,
    out: torch.Tensor | None = None,
) -> Cost:
    results = mat1.shape[0] * mat2.shape[1]
    added = nbytes(input) if beta else 0
    return Cost(nbytes(mat1, mat2) + added + results * mat1.element_size(), 2 * results * mat1.shape[1])


TASK = Task(
    id="MatrixMultiply/addmm",
    entry="addmm",
    signature="addmm(input: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, beta: float=1, alpha: float=1, "
    "out: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # a float32 sum of same-signed terms in plain order is off by about 0.8 sqrt(M) eps at worst; tf32 by far more
    judge=Elementwise(slack=lambda mat1, **_: 4 + 2 * math.sqrt(mat1.shape[1]), magnitude=magnitude),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
