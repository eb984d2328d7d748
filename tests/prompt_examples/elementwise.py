"""The task that `prompts/examples/elementwise.py` solves: y = x + sigmoid(rate x)."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes


def reference(x: torch.Tensor, rate: float = 1.0) -> torch.Tensor:
    return x + torch.sigmoid(rate * x)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("vector", (draw.normal(50),))
    yield Case("half", (draw.normal(5, 9).half(), 0.5))


def hidden(draw: Draw) -> Iterator[Case]:
    yield Case("one element", (draw.normal(1), 2.0))
    yield Case("transposed", (draw.normal(draw.size(30, 60), 41).T, -0.7))
    yield Case("bfloat16", (draw.normal(draw.size(1030, 1100)).bfloat16(),))
    yield Case("nothing", (draw.normal(0),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("5000", (draw.normal(5000),))


TASK = Task(
    id="Examples/elementwise",
    entry="bent",
    signature="bent(x: torch.Tensor, rate: float = 1.0)",
    text="x + sigmoid(rate x) for each element of `x`, in a new tensor.\n",
    reference=reference,
    public=public,
    hidden=hidden,
    timed=stand_ins,
    stand_ins=stand_ins,
    # near x = -sigmoid(rate x) the sum cancels
    judge=Elementwise(slack=lambda x, rate=1.0: 4.0, magnitude=lambda x, rate=1.0: x.double().abs() + 1),
    cost=lambda x, rate=1.0: Cost(2 * nbytes(x), 3 * x.numel()),
)
