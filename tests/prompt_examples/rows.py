"""The task that `prompts/examples/rows.py` solves: how far a row lies below its largest, squared."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes


def reference(x: torch.Tensor) -> torch.Tensor:
    return (x.amax(1, keepdim=True) - x).square().mean(1)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix", (draw.normal(5, 33),))


def hidden(draw: Draw) -> Iterator[Case]:
    yield Case("one column", (draw.normal(draw.size(3, 9), 1),))
    yield Case("transposed", (draw.normal(draw.size(50, 90), 7).T,))
    yield Case("full block", (draw.normal(3, 64),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("40 x 300", (draw.normal(40, 300),))


TASK = Task(
    id="Examples/rows",
    entry="below_top",
    signature="below_top(x: torch.Tensor)",
    text="For each row of the float32 matrix `x`, the mean of (largest - element)^2.\n",
    reference=reference,
    public=public,
    hidden=hidden,
    timed=stand_ins,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=8, slack=lambda x: 4 * x.shape[1] ** 0.5),
    cost=lambda x: Cost(nbytes(x) + x.element_size() * x.shape[0], 3 * x.numel()),
)
