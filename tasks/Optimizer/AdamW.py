"""Optimizer/AdamW: one in-place step of Adam with decoupled weight decay."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
One step of AdamW, in place. `param`, `grad`, `exp_avg` and `exp_avg_sq` are float32 tensors of one shape, with any
number of dimensions and each with strides of its own; `step` is a Python int, the number of steps *including this one*
(1 in the first call); the rest are Python floats. With p, g, m, v for the four tensors, element by element:

    p <- p (1 - lr weight_decay)
    m <- beta1 m + (1 - beta1) g
    v <- beta2 v + (1 - beta2) g^2
    p <- p - lr / (1 - beta1^step) * m / (sqrt(v) / sqrt(1 - beta2^step) + eps)

`param`, `exp_avg` and `exp_avg_sq` are changed in place; `grad` is not. What the function returns is not looked at.
Compute in float32, but form 1 - beta1, 1 - beta2 and the two bias corrections in double precision on the host, where
they don't cancel. A NaN in `grad` makes the same element of the other three NaN. An infinite element of `grad` makes
m and v infinite there and p NaN.
"""


def reference(
    param: torch.Tensor,
    grad: torch.Tensor,
    exp_avg: torch.Tensor,
    exp_avg_sq: torch.Tensor,
    step: int,
    lr: float = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-08,
    weight_decay: float = 0.01,
) -> None:
    param.mul_(1 - lr * weight_decay)
    exp_avg.mul_(beta1).add_(grad, alpha=1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    denominator = (exp_avg_sq.sqrt() / math.sqrt(1 - beta2**step)).add_(eps)
    param.addcdiv_(exp_avg, denominator, value=-lr / (1 - beta1**step))


def magnitude(**arguments: Any) -> Mapping[str, torch.Tensor]:
    """The sums of absolute values of the terms of each update, in float64."""
    p, g, m, v = (arguments[name].double() for name in ("param", "grad", "exp_avg", "exp_avg_sq"))
    beta1, beta2, step = arguments["beta1"], arguments["beta2"], arguments["step"]
    first = beta1 * m.abs() + (1 - beta1) * g.abs()
    second = beta2 * v + (1 - beta2) * g**2
    denominator = (second / (1 - beta2**step)).sqrt() + arguments["eps"]
    change = arguments["lr"] / (1 - beta1**step) * first / denominator
    return {
        "param after the call": p.abs() + change,
        "exp_avg after the call": first,
        "exp_avg_sq after the call": second,
    }


def state(draw: Draw, *shape: int) -> tuple[torch.Tensor, ...]:
    """param, grad, exp_avg and exp_avg_sq in the middle of a training run."""
    second = draw.uniform(*shape, low=0.01, high=1.0)
    return draw.normal(*shape), draw.normal(*shape, std=0.5), draw.normal(*shape, std=0.2), second


def public(draw: Draw) -> Iterator[Case]:
    param, grad = draw.normal(100), draw.normal(100)
    yield Case("first step", (param, grad, torch.zeros(100), torch.zeros(100), 1))
    yield Case("matrix", (*state(draw, 13, 21), 7), {"lr": 0.02, "weight_decay": 0.1})
    yield Case("other betas", (*state(draw, 300), 3), {"beta1": 0.8, "beta2": 0.95, "eps": 1e-3})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 20), draw.size(17, 90)
    options = {"lr": 0.05, "beta1": 0.7, "beta2": 0.98, "eps": 0.1, "weight_decay": 0.3}
    yield Case("every option", (*state(draw, rows, cols), draw.size(2, 50)), options)
    yield Case("one element", (*state(draw, 1), 1), {"lr": 0.01})
    yield Case("no weight decay", (*state(draw, 2, rows, cols), draw.size(5, 900)), {"weight_decay": 0.0})
    param, grad, first, second = state(draw, rows, cols)
    mixed = (draw.strided(param), grad, first.t().contiguous().t(), draw.strided(second))
    yield Case("strided views", (*mixed, draw.size(2, 9)), {"lr": 0.01})
    param, grad, first, second = state(draw, draw.size(1000, 3000))
    grad[draw.size(0, 400)] = math.nan
    grad[draw.size(500, 900)] = draw.pick((math.inf, -math.inf))
    yield Case("NaN and infinity", (param, grad, first, second, 4), {"eps": 1e-4, "beta1": 0.95})
    yield Case("zero gradient at the start", (draw.normal(cols), *(torch.zeros(cols) for _ in range(3)), 1))


def timed(draw: Draw) -> Iterator[Case]:
    for shape in ((2**20,), (4096, 2048), (2**24,)):
        yield Case(" x ".join(map(str, shape)), (*state(draw, *shape), 10))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("20000", (*state(draw, 20000), 10))
    yield Case("130 x 250", (*state(draw, 130, 250), 10))


def cost(param: torch.Tensor, grad: torch.Tensor, *_: Any, **__: Any) -> Cost:
    return Cost(2 * 3 * nbytes(param) + nbytes(grad), 14 * param.numel())


TASK = Task(
    id="Optimizer/AdamW",
    entry="adamw_step",
    signature="adamw_step(param, grad, exp_avg, exp_avg_sq, step, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-08, "
    "weight_decay=0.01)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # each update adds two terms; square root, two divisions and the scalars' own rounding come on top
    judge=Elementwise(ulps=4, slack=lambda **_: 8.0, magnitude=magnitude),
    cost=cost,
    aliases=("AdamW",),
    mutates=("param", "exp_avg", "exp_avg_sq"),
    returns=False,
)
