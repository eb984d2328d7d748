"""Optimizer/Adam: the first steps of a new Adam optimizer, from zero state, for gradients that are given."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
The first steps of Adam from zero state: what a new optimizer makes of one parameter tensor when its gradients are
known. `params` is a list of T + 1 float32 tensors (T >= 1) of one shape, with any number of dimensions and each with
strides of its own: the parameter p, and then the gradients g_1, ..., g_T of T steps. With m = v = 0 at the start, for
t = 1, ..., T and element by element:

    g' = g_t + weight_decay p
    m <- beta1 m + (1 - beta1) g'
    v <- beta2 v + (1 - beta2) g'^2
    p <- p - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)

with (beta1, beta2) = `betas`. The result is p after step T, as a new float32 tensor; none of `params` changes.
lr, betas, eps and weight_decay are Python numbers. Compute in float32, but form 1 - beta1, 1 - beta2 and the bias
corrections in double precision on the host, where they don't cancel. T may be any number; it is at most 6 here.
A NaN or infinity in a gradient makes that element of the result NaN, and no other.
"""


def reference(
    params: list[torch.Tensor],
    lr: float = 0.001,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-08,
    weight_decay: float = 0,
) -> torch.Tensor:
    param = params[0].clone()
    first, second = torch.zeros_like(param), torch.zeros_like(param)
    for step, grad in enumerate(params[1:], 1):
        decayed = grad.add(param, alpha=weight_decay)
        first.mul_(betas[0]).add_(decayed, alpha=1 - betas[0])
        second.mul_(betas[1]).addcmul_(decayed, decayed, value=1 - betas[1])
        denominator = (second.sqrt() / math.sqrt(1 - betas[1] ** step)).add_(eps)
        param.addcdiv_(first, denominator, value=-lr / (1 - betas[0] ** step))
    return param


def magnitude(
    params: list[torch.Tensor], lr: float, betas: tuple[float, float], eps: float, weight_decay: float
) -> torch.Tensor:
    """|p| and the changes of all steps, each with its terms' absolute values added up, in float64."""
    param = params[0].double().clone()
    total = param.abs()
    first, second, sized, sized2 = (torch.zeros_like(param) for _ in range(4))
    for step, grad in enumerate((g.double() for g in params[1:]), 1):
        decayed, terms = grad + weight_decay * param, grad.abs() + weight_decay * param.abs()
        first, sized = (betas[0] * a + (1 - betas[0]) * b for a, b in ((first, decayed), (sized, terms)))
        second, sized2 = (betas[1] * a + (1 - betas[1]) * b**2 for a, b in ((second, decayed), (sized2, terms)))
        rate = lr / (1 - betas[0] ** step) / ((second / (1 - betas[1] ** step)).sqrt() + eps)
        # where a gradient and its decay cancel, the root is as uncertain as the terms that cancelled
        condition = torch.where(second > 0, (sized2 / second).sqrt(), 1.0)
        param = param - rate * first
        total = total + rate * sized * condition
    return total


def run(draw: Draw, steps: int, *shape: int) -> list[torch.Tensor]:
    """A parameter and the gradients of `steps` steps."""
    return [draw.normal(*shape), *(draw.normal(*shape, std=0.5) for _ in range(steps))]


def public(draw: Draw) -> Iterator[Case]:
    yield Case("one step", (run(draw, 1, 100),))
    yield Case("three steps of a matrix", (run(draw, 3, 13, 21),), {"lr": 0.02, "weight_decay": 0.1})
    yield Case("other betas", (run(draw, 2, 300), 0.01, (0.5, 0.75)))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 20), draw.size(17, 90)
    options = {"lr": 0.05, "betas": (0.7, 0.98), "eps": 0.1, "weight_decay": 0.3}
    yield Case("every option, two steps", (run(draw, 2, rows, cols),), options)
    yield Case("every option, six steps", (run(draw, 6, 2, rows, cols),), options)
    yield Case("five steps", (run(draw, 5, draw.size(900, 1400)),), {"lr": 0.01})
    yield Case("one element, four steps", (run(draw, 4, 1),), {"lr": 0.01})
    yield Case("large eps, one step", (run(draw, 1, cols, rows),), {"eps": 0.5, "lr": 0.1})
    param, one, two = run(draw, 2, rows, cols)
    yield Case("strided views", ([draw.strided(param), one.t().contiguous().t(), draw.strided(two)],), {"lr": 0.1})
    special = run(draw, 3, draw.size(1000, 2000))
    special[1][draw.size(0, 400)] = math.nan
    special[2][draw.size(500, 900)] = draw.pick((math.inf, -math.inf))
    yield Case("NaN and infinity", (special,), {"lr": 0.1})
    still = [draw.normal(cols), torch.zeros(cols), draw.normal(cols)]
    yield Case("zero gradient at the start", (still,), {"lr": 0.1})


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("1048576, one step", (run(draw, 1, 2**20),))
    yield Case("4096 x 2048, two steps", (run(draw, 2, 4096, 2048),))
    yield Case("5000000, four steps", (run(draw, 4, 5_000_000),), {"weight_decay": 0.01})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("20000, one step", (run(draw, 1, 20000),))
    yield Case("130 x 90, four steps", (run(draw, 4, 130, 90),), {"weight_decay": 0.1})


def cost(params: list[torch.Tensor], *_: Any, **__: Any) -> Cost:
    return Cost(nbytes(*params, params[0]), 14 * (len(params) - 1) * params[0].numel())


TASK = Task(
    id="Optimizer/Adam",
    entry="Adam",
    signature="Adam(params, lr=0.001, betas=(0.9, 0.999), eps=1e-08, weight_decay=0)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # each step adds two terms three times; a root, two divisions and the scalars' own rounding come on top
    judge=Elementwise(ulps=4, slack=lambda params, **_: 8.0 + 4.0 * len(params), magnitude=magnitude),
    cost=cost,
    aliases=("adam_step",),
)
