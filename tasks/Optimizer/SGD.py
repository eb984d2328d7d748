"""Optimizer/SGD: one in-place step of gradient descent with momentum, dampening, Nesterov's form and L2 decay."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
One step of stochastic gradient descent, in place. `param` and `grad`, and `momentum_buffer` where one is given, are
float32 tensors of one shape, with any number of dimensions and each with strides of its own; the rest are Python floats
and a bool. With p, g, b for the tensors, element by element:

    g' = g + weight_decay p
    momentum = 0:         u = g', and a buffer that is given stays as it is
    a buffer is given:    b <- momentum b + (1 - dampening) g'
    no buffer (None):     b = g' (the first step, not dampened; it is not kept)
    momentum not 0:       u = g' + momentum b if nesterov, else b
    p <- p - lr u

`param` and the given `momentum_buffer` are changed in place; `grad` is not. What the function returns is not looked at.
All is computed in float32. NaN and infinities go through as the formulas say and stay in their own elements.
"""


def reference(
    param: torch.Tensor,
    grad: torch.Tensor,
    momentum_buffer: torch.Tensor | None = None,
    lr: float = 0.1,
    momentum: float = 0.9,
    weight_decay: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
) -> None:
    update = grad.add(param, alpha=weight_decay)
    if momentum != 0:
        buffer = update
        if momentum_buffer is not None:
            buffer = momentum_buffer.mul_(momentum).add_(update, alpha=1 - dampening)
        update = update.add(buffer, alpha=momentum) if nesterov else buffer
    param.add_(update, alpha=-lr)


def magnitude(**arguments: Any) -> Mapping[str, torch.Tensor]:
    """The sums of absolute values of the terms of each update, in float64."""
    p, g, b = (arguments[name] for name in ("param", "grad", "momentum_buffer"))
    lr, momentum = arguments["lr"], arguments["momentum"]
    size = g.double().abs() + arguments["weight_decay"] * p.double().abs()
    held = size if b is None else momentum * b.double().abs() + (1 - arguments["dampening"]) * size
    moved = size if momentum == 0 else size + momentum * held if arguments["nesterov"] else held
    return {"param after the call": p.double().abs() + lr * moved, "momentum_buffer after the call": held}


def state(draw: Draw, *shape: int) -> tuple[torch.Tensor, ...]:
    """param, grad and momentum_buffer in the middle of a training run."""
    return draw.normal(*shape), draw.normal(*shape, std=0.5), draw.normal(*shape, std=0.7)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("momentum", state(draw, 100))
    yield Case("first step, no buffer", (draw.normal(13, 21), draw.normal(13, 21)), {"lr": 0.05})
    yield Case("Nesterov", state(draw, 300), {"nesterov": True, "momentum": 0.5, "weight_decay": 0.1})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 20), draw.size(17, 90)
    options = {"lr": 0.03, "momentum": 0.7, "weight_decay": 0.3, "dampening": 0.25}
    yield Case("every option but Nesterov", state(draw, rows, cols), options)
    yield Case("every option", state(draw, 2, rows, cols), {**options, "dampening": 0.5, "nesterov": True})
    yield Case("one element", state(draw, 1), {"dampening": 0.1})
    yield Case("no momentum, a buffer that stays", state(draw, cols), {"momentum": 0.0, "weight_decay": 0.2})
    plain = {"momentum": 0.0, "lr": 0.3}
    yield Case("no momentum, no buffer", (draw.normal(rows, cols), draw.normal(rows, cols)), plain)
    first = {"nesterov": True, "dampening": 0.5, "weight_decay": 0.1}
    yield Case("first step, Nesterov, no buffer", (draw.normal(cols, 5), draw.normal(cols, 5), None), first)
    param, grad, buffer = state(draw, rows, cols)
    mixed = (draw.strided(param), grad.t().contiguous().t(), draw.strided(buffer))
    yield Case("strided views", mixed, {"weight_decay": 0.1})
    param, grad, buffer = state(draw, draw.size(1000, 3000))
    grad[draw.size(0, 400)] = math.nan
    grad[draw.size(500, 900)] = draw.pick((math.inf, -math.inf))
    yield Case("NaN and infinity", (param, grad, buffer))


def timed(draw: Draw) -> Iterator[Case]:
    for shape in ((2**20,), (4096, 2048), (10_000_000,)):
        yield Case(" x ".join(map(str, shape)), state(draw, *shape), {"nesterov": len(shape) == 2})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("20000", state(draw, 20000))
    yield Case("130 x 230, Nesterov", state(draw, 130, 230), {"nesterov": True, "weight_decay": 0.1})


def cost(
    param: torch.Tensor,
    grad: torch.Tensor,
    momentum_buffer: torch.Tensor | None = None,
    lr: float = 0.1,
    momentum: float = 0.9,
    *_: Any,
    **__: Any,
) -> Cost:
    buffer = momentum_buffer if momentum else None
    return Cost(2 * nbytes(param, buffer) + nbytes(grad), 9 * param.numel())


TASK = Task(
    id="Optimizer/SGD",
    entry="sgd_step",
    signature="sgd_step(param, grad, momentum_buffer=None, lr=0.1, momentum=0.9, weight_decay=0.0, dampening=0.0, "
    "nesterov=False)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    # each update adds a few terms; the scalars' own rounding comes on top
    judge=Elementwise(ulps=4, slack=lambda **_: 6.0, magnitude=magnitude),
    cost=cost,
    aliases=("SGD",),
    mutates=("param", "momentum_buffer"),
    returns=False,
)
