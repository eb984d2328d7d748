"""Fusion/fused_tanh_linear: a linear layer, then the hyperbolic tangent."""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Linear layer and hyperbolic tangent:

    z[..., n] = sum_k input[..., k] * weight[n, k] + bias[n]
    y = tanh(z)

`input` is (..., K) with any number of dimensions before the last, also none; `weight` is (N, K); `bias` is (N,) or None
for no bias. All are float32 or all are float16, with any strides; the result is (..., N) of the same dtype. `input` may
be empty, without a row; the result is empty then.
tanh must not overflow: large z give 1 and -1.

Products and sums are float32 (for float32 inputs tf32 is too coarse: `tl.dot` needs `input_precision="ieee"` on a GPU),
and so is the rest. A float16 result is rounded at the end; that z is rounded to float16 as well is accepted.
NaN and infinity go through as in the formulas, and reach no other row.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    return torch.tanh(F.linear(input, weight, bias))


def layer(
    draw: Draw, rows: tuple[int, ...], n: int, k: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Input, weight and bias; z has a standard deviation near 1."""
    return draw.normal(*rows, k, dtype=dtype), draw.normal(n, k, std=k**-0.5, dtype=dtype), draw.normal(n, dtype=dtype)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix", layer(draw, (7,), 33, 19))
    yield Case("no bias", layer(draw, (2, 5), 21, 9)[:2])
    yield Case("float16", layer(draw, (5,), 21, 33, torch.float16))


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = 2 * draw.size(20, 30) + 1, 2 * draw.size(9, 20) + 1
    yield Case("four dimensions", layer(draw, (2, 1, 3), n, k))
    yield Case("float16, three dimensions", layer(draw, (2, 3), n, k, torch.float16))
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
        yield Case(f"{rows} x {k} to {n}, {str(dtype)[6:]}", layer(draw, (rows,), n, k, dtype))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, n, k in ((100, 130, 90), (150, 70, 50)):
        yield Case(f"{rows} x {k} to {n}", layer(draw, (rows,), n, k))


def magnitude(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    x, w, b = input.double(), weight.double(), None if bias is None else bias.double()
    terms = F.linear(x.abs(), w.abs(), None if b is None else b.abs())
    # the derivative turns the error of z into that of y; tanh itself may be taken from exponentials, off by eps
    return (1 - F.linear(x, w, b).tanh().square()) * terms + 1


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> Cost:
    results = input.numel() // weight.shape[1] * weight.shape[0]
    bytes_min = nbytes(input, weight, bias) + results * input.element_size()
    return Cost(bytes_min, 2 * results * weight.shape[1] + 6 * results)


TASK = Task(
    id="Fusion/fused_tanh_linear",
    entry="fused_tanh_linear",
    aliases=("tanh_linear",),
    signature="fused_tanh_linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=1, slack=lambda weight, **_: 4 + 2 * math.sqrt(weight.shape[1]), magnitude=magnitude),
    cost=cost,
)
