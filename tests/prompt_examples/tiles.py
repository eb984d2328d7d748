"""The task that `prompts/examples/tiles.py` solves: the absolute values of a matrix product."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a @ b).abs()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("small", (draw.normal(5, 9), draw.normal(9, 7)))


def hidden(draw: Draw) -> Iterator[Case]:
    yield Case("several tiles", (draw.normal(draw.size(33, 60), 70), draw.normal(70, draw.size(33, 60))))
    yield Case("transposed", (draw.normal(40, 35).T, draw.normal(18, 40).T))
    yield Case("one element", (draw.normal(1, 1), draw.normal(1, 1)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("64", (draw.normal(64, 64), draw.normal(64, 64)))


TASK = Task(
    id="Examples/tiles",
    entry="size_of_products",
    signature="size_of_products(a: torch.Tensor, b: torch.Tensor)",
    text="|a @ b| for float32 matrices `a` and `b` of any strides.\n",
    reference=reference,
    public=public,
    hidden=hidden,
    timed=stand_ins,
    stand_ins=stand_ins,
    judge=Elementwise(
        slack=lambda a, b: 4 * a.shape[1] ** 0.5, magnitude=lambda a, b: a.double().abs() @ b.double().abs()
    ),
    cost=lambda a, b: Cost(nbytes(a, b) + 4 * a.shape[0] * b.shape[1], 2 * a.shape[0] * b.numel()),
)
