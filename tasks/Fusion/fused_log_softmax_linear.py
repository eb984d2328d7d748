"""Fusion/fused_log_softmax_linear: a linear layer, then the logarithm of softmax along one dimension."""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Linear layer and log-softmax along dimension `dim` of its result (negative values count from the end):

    z[..., n] = sum_k input[..., k] * weight[n, k] + bias[n]
    y = z - m - log(sum exp(z - m)),    m = max z, sum and max along dim

`input` is (..., K) with any number of dimensions before the last, also none; `weight` is (N, K); `bias` is (N,) or None
for no bias. All are float32 or all are float16, with any strides; the result is (..., N). Its dtype is `dtype` if
given (float16, float32 or float64), otherwise that of the input.

Products and sums of z are float32 (for float32 inputs tf32 is too coarse: `tl.dot` needs `input_precision="ieee"` on a
GPU), also where `dtype` is float64. The rest is float32, or float64 where `dtype` is. A float16 result is rounded at
the end; where the input or the result is float16, that z is rounded to float16 as well is accepted. Large z must not
overflow. A NaN in z makes its slice along `dim` NaN, and no other; infinity doesn't occur.
"""


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    dim: int = -1,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    return torch.log_softmax(F.linear(input, weight, bias), dim, dtype=dtype)


def layer(
    draw: Draw, rows: tuple[int, ...], n: int, k: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Input, weight and bias; z has a standard deviation near 1."""
    return draw.normal(*rows, k, dtype=dtype), draw.normal(n, k, std=k**-0.5, dtype=dtype), draw.normal(n, dtype=dtype)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix", layer(draw, (7,), 33, 19))
    yield Case("no bias, first dimension", layer(draw, (19,), 21, 9)[:2], {"dim": 0})
    yield Case("float16", layer(draw, (5,), 21, 33, torch.float16))


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = 2 * draw.size(20, 30) + 1, 2 * draw.size(9, 20) + 1
    yield Case("middle dimension", (*layer(draw, (3, draw.size(5, 20)), n, k), 1))
    yield Case("float64 result", layer(draw, (5,), n, k), {"dtype": torch.float64})
    yield Case("float64 result, first dimension", layer(draw, (5, 3), n, k), {"dtype": torch.float64, "dim": -3})
    yield Case("float16 result", layer(draw, (5,), n, k), {"dtype": torch.float16})
    half = layer(draw, (2, 3), n, k, torch.float16)
    yield Case("float16, float32 result", half, {"dtype": torch.float32})
    yield Case("one dimension", layer(draw, (), n, k))
    yield Case("one class", layer(draw, (3,), 1, k))
    x, w, b = layer(draw, (n,), 70, k)
    yield Case("strided input, transposed weight", (draw.strided(x), w.t().contiguous().t(), b))
    yield Case("large values", (layer(draw, (9,), n, k)[0] * 200, *layer(draw, (), n, k)[1:]))
    yield Case("many classes", layer(draw, (2,), draw.size(1100, 1900), 5))
    x, w, b = layer(draw, (9,), n, k)
    x[1, 2], x[4, 0] = math.nan, math.nan
    yield Case("NaN", (x, w, b))


def timed(draw: Draw) -> Iterator[Case]:
    for rows, n, k, dtype in (
        (1024, 1024, 1024, torch.float32),
        (1000, 10000, 512, torch.float32),
        (2048, 2048, 1024, torch.float16),
    ):
        yield Case(f"{rows} x {k} to {n}, {str(dtype)[6:]}", layer(draw, (rows,), n, k, dtype))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, n, k in ((100, 130, 90), (150, 70, 50)):
        yield Case(f"{rows} x {k} to {n}", layer(draw, (rows,), n, k))


def magnitude(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, dim: int, dtype: torch.dtype | None
) -> torch.Tensor:
    x, w, b = input.double(), weight.double(), None if bias is None else bias.double()
    z = F.linear(x, w, b)
    # an error of z reaches its own element whole, and all elements of its slice with its softmax for a weight
    error = (4 + 2 * math.sqrt(w.shape[1])) * F.linear(x.abs(), w.abs(), None if b is None else b.abs())
    error = torch.finfo(torch.float32).eps * (error + 4 * z.abs() + 4 * math.sqrt(z.shape[dim] if z.dim() else 1))
    if torch.float16 in (input.dtype, dtype):
        error = error + torch.finfo(torch.float16).eps * z.abs()
    error = error + (error * z.softmax(dim)).sum(dim, keepdim=True)
    return error / torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    dim: int = -1,
    dtype: torch.dtype | None = None,
) -> Cost:
    results = input.numel() // weight.shape[1] * weight.shape[0]
    bytes_min = nbytes(input, weight, bias) + results * (dtype or input.dtype).itemsize
    return Cost(bytes_min, 2 * results * weight.shape[1] + 5 * results)


def one(**_: Any) -> float:
    return 1.0  # magnitude holds the whole of the error


TASK = Task(
    id="Fusion/fused_log_softmax_linear",
    entry="fused_log_softmax_linear",
    aliases=("log_softmax_linear",),
    signature="fused_log_softmax_linear(input, weight, bias=None, dim=-1, dtype=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=1, slack=one, magnitude=magnitude),
    cost=cost,
)
