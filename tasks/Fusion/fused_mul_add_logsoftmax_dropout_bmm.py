"""Fusion/fused_mul_add_logsoftmax_dropout_bmm: x1 * x2 + other, log-softmax, dropout, then a batched matrix product."""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.families.dropout import EPS, Dropout, Mask, Values, demands, scaled
from tasks.task import Case, Cost, Task, nbytes

TEXT = f"""\
Product, sum, log-softmax, dropout and a batched matrix product, in this order:

    z = input1 * input2 + other
    s = log_softmax(z, dim):  s = z - m - log(sum exp(z - m)),  m = max z, each along dimension dim
    d = s / (1 - p) where kept, 0 where dropped
    y[b, i, j] = sum_k d[b, i, k] * mat2[b, k, j]

`input1` is (B, N, K); `input2` broadcasts to this shape, and so does `other`, a tensor or a number. `mat2` is
(B, K, M). All tensors are float32, with any strides; the result is (B, N, M), float32. `dim` is a dimension of z
(negative values count from the end). With training=False nothing is dropped and nothing scaled: d = s. p = 0 keeps
all; p = 1 gives zeros. `inplace` is about an intermediate value: it changes nothing that a caller could see, and the
inputs are left alone. `out`, when given, is a contiguous tensor of the result's shape: the result is written into it,
and `out` itself is returned.

Float32 throughout: large z must not overflow, and tf32 is too coarse for the product: on a GPU `tl.dot` needs
`input_precision="ieee"`. While dropping, NaN and infinity don't occur; otherwise a NaN in z makes the slice of s that
it is in NaN, and thereby the rows of y that this slice meets.

The mask has the shape of s, and the result is judged by it: wherever something is dropped, `mat2` has at least 1.5 K
columns, so that d can be found from y.

{demands()}
"""


