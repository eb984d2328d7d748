"""Optimizer/Lion: one in-place step of Lion, which moves by the sign of an interpolated momentum."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
One step of Lion, in place. `param`, `grad` and `exp_avg` are float32 tensors of one shape, with any number of
dimensions and each with strides of its own; the rest are Python floats. With p, g, m for the tensors, element by
element:

    c = beta1 m + (1 - beta1) g
    p <- p (1 - lr weight_decay) - lr sign(c)
    m <- beta2 m + (1 - beta2) g

sign(c) is 1, 0 or -1; in particular 0 where c is 0. `param` and `exp_avg` are changed in place; `grad` is not. What the
function returns is not looked at.
Compute in float32, but form 1 - beta1, 1 - beta2 and 1 - lr weight_decay in double precision on the host. Where c is so
small beside its terms that its sign is a matter of float32 rounding, any of the three signs is accepted.
An infinite element of `grad` makes m infinite there and counts as its sign in c. No tensor holds NaN.
"""
SLACK = 8.0
EPS = torch.finfo(torch.float32).eps


def reference(
    param: torch.Tensor,
    grad: torch.Tensor,
    exp_avg: torch.Tensor,
    lr: float = 0.0001,
    beta1: float = 0.9,
    beta2: float = 0.99,
    weight_decay: float = 0.0,
) -> None:
    direction = torch.sign(beta1 * exp_avg + (1 - beta1) * grad)
    param.mul_(1 - lr * weight_decay).add_(direction, alpha=-lr)
    exp_avg.mul_(beta2).add_(grad, alpha=1 - beta2)


def magnitude(**arguments: Any) -> Mapping[str, torch.Tensor]:
    """The terms of each update; where a sign is undecided, as much as both signs differ by."""
    p, g, m = (arguments[name].double() for name in ("param", "grad", "exp_avg"))
    lr, beta1, beta2 = arguments["lr"], arguments["beta1"], arguments["beta2"]
    sized = beta1 * m.abs() + (1 - beta1) * g.abs()
    undecided = (beta1 * m + (1 - beta1) * g).abs() < SLACK * EPS * sized
    return {
        "param after the call": p.abs() + lr + torch.where(undecided, 2 * lr / (SLACK * EPS), 0.0),
        "exp_avg after the call": beta2 * m.abs() + (1 - beta2) * g.abs(),
    }


def state(draw: Draw, *shape: int) -> tuple[torch.Tensor, ...]:
    """param, grad and exp_avg in the middle of a training run."""
    return draw.normal(*shape), draw.normal(*shape, std=0.5), draw.normal(*shape, std=0.2)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("first step", (draw.normal(100), draw.normal(100), torch.zeros(100)))
    yield Case("matrix", state(draw, 13, 21), {"lr": 0.02, "weight_decay": 0.1})
    yield Case("other betas", state(draw, 300), {"beta1": 0.5, "beta2": 0.75})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 20), draw.size(17, 90)
    options = {"lr": 0.05, "beta1": 0.6, "beta2": 0.9, "weight_decay": 0.3}
    yield Case("every option", state(draw, rows, cols), options)
    yield Case("one element", state(draw, 1), {"lr": 0.01})
    yield Case("three dimensions", state(draw, 2, rows, cols))
    param, grad, average = state(draw, rows, cols)
    yield Case("strided views", (draw.strided(param), grad.t().contiguous().t(), draw.strided(average)), {"lr": 0.01})
    param, grad, average = state(draw, draw.size(1000, 3000))
    grad[draw.size(0, 900)] = draw.pick((math.inf, -math.inf))
    yield Case("infinity", (param, grad, average), {"lr": 0.1})
    param, grad, average = state(draw, draw.size(100, 300))
    grad[::3] = 0.0
    average[::2] = 0.0
    yield Case("some directions 0", (param, grad, average), {"lr": 0.1, "weight_decay": 0.01})
    yield Case("zero gradient at the start", (draw.normal(cols), torch.zeros(cols), torch.zeros(cols)), {"lr": 0.1})


def timed(draw: Draw) -> Iterator[Case]:
    for shape in ((2**20,), (4096, 2048), (10_000_000,)):
        yield Case(" x ".join(map(str, shape)), state(draw, *shape))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("20000", state(draw, 20000))
    yield Case("130 x 230", state(draw, 130, 230))


def cost(param: torch.Tensor, grad: torch.Tensor, exp_avg: torch.Tensor, *_: Any, **__: Any) -> Cost:
    return Cost(2 * nbytes(param, exp_avg) + nbytes(grad), 9 * param.numel())


TASK = Task(
    id="Optimizer/Lion",
    entry="lion_step",
    signature="lion_step(param, grad, exp_avg, lr=0.0001, beta1=0.9, beta2=0.99, weight_decay=0.0)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=4, slack=lambda **_: SLACK, magnitude=magnitude),
    cost=cost,
    aliases=("Lion",),
    mutates=("param", "exp_avg"),
    returns=False,
)
