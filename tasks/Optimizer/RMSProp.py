"""Optimizer/RMSProp: one in-place step of RMSProp with L2 regularisation."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
One step of RMSProp, in place. `param`, `grad` and `square_avg` are float32 tensors of one shape, with any number of
dimensions and each with strides of its own; the rest are Python floats. With p, g, v for the tensors, element by
element:

    g' = g + weight_decay p
    v <- alpha v + (1 - alpha) g'^2
    p <- p - lr g' / (sqrt(v) + eps)        (with the new v; eps is added to the root)

`param` and `square_avg` are changed in place; `grad` is not. What the function returns is not looked at.
Compute in float32, but form 1 - alpha in double precision on the host, where it doesn't cancel. A NaN in `grad` makes
the same element of the other two NaN. An infinite element of `grad` makes v infinite there and p NaN.
"""


def reference(
    param: torch.Tensor,
    grad: torch.Tensor,
    square_avg: torch.Tensor,
    lr: float = 0.01,
    alpha: float = 0.99,
    eps: float = 1e-08,
    weight_decay: float = 0.0,
) -> None:
    decayed = grad.add(param, alpha=weight_decay)
    square_avg.mul_(alpha).addcmul_(decayed, decayed, value=1 - alpha)
    param.addcdiv_(decayed, square_avg.sqrt().add_(eps), value=-lr)


def magnitude(**arguments: Any) -> Mapping[str, torch.Tensor]:
    """The sums of absolute values of the terms of each update, in float64."""
    p, g, v = (arguments[name].double() for name in ("param", "grad", "square_avg"))
    alpha, decay = arguments["alpha"], arguments["weight_decay"]
    sized = g.abs() + decay * p.abs()
    new = alpha * v + (1 - alpha) * (g + decay * p) ** 2
    before = alpha * v + (1 - alpha) * sized**2
    # where g and weight_decay p cancel, the root is as uncertain as the terms that cancelled
    condition = torch.where(new > 0, (before / new).sqrt(), 1.0)
    return {
        "param after the call": p.abs() + arguments["lr"] * sized / (new.sqrt() + arguments["eps"]) * condition,
        "square_avg after the call": before,
    }


def state(draw: Draw, *shape: int) -> tuple[torch.Tensor, ...]:
    """param, grad and square_avg in the middle of a training run."""
    return draw.normal(*shape), draw.normal(*shape, std=0.5), draw.uniform(*shape, low=0.01, high=1.0)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("first step", (draw.normal(100), draw.normal(100), torch.zeros(100)))
    yield Case("matrix", state(draw, 13, 21), {"lr": 0.05, "weight_decay": 0.1})
    yield Case("other alpha and eps", state(draw, 300), {"alpha": 0.75, "eps": 1e-3})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 20), draw.size(17, 90)
    options = {"lr": 0.1, "alpha": 0.9, "eps": 0.1, "weight_decay": 0.3}
    yield Case("every option", state(draw, rows, cols), options)
    yield Case("one element", state(draw, 1), {"lr": 0.05})
    yield Case("three dimensions", state(draw, 2, rows, cols))
    yield Case("large weight decay", state(draw, rows, cols), {"weight_decay": 2.0})
    param, grad, square = state(draw, rows, cols)
    yield Case("strided views", (draw.strided(param), grad.t().contiguous().t(), draw.strided(square)), {"lr": 0.05})
    param, grad, square = state(draw, draw.size(1000, 3000))
    grad[draw.size(0, 400)] = math.nan
    grad[draw.size(500, 900)] = draw.pick((math.inf, -math.inf))
    yield Case("NaN and infinity", (param, grad, square), {"alpha": 0.95})
    yield Case("zero gradient at the start", (draw.normal(cols), torch.zeros(cols), torch.zeros(cols)))


def timed(draw: Draw) -> Iterator[Case]:
    for shape in ((2**20,), (4096, 2048), (10_000_000,)):
        yield Case(" x ".join(map(str, shape)), state(draw, *shape))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("20000", state(draw, 20000))
    yield Case("130 x 230", state(draw, 130, 230))


def cost(param: torch.Tensor, grad: torch.Tensor, square_avg: torch.Tensor, *_: Any, **__: Any) -> Cost:
    return Cost(2 * nbytes(param, square_avg) + nbytes(grad), 11 * param.numel())


TASK = Task(
    id="Optimizer/RMSProp",
    entry="rmsprop_step",
    signature="rmsprop_step(param, grad, square_avg, lr=0.01, alpha=0.99, eps=1e-08, weight_decay=0.0)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # a few additions, a square root, a division and the scalars' own rounding
    judge=Elementwise(ulps=4, slack=lambda **_: 8.0, magnitude=magnitude),
    cost=cost,
    aliases=("RMSProp", "RMSprop"),
    mutates=("param", "square_avg"),
    returns=False,
)
