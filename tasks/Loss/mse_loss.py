"""Loss/mse_loss: the squared difference of two tensors, element by element, summed or averaged."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import losses
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Squared error of two float32 tensors of one shape (any number of dimensions, any strides), element by element:

    loss = (input - target)**2

`reduction`: 'none' gives the losses in the shape of `input`, 'sum' their sum, 'mean' their sum divided by their number;
the last two are tensors of no dimension. The result is float32.
All is computed in float32, sums in any order. NaN and infinity go through as in the formula (inf - inf is NaN): they
stay in their own elements with 'none', and reach the whole otherwise.
"""


def reference(input: torch.Tensor, target: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
    return torch.nn.functional.mse_loss(input, target, reduction=reduction)


def pair(draw: Draw, *shape: int, mean: float = 0.0, std: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    return draw.normal(*shape, mean=mean, std=std), draw.normal(*shape, mean=mean, std=std)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("mean", pair(draw, 6, 33))
    yield Case("losses", pair(draw, 2, 5, 7), {"reduction": "none"})
    yield Case("sum", pair(draw, 300), {"reduction": "sum"})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("large values", pair(draw, rows, cols, mean=1000.0, std=300.0), {"reduction": "none"})
    yield Case(
        "close together", pair(draw, rows, cols, mean=100.0, std=0.01), {"reduction": draw.pick(["sum", "mean"])}
    )
    yield Case("mean of several blocks", pair(draw, draw.size(2500, 3900)))
    yield Case("sum of several blocks", pair(draw, 2, draw.size(1300, 1900)), {"reduction": "sum"})
    yield Case("one element", pair(draw, 1), {"reduction": draw.pick(["sum", "mean", "none"])})
    views = (draw.strided(draw.normal(rows, cols)), draw.normal(cols, rows).T)
    yield Case("strided and transposed", views, {"reduction": "none"})
    yield Case("strided and transposed, mean", (views[0].clone().T, views[1].clone().T))
    outliers, target = pair(draw, 3, rows, cols)
    outliers[1] *= 100
    yield Case("outliers", (outliers, target), {"reduction": "mean"})
    special, target = pair(draw, rows, cols)
    special[0, draw.size(0, cols - 1)] = math.nan
    special[1, 3], target[1, 3] = math.inf, draw.pick([math.inf, -math.inf])
    target[2, draw.size(0, cols - 1)] = math.inf
    yield Case("NaN and infinity", (special, target), {"reduction": "none"})
    yield Case("one NaN in the mean", (special[:1].clone(), target[:1].clone()))
    special[0] = 0.5
    yield Case(
        "infinity in the sum",
        (special[:2].clone(), target[:2].nan_to_num(posinf=1.0, neginf=1.0)),
        {"reduction": "sum"},
    )


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("4096 x 4000, mean", pair(draw, 4096, 4000))
    yield Case("2048 x 3000, losses", pair(draw, 2048, 3000), {"reduction": "none"})
    yield Case("1048576, sum", pair(draw, 2**20), {"reduction": "sum"})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, mean", pair(draw, 24, 600))
    yield Case("20000, losses", pair(draw, 20000), {"reduction": "none"})


def magnitude(input: torch.Tensor, target: torch.Tensor, reduction: str) -> torch.Tensor:
    return losses.reduced((input.double() - target.double()) ** 2, reduction)


def cost(input: torch.Tensor, target: torch.Tensor, reduction: str = "mean") -> Cost:
    return losses.cost(reduction, 3, input, target)


TASK = Task(
    id="Loss/mse_loss",
    entry="mse_loss",
    signature="mse_loss(input, target, reduction='mean')",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input, target, reduction: losses.slack(input, reduction), magnitude=magnitude),
    cost=cost,
)
