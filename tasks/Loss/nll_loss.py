"""Loss/nll_loss: negative log-likelihood of given log-probabilities, with class weights and an ignored index."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Negative log-likelihood of class indices. `input` is float32 of shape (N, C) or (N, C, d1, d2, ...), with classes along
dimension 1: log-probabilities as a rule, but any values are right, and they are not normalised here. `target` is int64
of shape (N) or (N, d1, d2, ...). Both have any strides. At each position

    loss = -weight[t] * x[t],    t = target

`weight` is a float32 vector of C class weights; None means 1 for each. Positions whose target equals `ignore_index`
have loss 0 and weight 0, whatever their values are (NaN included). `ignore_index` may lie inside or outside 0..C-1; all
other targets lie in 0..C-1.

`reduction`: 'none' gives the losses in the shape of `target`, 'sum' their sum, 'mean' their sum divided by the sum of
weight[t] over the positions that are not ignored (NaN where there are none); the last two are tensors of no dimension.
All is computed in float32, sums in any order. NaN or infinity counts only where it is x[t].
"""


def reference(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> torch.Tensor:
    return torch.nn.functional.nll_loss(input, target, weight=weight, ignore_index=ignore_index, reduction=reduction)


def logs(draw: Draw, *shape: int) -> torch.Tensor:
    """Log-probabilities over dimension 1."""
    return draw.normal(*shape, std=2.0).log_softmax(1)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("mean", (logs(draw, 50, 33), draw.integers(0, 32, 50)))
    yield Case("losses of an image", (logs(draw, 2, 5, 6, 7), draw.integers(0, 4, 2, 6, 7)), {"reduction": "none"})
    weighted = (logs(draw, 40, 10), draw.integers(0, 9, 40), draw.uniform(10, low=0.2, high=2.0))
    yield Case("weighted sum", weighted, {"reduction": "sum"})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, classes = draw.size(35, 90), draw.size(35, 60)
    weight = draw.uniform(classes, low=0.2, high=3.0)
    large = draw.normal(rows, classes, mean=draw.pick([300.0, -300.0]), std=40.0)
    yield Case("large values, not normalised", (large, draw.integers(0, classes - 1, rows)), {"reduction": "none"})
    target = draw.integers(0, classes - 1, rows)
    target[[0, rows // 2]] = -100
    yield Case("ignored and weighted mean", (logs(draw, rows, classes), target, weight))
    inside = draw.size(0, 4)
    target = draw.integers(0, 6, 3, draw.size(35, 60))
    target[0, :3] = inside
    yield Case("ignored class, mean", (logs(draw, 3, 7, target.shape[1]), target, None, inside, "mean"))
    target = target.clone()
    target[2, 3:7] = 255
    volume = (logs(draw, 3, 7, target.shape[1]), target, draw.uniform(7, low=0.2, high=3.0), 255, "none")
    yield Case("one dimension of positions, ignored index 255", volume)
    long = draw.size(1050, 2500)
    many = (logs(draw, long, 3), draw.integers(0, 2, long), draw.uniform(3, low=0.2))
    yield Case("many samples, weighted mean", many)
    yield Case("many samples, sum", (logs(draw, long, 2), draw.integers(0, 1, long)), {"reduction": "sum"})
    yield Case("one class, one sample", (draw.normal(1, 1), draw.integers(0, 0, 1)), {"reduction": "sum"})
    view = draw.strided(logs(draw, rows, classes))
    yield Case("strided view", (view, draw.strided(draw.integers(0, classes - 1, rows)), weight, -100, "sum"))
    last = logs(draw, 2, 9, 6, 5).movedim(1, 3).contiguous().movedim(3, 1)
    yield Case("classes last in memory", (last, draw.integers(0, 8, 2, 6, 5)))
    yield Case("NaN and infinity", *special(draw, classes))
    nothing = torch.full((4,), -100)
    yield Case("everything ignored", (logs(draw, 4, classes), nothing, None, -100, draw.pick(["mean", "sum"])))


def special(draw: Draw, classes: int) -> tuple[tuple[torch.Tensor, torch.Tensor], dict[str, str]]:
    """Rows of NaN (ignored), with NaN and infinity at the target, and with them in every other class."""
    values, target = draw.normal(5, classes), draw.integers(1, classes - 1, 5)
    target[0] = -100
    values[0] = math.nan
    values[1, int(target[1])] = math.nan
    values[2, int(target[2])] = -math.inf
    values[3, int(target[3])] = math.inf
    values[4, : int(target[4])] = math.nan
    return (values, target), {"reduction": "none"}


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("65536 x 200", (draw.normal(65536, 200), draw.integers(0, 199, 65536)))
    yield Case("1000000 x 21", (draw.normal(1_000_000, 21), draw.integers(0, 20, 1_000_000)))
    image = (draw.normal(4, 21, 512, 512), draw.integers(0, 20, 4, 512, 512))
    yield Case("4 x 21 x 512 x 512", (*image, draw.uniform(21, low=0.2, high=2.0)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("3000 x 9", (logs(draw, 3000, 9), draw.integers(0, 8, 3000)))
    image = (logs(draw, 4, 7, 30, 35), draw.integers(0, 6, 4, 30, 35))
    yield Case("4 x 7 x 30 x 35", (*image, draw.uniform(7, low=0.2, high=2.0)))


def slack(
    input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, ignore_index: int, reduction: str
) -> float:
    return 1.0 if reduction == "none" else 4 * math.sqrt(target.numel())


def magnitude(
    input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, ignore_index: int, reduction: str
) -> torch.Tensor:
    """weight * |x[t]|, reduced as the loss is."""
    valid = target != ignore_index
    label = torch.where(valid, target, 0)
    picked = input.double().gather(1, label.unsqueeze(1)).squeeze(1).abs()
    weights = torch.ones_like(picked) if weight is None else weight.double()[label]
    size = torch.where(valid, weights * picked, 0.0)
    if reduction == "none":
        return size
    return size.sum() if reduction == "sum" else size.sum() / torch.where(valid, weights, 0.0).sum()


def cost(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Cost:
    positions = target.numel()
    results = positions if reduction == "none" else 1
    # one class of each position is read, whatever their number
    floats = positions + results + (0 if weight is None else weight.numel())
    return Cost(floats * input.element_size() + positions * target.element_size(), 2 * positions)


TASK = Task(
    id="Loss/nll_loss",
    entry="nll_loss",
    signature="nll_loss(input, target, weight=None, ignore_index=-100, reduction='mean')",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
