"""Fusion/fused_hardsigmoid_batch_norm: batch normalisation, and the hard sigmoid of the result."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.fused import affine, batch_norm_terms, running
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Batch normalisation of a float32 `x` of shape (N, C), (N, C, L) or (N, C, H, W), with any strides, and the hard sigmoid
of the result. Per channel c:

    z = (x - mean[c]) / sqrt(var[c] + eps) * weight[c] + bias[c]
    y = min(max(z / 6 + 1/2, 0), 1)

training=False: mean and var are `running_mean` and `running_var`, which stay as they are.
training=True: mean and var are those of the channel over all other dimensions, m = number of values a channel (m > 1):
    mean = (1/m) sum x,    var = (1/m) sum (x - mean)**2
and then the running statistics are changed in place, with the *unbiased* variance:
    running_mean = (1 - momentum) * running_mean + momentum * mean
    running_var  = (1 - momentum) * running_var  + momentum * var * m / (m - 1)
When training both may be None (nothing to change then).

`weight` and `bias` may each be None (1 and 0). All of these are contiguous float32 vectors of C values.
`inplace`: the result is written over `x`, whatever its strides are, and `x` itself is returned.
Otherwise `x` stays as it is.
Numerical contract: float32 throughout, with a variance that survives a mean that is large beside the deviation:
E[x**2] - E[x]**2 does not; two passes, Welford's update or merging partial means does. In inference,
+inf gives 1 and -inf 0.
When training, a NaN in a channel makes this channel's results and running statistics NaN and no other's. In inference
a NaN stays in its own element.
"""


def reference(
    x: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
    inplace: bool = False,
) -> torch.Tensor:
    z = torch.nn.functional.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)
    y = torch.nn.functional.hardsigmoid(z)
    return x.copy_(y) if inplace else y


def public(draw: Draw) -> Iterator[Case]:
    yield Case("inference", (draw.normal(3, 5, 17), *running(draw, 5), *affine(draw, 5)))
    yield Case("training", (draw.normal(4, 3, 5, 7, mean=1.0), *running(draw, 3), *affine(draw, 3), True))
    yield Case("training, two dimensions", (draw.normal(19, 7, mean=1.0), *running(draw, 7)), {"training": True})


def hidden(draw: Draw) -> Iterator[Case]:
    n, channels, length = draw.size(2, 5), draw.size(3, 6), draw.size(35, 70)
    far = draw.normal(n, channels, length, mean=draw.pick([3000.0, 5000.0]))
    yield Case("mean far above the deviation", (far, *running(draw, channels), *affine(draw, channels), True))
    options = {"training": True, "momentum": draw.pick([0.3, 0.7]), "eps": 0.05}
    image = draw.normal(n, channels, 5, draw.size(3, 13), mean=1.0, std=0.5)
    yield Case("momentum and eps, training", (image, *running(draw, channels), *affine(draw, channels)), options)
    wide = draw.size(35, 60)
    yield Case("eps, inference, two dimensions", (draw.normal(n, wide), *running(draw, wide)), {"eps": 0.05})
    yield Case("one value a channel, weight only", (draw.normal(1, 5, 1), *running(draw, 5), affine(draw, 5)[0]))
    long = draw.normal(1, 1, draw.size(2050, 3000), mean=2.0, std=3.0)
    yield Case("one long channel, bias only, training", (long, *running(draw, 1), None, draw.normal(1), True))
    constant = draw.normal(n, channels, length)
    constant[:, 1] = draw.size(1, 99) / 7
    yield Case("a constant channel, no running statistics", (constant, None, None, *affine(draw, channels), True))
    large = draw.normal(n, channels, length, std=20.0)
    yield Case("saturated values", (large, *running(draw, channels), *affine(draw, channels)))
    view = draw.strided(draw.normal(n, channels, length, mean=1.0))
    yield Case("strided view, training", (view, *running(draw, channels)), {"training": True})
    last = draw.normal(n, 5, draw.size(3, 13), 6, mean=1.0).permute(0, 3, 1, 2)
    yield Case("channels last in memory, training", (last, *running(draw, 6), *affine(draw, 6), True))
    tall = draw.normal(n, 4, draw.size(3, 13), 6).transpose(2, 3)
    yield Case("transposed view, inference", (tall, *running(draw, 4), *affine(draw, 4)))
    image = draw.normal(n, channels, 7, draw.size(3, 13), mean=1.0)
    yield Case("in place, training", (image, *running(draw, channels), *affine(draw, channels), True, 0.1, 1e-5, True))
    view = draw.strided(draw.normal(n, channels, length)).transpose(1, 2)
    yield Case("in place, strided view", (view, *running(draw, length)), {"inplace": True})
    special = draw.normal(n, channels, length, mean=1.0)
    special[draw.size(0, n - 1), 1, draw.size(0, length - 1)] = math.nan
    yield Case("NaN, training", (special, *running(draw, channels)), {"training": True})
    special = special.clone()
    special[0, 0, :2] = torch.tensor([math.inf, -math.inf])
    yield Case("NaN and infinity, inference", (special, *running(draw, channels)))


def timed(draw: Draw) -> Iterator[Case]:
    for shape in ((32, 64, 112, 112), (64, 300, 28, 28)):
        name = " x ".join(map(str, shape))
        values = draw.normal(*shape, mean=1.0)
        yield Case(f"{name}, training", (values, *running(draw, shape[1]), *affine(draw, shape[1]), True))
    yield Case("6000 x 4096, inference", (draw.normal(6000, 4096), *running(draw, 4096), *affine(draw, 4096)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    image = draw.normal(4, 6, 24, 24, mean=1.0)
    yield Case("4 x 6 x 24 x 24, training", (image, *running(draw, 6), *affine(draw, 6), True))
    yield Case("80 x 100, inference", (draw.normal(80, 100), *running(draw, 100), *affine(draw, 100)))


def slack(x: torch.Tensor, training: bool, **_: Any) -> float:
    return 4 * math.sqrt(x.numel() / x.shape[1]) if training else 4.0


def magnitude(inplace: bool, **arguments: Any) -> dict[str, torch.Tensor]:
    """Those of the normalisation, a sixth of them, and the 1/2."""
    terms = batch_norm_terms(**arguments)
    size = terms.pop("normalised") / 6 + 0.5
    return terms | {"result": size} | ({"x after the call": size} if inplace else {})


def cost(
    x: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
    inplace: bool = False,
) -> Cost:
    statistics = nbytes(running_mean, running_var) * (2 if training else 1)
    return Cost(2 * nbytes(x) + statistics + nbytes(weight, bias), (10 if training else 5) * x.numel())


TASK = Task(
    id="Fusion/fused_hardsigmoid_batch_norm",
    entry="fused_hardsigmoid_batch_norm",
    aliases=("hardsigmoid_batch_norm",),
    signature=(
        "fused_hardsigmoid_batch_norm(x: torch.Tensor, running_mean: torch.Tensor, running_var: torch.Tensor, "
        "weight: torch.Tensor=None, bias: torch.Tensor=None, training: bool=False, momentum: float=0.1, "
        "eps: float=1e-05, inplace: bool=False)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
    mutates=("x", "running_mean", "running_var"),
)
