"""Quantization/layernorm_w8a8: layer normalisation whose output is quantised to int8, one scale for each row."""

import math
from collections.abc import Iterator, Sequence

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Layer normalisation with an output on an int8 grid. `input` is float32 with any strides and finite values;
`normalized_shape` is an int or a sequence of ints: the sizes of its last dimensions, over which it is normalised (a row
from here on, of n elements). `weight` and `bias`, each float32 of that shape or None (1 and 0), are applied in float32.
For each row:

    mean = (1/n) sum_k input[k],    var = (1/n) sum_k (input[k] - mean)**2
    y[k] = (input[k] - mean) / sqrt(var + eps) * weight[k] + bias[k]                     float32
    s = max_k |y[k]| / 127                                   float32, one scale for each row
    q[k] = rint(y[k] / s)                                    int8, -127..127
    result[k] = q[k] * s                                     float32, of input's shape

The scheme is symmetric. rint rounds to the nearest integer, half to even. Where y is all zero, so is the result.
Everything is float32, with a variance that survives a mean that is large beside the deviation: E[x**2] - E[x]**2 does
not. The result is that of the quantised scheme: the plain layer norm is wrong, and so is one scale for several rows.
Since y is itself rounded, a y[k] / s within its rounding error of a half-integer may go either way, no other.
"""

EPS = torch.finfo(torch.float32).eps


def normalised(
    input: torch.Tensor,
    normalized_shape: int | Sequence[int],
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
) -> torch.Tensor:
    """y of the text, in the dtype of the input."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    return torch.nn.functional.layer_norm(input, shape, weight, bias, eps)


def dims_of(normalized_shape: int | Sequence[int]) -> list[int]:
    count = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    return list(range(-count, 0))


def reference(
    input: torch.Tensor,
    normalized_shape: int | Sequence[int],
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-05,
) -> torch.Tensor:
    y = normalised(input, normalized_shape, weight, bias, eps)
    scale = y.abs().amax(dims_of(normalized_shape), keepdim=True) / 127
    return torch.round(y / torch.where(scale > 0, scale, 1)) * scale


def magnitude(
    input: torch.Tensor,
    normalized_shape: int | Sequence[int],
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
) -> torch.Tensor:
    """What float32 may blur in scales and results, plus a step for each decision in doubt; unit: float32 eps."""
    x, dims = input.double(), dims_of(normalized_shape)
    w, b = (None if t is None else t.double() for t in (weight, bias))
    mean, var = x.mean(dims, keepdim=True), x.var(dims, correction=0, keepdim=True)
    # terms before any of them cancel, times the rounding of sums of n terms
    size = (x.abs() + mean.abs()) / (var + eps).sqrt()
    size = (size if w is None else size * w.abs()) + (0 if b is None else b.abs())
    error_y = 4 * math.sqrt(math.prod(x.shape[d] for d in dims)) * size
    y = normalised(x, normalized_shape, w, b, eps)
    scale = y.abs().amax(dims, keepdim=True) / 127
    error_scale = error_y.amax(dims, keepdim=True) / 127 + 2 * scale
    quotient = y / torch.where(scale > 0, scale, 1)
    room = EPS * (error_y + quotient.abs() * error_scale) / torch.where(scale > 0, scale, 1) + 2 * EPS * quotient.abs()
    steps = (torch.round(quotient + room) - torch.round(quotient - room)).abs()
    # a row without a scale holds its rounding errors only
    return (
        (torch.round(quotient).abs() + steps) * error_scale + steps * scale / EPS + torch.where(scale > 0, 0, error_y)
    )


def affine(draw: Draw, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A weight and a bias."""
    return draw.normal(*shape, mean=1.0, std=0.5), draw.normal(*shape)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small", (draw.normal(7, 33), 33, *affine(draw, 33)))
    yield Case("two dimensions, no weight", (draw.normal(5, 3, 17, mean=2.0), (3, 17)))
    sizes = draw.uniform(9, 1, low=0.0001, high=0.01)
    yield Case("rows of unequal size, eps", (draw.normal(9, 21) * sizes, [21]), {"eps": 1e-4})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, n = draw.size(5, 20), 2 * draw.size(20, 40) + 1
    outliers = draw.normal(rows, n)
    outliers[draw.size(0, rows - 1), draw.size(0, n - 1)] *= 200
    weight, bias = affine(draw, n)
    weight[draw.size(0, n - 1)] *= 20
    yield Case("outliers", (outliers, n, weight, bias))
    far = draw.normal(rows, n, mean=draw.pick([300.0, -500.0]))
    yield Case("mean far above the deviation, weight only", (far, (n,), affine(draw, n)[0]))
    yield Case("bias only, eps", (draw.normal(2, rows, n, std=0.1), n, None, draw.normal(n)), {"eps": 0.05})
    yield Case("three dimensions", (draw.normal(3, 2, 5, 13), [2, 5, 13], *affine(draw, 2, 5, 13)))
    long = 2 * draw.size(700, 900) + 1
    yield Case("one long row", (draw.normal(long, mean=1.0, std=3.0), long))
    yield Case("n = 1", (draw.normal(rows, 1), 1, *affine(draw, 1)))
    yield Case("strided view", (draw.strided(draw.normal(rows, n)), n, *affine(draw, n)))
    turned = draw.normal(n, 3, rows).permute(1, 2, 0)
    yield Case("permuted view", (turned, n, *affine(draw, n)))
    constant = draw.normal(rows, n)
    constant[1], constant[2] = draw.size(1, 99) / 8, 0
    yield Case("constant rows", (constant, n, affine(draw, n)[0]))


def timed(draw: Draw) -> Iterator[Case]:
    for rows, n in ((3000, 4096), (8192, 1000), (1200, 8192)):
        yield Case(f"{rows} x {n}", (draw.normal(rows, n, mean=0.5), n, *affine(draw, n)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, n in ((24, 600), (40, 300)):
        yield Case(f"{rows} x {n}", (draw.normal(rows, n, mean=0.5), n, *affine(draw, n)))


def cost(
    input: torch.Tensor,
    normalized_shape: int | Sequence[int],
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-05,
) -> Cost:
    return Cost(2 * nbytes(input) + nbytes(weight, bias), 11 * input.numel())


TASK = Task(
    id="Quantization/layernorm_w8a8",
    entry="layernorm_w8a8",
    aliases=("layer_norm_w8a8",),
    signature=(
        "layernorm_w8a8(input: torch.Tensor, normalized_shape, weight: torch.Tensor=None, bias: torch.Tensor=None, "
        "eps: float=1e-05)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda **_: 1.0, magnitude=magnitude),
    cost=cost,
)
