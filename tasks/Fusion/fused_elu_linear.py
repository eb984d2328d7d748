"""Fusion/fused_elu_linear: a linear layer, then the exponential linear unit."""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Linear layer and exponential linear unit (ELU):

    z[..., n] = sum_k input[..., k] * weight[n, k] + bias[n]
    y = z where z > 0,  alpha * (exp(z) - 1) elsewhere

`input` is (..., K) with any number of dimensions before the last, also none; `weight` is (N, K); `bias` is (N,) or None
for no bias. All are float32 or all are float16, with any strides; the result is (..., N) of the same dtype. `input` may
be empty, without a row; the result is empty then.
`inplace` is about an intermediate value: it changes nothing that a caller could see, and the inputs are left alone.

Products and sums are float32 (for float32 inputs tf32 is too coarse: `tl.dot` needs `input_precision="ieee"` on a GPU),
and so is the rest. A float16 result is rounded at the end; that z is rounded to float16 as well is accepted.
NaN and infinity go through as in the formulas, and reach no other row.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    alpha: float = 1.0,
    inplace: bool = False,
) -> torch.Tensor:
    return F.elu(F.linear(input, weight, bias), alpha, inplace)


def layer(
    draw: Draw, rows: tuple[int, ...], n: int, k: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Input, weight and bias; z has a standard deviation near 1."""
    return draw.normal(*rows, k, dtype=dtype), draw.normal(n, k, std=k**-0.5, dtype=dtype), draw.normal(n, dtype=dtype)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix", layer(draw, (7,), 33, 19))
    yield Case("no bias, alpha = 0.3", layer(draw, (2, 5), 21, 9)[:2], {"alpha": 0.3})
    yield Case("float16", layer(draw, (5,), 21, 33, torch.float16))


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = 2 * draw.size(20, 30) + 1, 2 * draw.size(9, 20) + 1
    yield Case("alpha", layer(draw, (5,), n, k), {"alpha": draw.pick([0.25, 1.75])})
    yield Case("float16, alpha", layer(draw, (2, 3), n, k, torch.float16), {"alpha": draw.pick([0.25, 1.75])})
    yield Case("one dimension, float16", layer(draw, (), n, k, torch.float16))
    yield Case("one row, K = 1, N = 1", layer(draw, (1,), 1, 1)[:2])
    yield Case("no rows", layer(draw, (0,), 5, k))
    x, w, b = layer(draw, (n,), 70, k)
    yield Case("strided input, transposed weight", (draw.strided(x), w.t().contiguous().t(), b))
    yield Case("large values", (layer(draw, (9,), n, k)[0] * 30, *layer(draw, (), n, k)[1:]))
    yield Case("long rows", layer(draw, (3,), 9, draw.size(500, 900)))
    x, w, b = layer(draw, (9,), n, k)
    x[1, 2], x[4, 0], x[6, 1] = math.nan, math.inf, -math.inf
    yield Case("NaN and infinity", (x, w, b))


def timed(draw: Draw) -> Iterator[Case]:
    for rows, n, k, dtype in (
        (1024, 1024, 1024, torch.float32),
        (4096, 2048, 1000, torch.float32),
        (2048, 2048, 1024, torch.float16),
    ):
        yield Case(f"{rows} x {k} to {n}, {str(dtype)[6:]}", layer(draw, (rows,), n, k, dtype), {"inplace": True})


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, n, k in ((100, 130, 90), (150, 70, 50)):
        yield Case(f"{rows} x {k} to {n}", layer(draw, (rows,), n, k), {"inplace": True})


def magnitude(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, alpha: float, inplace: bool
) -> torch.Tensor:
    terms = F.linear(input.double().abs(), weight.double().abs(), None if bias is None else bias.double().abs())
    # ELU stretches an error of z by at most max(1, alpha); exp(z) - 1 cancels near 0
    return max(1.0, abs(alpha)) * terms + abs(alpha)


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    alpha: float = 1.0,
    inplace: bool = False,
) -> Cost:
    results = input.numel() // weight.shape[1] * weight.shape[0]
    bytes_min = nbytes(input, weight, bias) + results * input.element_size()
    return Cost(bytes_min, 2 * results * weight.shape[1] + 3 * results)


TASK = Task(
    id="Fusion/fused_elu_linear",
    entry="fused_elu_linear",
    aliases=("elu_linear",),
    signature="fused_elu_linear(input, weight, bias=None, alpha=1.0, inplace=False)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=1, slack=lambda weight, **_: 4 + 2 * math.sqrt(weight.shape[1]), magnitude=magnitude),
    cost=cost,
)
