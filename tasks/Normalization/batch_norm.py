"""Normalization/batch_norm: each channel normalised by its batch's, or by the running, mean and variance."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Batch normalisation of a float32 `input` of shape (N, C), (N, C, L) or (N, C, H, W), with any strides. Per channel c:

    y = (x - mean[c]) / sqrt(var[c] + eps) * weight[c] + bias[c]

training=False: mean and var are `running_mean` and `running_var`, which stay as they are.
training=True: mean and var are those of the channel over all other dimensions, m = number of values a channel:
    mean = (1/m) sum x,    var = (1/m) sum (x - mean)**2
and then the running statistics are changed in place, with the *unbiased* variance:
    running_mean = (1 - momentum) * running_mean + momentum * mean
    running_var  = (1 - momentum) * running_var  + momentum * var * m / (m - 1)
When training both may be None (nothing to change then), and m is at least 2.

`weight` and `bias` may each be None (1 and 0). All of these are contiguous float32 vectors of C values.
Numerical contract: float32 throughout, with a variance that survives a mean that is large beside the deviation:
E[x**2] - E[x]**2 does not; two passes, Welford's update or merging partial means does.
When training, a NaN in a channel makes this channel's results and running statistics NaN and no other's. In inference
NaN and infinities stay in their own elements.
"""


def reference(
    input: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> torch.Tensor:
    return torch.nn.functional.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def running(draw: Draw, channels: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A running mean and a running variance."""
    return draw.normal(channels), draw.uniform(channels, low=0.5, high=2.0)


def affine(draw: Draw, channels: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A weight and a bias."""
    return draw.normal(channels, mean=1.0, std=0.5), draw.normal(channels)


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
    sample = draw.normal(1, channels, 1, std=50.0)
    yield Case("one value a channel, weight only", (sample, *running(draw, channels), affine(draw, channels)[0]))
    long = draw.normal(1, 1, draw.size(2050, 3000), mean=2.0, std=3.0)
    yield Case("one long channel, bias only, training", (long, *running(draw, 1), None, draw.normal(1), True))
    constant = draw.normal(n, channels, length)
    constant[:, 1] = draw.size(1, 99) / 7
    yield Case("a constant channel, no running statistics", (constant, None, None, *affine(draw, channels), True))
    view = draw.strided(draw.normal(n, channels, length, mean=1.0))
    yield Case("strided view, training", (view, *running(draw, channels)), {"training": True})
    last = draw.normal(n, 5, draw.size(3, 13), 6, mean=1.0).permute(0, 3, 1, 2)
    yield Case("channels last in memory, training", (last, *running(draw, 6), *affine(draw, 6), True))
    tall = draw.normal(n, 4, draw.size(3, 13), 6).transpose(2, 3)
    yield Case("transposed view, inference", (tall, *running(draw, 4), *affine(draw, 4)))
    special = draw.normal(n, channels, length, mean=1.0)
    special[draw.size(0, n - 1), 1, draw.size(0, length - 1)] = math.nan
    yield Case("NaN, training", (special, *running(draw, channels)), {"training": True})
    infinite = special.clone()
    infinite[0, 0, :2] = torch.tensor([math.inf, -math.inf])
    yield Case("NaN and infinity, inference", (infinite, *running(draw, channels)))


def timed(draw: Draw) -> Iterator[Case]:
    for shape in ((40, 64, 112, 112), (64, 512, 28, 28)):
        name = " x ".join(map(str, shape))
        values = draw.normal(*shape, mean=1.0)
        yield Case(f"{name}, training", (values, *running(draw, shape[1]), *affine(draw, shape[1]), True))
    yield Case("8192 x 4000, inference", (draw.normal(8192, 4000), *running(draw, 4000), *affine(draw, 4000)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case(
        "4 x 6 x 24 x 24, training", (draw.normal(4, 6, 24, 24, mean=1.0), *running(draw, 6), *affine(draw, 6), True)
    )
    yield Case("80 x 100, inference", (draw.normal(80, 100), *running(draw, 100), *affine(draw, 100)))


def slack(input: torch.Tensor, training: bool, **_: Any) -> float:
    return 4 * math.sqrt(input.numel() / input.shape[1]) if training else 4.0


def magnitude(
    input: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> dict[str, torch.Tensor]:
    """Terms before any of them cancel: (|x| + |mean|) / sqrt(var + eps) * |weight| + |bias| for y.

    Those of the running variance carry the condition of a variance, sqrt(1 + mean**2 / var): Chan, Golub and
    LeVeque, The American Statistician 37 (1983).
    """
    x = input.double().transpose(1, -1)
    others = list(range(x.dim() - 1))
    if training or running_mean is None or running_var is None:
        mean, var = x.mean(others), x.var(others, correction=0)
    else:
        mean, var = running_mean.double(), running_var.double()
    size = (x.abs() + mean.abs()) / (var + eps).sqrt()
    if weight is not None:
        size = size * weight.double().abs()
    if bias is not None:
        size = size + bias.double().abs()
    sizes = {"result": size.transpose(1, -1)}
    if training and running_mean is not None and running_var is not None:
        old_mean, old_var = ((1 - momentum) * old.double().abs() for old in (running_mean, running_var))
        sizes["running_mean after the call"] = old_mean + momentum * x.abs().mean(others)
        sizes["running_var after the call"] = old_var + momentum * (var * (var + mean**2)).sqrt()
    return sizes


def cost(
    input: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Cost:
    statistics = nbytes(running_mean, running_var) * (2 if training else 1)
    return Cost(2 * nbytes(input) + statistics + nbytes(weight, bias), (7 if training else 2) * input.numel())


TASK = Task(
    id="Normalization/batch_norm",
    entry="batch_norm",
    signature=(
        "batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
    mutates=("running_mean", "running_var"),
)
