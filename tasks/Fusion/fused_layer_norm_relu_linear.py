"""Fusion/fused_layer_norm_relu_linear: a linear layer, ReLU, then layer norm."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Linear layer, ReLU and layer normalisation, in this order:

    z[..., n] = sum_k input[..., k] * weight[n, k] + bias[n]
    r = max(z, 0)
    y = (r - mean(r)) / sqrt(var(r) + eps)

`input` is (..., K) with any number of dimensions before the last, also none; `weight` is (N, K); `bias` is (N,) or None
for no bias. All are float32, with any strides; the result is (..., N), float32.

mean and var (divided by the count) run over the last dimensions of r, those that `normalized_shape` names by their
sizes: None or N or (N,) is the last one alone, (L, N) the last two, of sizes L and N, and so on.
`elementwise_affine` changes nothing: the layer norm has no weight and bias of its own besides 1 and 0.

Float32 throughout: tf32 is too coarse for the product, on a GPU `tl.dot` needs `input_precision="ieee"`; and the
variance must survive a mean that is large beside the deviation (E[r**2] - E[r]**2 does not). Where all values that are
normalised together are equal, the result is 0. A NaN in z makes all NaN that is normalised with it, and nothing else;
infinity doesn't occur.
"""


def sizes(normalized_shape: int | Sequence[int] | None, weight: torch.Tensor) -> list[int]:
    if normalized_shape is None:
        return [weight.shape[0]]
    return [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    normalized_shape: int | Sequence[int] | None = None,
    eps: float = 1e-5,
    elementwise_affine: bool = True,
) -> torch.Tensor:
    return F.layer_norm(F.relu(F.linear(input, weight, bias)), sizes(normalized_shape, weight), eps=eps)


def layer(draw: Draw, rows: tuple[int, ...], n: int, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Input, weight and bias; z has a standard deviation near 1."""
    return draw.normal(*rows, k), draw.normal(n, k, std=k**-0.5), draw.normal(n)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix", (*layer(draw, (7,), 33, 19), (33,)))
    yield Case("no bias, last dimension", layer(draw, (2, 5), 21, 9)[:2])
    yield Case("last two dimensions", (*layer(draw, (3, 7), 11, 33), (7, 11)))


def hidden(draw: Draw) -> Iterator[Case]:
    n, k = 2 * draw.size(20, 30) + 1, 2 * draw.size(9, 20) + 1
    yield Case("eps", (*layer(draw, (5,), n, k), n, draw.pick([0.3, 2.0])))
    yield Case("last two dimensions, eps", (*layer(draw, (2, 3, 5), n, k), torch.Size([5, n]), 0.1))
    yield Case("all dimensions", (*layer(draw, (9,), n, k), [9, n]))
    yield Case("one dimension", layer(draw, (), n, k))
    yield Case("N = 1, last two dimensions", (*layer(draw, (3, 5), 1, k), (5, 1)))
    x, w, b = layer(draw, (n,), 70, k)
    yield Case("strided input, transposed weight", (draw.strided(x), w.t().contiguous().t(), b))
    yield Case("long rows", layer(draw, (3,), draw.size(900, 1500), 5))
    x, w, b = layer(draw, (9,), n, k)
    b += 500.0
    x[3] = 0.0
    yield Case("mean far above the deviation", (x, w, b))
    x, w, b = layer(draw, (4,), n, k)
    yield Case("small and negative rows", (x * 0.001, w, b * 0.001 - 0.002))
    x, w, b = layer(draw, (9,), n, k)
    x[1, 2], x[4, 0] = math.nan, math.nan
    yield Case("NaN", (x, w, b))


def timed(draw: Draw) -> Iterator[Case]:
    for rows, n, k in ((1024, 1024, 1024), (4096, 2048, 1000), (8192, 512, 2048)):
        yield Case(f"{rows} x {k} to {n}", (*layer(draw, (rows,), n, k), (n,)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, n, k in ((100, 130, 90), (150, 70, 50)):
        yield Case(f"{rows} x {k} to {n}", (*layer(draw, (rows,), n, k), (n,), 1e-5, False))


def magnitude(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    normalized_shape: int | Sequence[int] | None,
    eps: float,
    elementwise_affine: bool,
) -> torch.Tensor:
    x, w, b = input.double(), weight.double(), None if bias is None else bias.double()
    over = list(range(-len(sizes(normalized_shape, weight)), 0))
    r = F.linear(x, w, b).relu()
    terms = F.linear(x.abs(), w.abs(), None if b is None else b.abs())
    # mean and deviation are off by at most the root mean square of the errors of r
    spread = terms.square().mean(over, keepdim=True).sqrt()
    deviation = (r.var(over, correction=0, keepdim=True) + eps).sqrt()
    y = (r - r.mean(over, keepdim=True)) / deviation
    return (terms + (1 + y.abs()) * spread) / deviation


def cost(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, *_: Any, **__: Any) -> Cost:
    results = input.numel() // weight.shape[1] * weight.shape[0]
    return Cost(nbytes(input, weight, bias) + 4 * results, 2 * results * weight.shape[1] + 8 * results)


TASK = Task(
    id="Fusion/fused_layer_norm_relu_linear",
    entry="fused_layer_norm_relu_linear",
    aliases=("layer_norm_relu_linear",),
    signature=(
        "fused_layer_norm_relu_linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor=None, "
        "normalized_shape: torch.Size=None, eps: float=1e-05, elementwise_affine: bool=True)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda weight, **_: 4 + 2 * math.sqrt(weight.shape[1]), magnitude=magnitude),
    cost=cost,
)
