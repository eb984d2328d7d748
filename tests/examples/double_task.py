"""An operator of a user's own: y = 2 x. Run it with `--tasks tests/examples/double_task.py`."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes


def reference(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def public(draw: Draw) -> Iterator[Case]:
    yield Case("vector", (draw.normal(50),))


def hidden(draw: Draw) -> Iterator[Case]:
    yield Case("one element", (draw.normal(1),))
    yield Case("odd length", (draw.normal(draw.size(101, 199)),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("1000", (draw.normal(1000),))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("2^24", (draw.normal(2**24),))


TASK = Task(
    id="Mine/double",
    entry="double",
    signature="double(x: torch.Tensor)",
    text="Twice each element of the contiguous float32 vector `x`, in a new tensor.\n",
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=1),
    cost=lambda x: Cost(2 * nbytes(x), x.numel()),
)