def reference(
    input1: torch.Tensor,
    input2: torch.Tensor,
    other: torch.Tensor | float,
    mat2: torch.Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    dim: int = -1,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    y = torch.bmm(F.dropout(torch.log_softmax(input1 * input2 + other, dim), p, training, inplace), mat2)
    return y if out is None else out.copy_(y)


def chance(p: float, training: bool, **_: Any) -> float:
    return p if training else 0.0


def log_softmax(input1: torch.Tensor, input2: torch.Tensor, other: Any, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """It in float64, and how far off float32 may be."""
    addend = other.double() if isinstance(other, torch.Tensor) else other
    product = input1.double() * input2.double()
    z = product + addend
    # an error of z reaches its own element whole, and all elements of its slice with its softmax for a weight
    terms = 4 * (product.abs() + abs(addend)) + 4 * math.sqrt(z.shape[dim])
    error = terms + (terms * z.softmax(dim)).sum(dim, keepdim=True) + 4 * z.logsumexp(dim, keepdim=True).abs()
    return z.log_softmax(dim), EPS * error


def values(
    keep: torch.Tensor,
    input1: torch.Tensor,
    input2: torch.Tensor,
    other: torch.Tensor | float,
    mat2: torch.Tensor,
    p: float,
    training: bool,
    dim: int,
    **_: Any,
) -> Values:
    s, error = log_softmax(input1, input2, other, dim)
    rate = chance(p, training)
    d, off, right = scaled(s, keep, rate), scaled(error, keep, rate), mat2.double()
    terms = EPS * (4 + 2 * math.sqrt(mat2.shape[1])) * d.abs() + off
    return Values(d @ right, terms @ right.abs())


def mask(
    returned: torch.Tensor,
    input1: torch.Tensor,
    input2: torch.Tensor,
    other: torch.Tensor | float,
    mat2: torch.Tensor,
    p: float,
    dim: int,
    **_: Any,
) -> Mask:
    """d is the solution of d @ mat2 = y by least squares: mat2 has full rank, and more columns than rows."""
    kept = log_softmax(input1, input2, other, dim)[0] / (1 - p)
    d = returned.double() @ torch.linalg.pinv(mat2.double())
    return Mask((d - kept).abs() <= d.abs(), kept.abs() > 1e-3)


def operands(draw: Draw, b: int, n: int, k: int, m: int) -> tuple[torch.Tensor, ...]:
    return draw.normal(b, n, k), draw.normal(b, n, k), draw.normal(b, n, k), draw.normal(b, k, m)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("dropping half", operands(draw, 2, 37, 9, 17))
    x, y, _, w = operands(draw, 1, 70, 11, 23)
    yield Case("p = 0.2, other is a number", (x, y, 0.75, w, 0.2))
    yield Case("not training", operands(draw, 3, 7, 33, 5), {"training": False})


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = 2 * draw.size(20, 30) + 1, 2 * draw.size(5, 8) + 1
    m = 2 * k + draw.size(1, 5)
    yield Case("p = 0.1, three batches", (*operands(draw, 3, n, k, m), 0.1))
    yield Case("p = 0.75, dim = 1", (*operands(draw, 2, n, k, m), 0.75, True, False, 1))
    x, _, c, w = operands(draw, 2, 5, k, 7)
    row, scale = draw.normal(k), draw.normal(2, 1, 1)
    yield Case("broadcast, dim = 0, not training", (x, row, scale, w), {"training": False, "dim": 0})
    yield Case("p = 0, out given", (x, x, c, w, 0.0), {"out": draw.normal(2, 5, 7)})
    yield Case("p = 1", (*operands(draw, 1, 5, k, m), 1.0))
    yield Case("one column, N = 1", (*operands(draw, 2, 1, k, 1), draw.pick([0.3, 0.6]), False))
    x, y, c, w = operands(draw, 2, 33, k, m)
    views = (draw.strided(x), y.transpose(1, 2).contiguous().transpose(1, 2), c, draw.strided(w))
    yield Case("strided and transposed", views)
    x, y, c, w = operands(draw, 2, 9, k, 19)
    yield Case("large values, not training", (x * 30, y * 9, c, w), {"training": False})
    x, y, c, w = operands(draw, 1, 12, draw.size(170, 250), 9)
    x[..., -1] = y[..., -1] = 4.0  # the largest of a row comes last
    yield Case("long rows, not training", (x, y, c, w, 0.5, False))
    x, y, c, w = operands(draw, 2, 9, k, 19)
    x[0, 1, 2], c[1, 4, 0] = math.nan, math.nan
    yield Case("NaN, not training", (x, y, c, w), {"training": False})


def timed(draw: Draw) -> Iterator[Case]:
    for b, n, k, m in ((8, 1024, 256, 512), (4, 1000, 500, 1000), (32, 512, 128, 256)):
        yield Case(f"{b} of {n} x {k} x {m}", (*operands(draw, b, n, k, m), 0.5, True, True))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for b, n, k, m in ((2, 70, 30, 90), (3, 50, 33, 70)):
        yield Case(f"{b} of {n} x {k} x {m}", (*operands(draw, b, n, k, m), 0.5, True, True))


def cost(
    input1: torch.Tensor, input2: torch.Tensor, other: torch.Tensor | float, mat2: torch.Tensor, *_: Any, **__: Any
) -> Cost:
    results = input1.shape[0] * input1.shape[1] * mat2.shape[2]
    read = nbytes(input1, input2, mat2, other if isinstance(other, torch.Tensor) else None)
    return Cost(read + 4 * results, 2 * results * mat2.shape[1] + 8 * input1.numel())


TASK = Task(
    id="Fusion/fused_mul_add_logsoftmax_dropout_bmm",
    entry="fused_mul_add_logsoftmax_dropout_bmm",
    aliases=("mul_add_logsoftmax_dropout_bmm",),
    signature=(
        "fused_mul_add_logsoftmax_dropout_bmm(input1, input2, other, mat2, p=0.5, training=True, inplace=False, "
        "dim=-1, *, out=None)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Dropout(chance, values, mask),
    cost=cost,
    writes_to="out",
    stochastic=True,
)
