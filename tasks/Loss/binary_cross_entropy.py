"""Loss/binary_cross_entropy: cross entropy of probabilities against targets between 0 and 1, with weights."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import losses
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Binary cross entropy of probabilities x = `input` and targets t = `target`, float32 tensors of one shape (any number of
dimensions, any strides) whose elements lie in [0, 1]. Element by element:

    loss = -weight * (t * max(log(x), -100) + (1 - t) * max(log(1 - x), -100))

The two logarithms are not less than -100, so x = 0 and x = 1 give finite losses (0 or 100 for targets 0 and 1).
`weight` is a float32 tensor that is broadcast to the shape of `input`; None means 1.
`reduction`: 'none' gives the losses in the shape of `input`, 'sum' their sum, 'mean' their sum divided by their number
(not by the sum of the weights); the last two are tensors of no dimension. The result is float32.
All is computed in float32, sums in any order.
"""


def reference(
    input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, reduction: str = "mean"
) -> torch.Tensor:
    return torch.nn.functional.binary_cross_entropy(input, target, weight, reduction=reduction)


def pair(draw: Draw, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    return draw.uniform(*shape, low=0.001, high=0.999), draw.uniform(*shape)


def labels(draw: Draw, *shape: int) -> torch.Tensor:
    """Targets that are 0 or 1."""
    return draw.mask(*shape).float()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("mean", (draw.uniform(6, 33, low=0.001, high=0.999), labels(draw, 6, 33)))
    yield Case("losses, targets between 0 and 1", pair(draw, 2, 5, 7), {"reduction": "none"})
    weighted = (*pair(draw, 12, 25), draw.uniform(12, 25, high=3.0), "sum")
    yield Case("weighted sum", weighted)


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    weight = draw.uniform(cols, low=0.2, high=3.0)
    yield Case("weight of each column", (*pair(draw, rows, cols), weight), {"reduction": "none"})
    yield Case("weight of each row, mean", (*pair(draw, rows, cols), draw.uniform(rows, 1, high=5.0)))
    yield Case("one weight for all", (*pair(draw, 3, 5, cols), torch.tensor(draw.pick([0.25, 3.5])), "sum"))
    yield Case("mean of several blocks", pair(draw, draw.size(2500, 3900)))
    yield Case("sum of several blocks", pair(draw, 2, draw.size(1300, 1900)), {"reduction": "sum"})
    yield Case("one element", pair(draw, 1), {"reduction": draw.pick(["sum", "mean", "none"])})
    views = (draw.strided(draw.uniform(rows, cols, high=0.99)), draw.uniform(cols, rows).T)
    yield Case("strided and transposed", (*views, draw.strided(draw.uniform(rows, cols))), {"reduction": "none"})
    yield Case("strided and transposed, mean", (views[0].clone().T, views[1].clone().T))
    extreme, target = pair(draw, rows, cols)
    extreme[0] = 10.0 ** draw.uniform(cols, low=-40.0, high=-3.0)
    extreme[1] = 1 - 2.0 ** -draw.integers(4, 24, cols).float()
    yield Case("probabilities close to 0 and 1", (extreme, target), {"reduction": "none"})
    certain = labels(draw, rows, cols)
    certain[1, :5] = 0.5
    target = labels(draw, rows, cols)
    target[2] = draw.uniform(cols)
    yield Case("probabilities 0 and 1", (certain, target), {"reduction": "none"})
    yield Case("probabilities 0 and 1, mean", (labels(draw, rows, cols), labels(draw, rows, cols)))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("4096 x 4000, mean", pair(draw, 4096, 4000))
    yield Case("2048 x 3000, losses", (*pair(draw, 2048, 3000), draw.uniform(3000)), {"reduction": "none"})
    yield Case("1048576, sum", pair(draw, 2**20), {"reduction": "sum"})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, mean", pair(draw, 24, 600))
    yield Case("20000, weighted losses", (*pair(draw, 20000), draw.uniform(20000), "none"))


def magnitude(input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: str) -> torch.Tensor:
    """The terms, whose signs agree; the 1 is for the rounding of 1 - x ahead of the logarithm."""
    x, t = input.double(), target.double()
    terms = t * x.log().clamp_min(-100).abs() + (1 - t) * (1 + (1 - x).log().clamp_min(-100).abs())
    return losses.reduced(terms if weight is None else weight.double() * terms, reduction)


def cost(
    input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, reduction: str = "mean"
) -> Cost:
    return losses.cost(reduction, 9, input, target, weight)


TASK = Task(
    id="Loss/binary_cross_entropy",
    entry="binary_cross_entropy",
    signature="binary_cross_entropy(input, target, weight=None, reduction='mean')",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(
        slack=lambda input, target, weight, reduction: losses.slack(input, reduction), magnitude=magnitude
    ),
    cost=cost,
)
