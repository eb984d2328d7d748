"""Loss/cross_entropy: negative log-likelihood of a softmax over classes, with class weights and an ignored index."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Cross entropy of logits against class indices. `input` is float32 of shape (N, C) or (N, C, d1, d2, ...), with classes
along dimension 1; `target` is int64 of shape (N) or (N, d1, d2, ...); both have any strides. At each position

    loss = weight[t] * (log(sum_c exp(x[c])) - x[t]),    t = target

computed in float32 without overflow for large logits (subtract the maximum). `weight` is a float32 vector of C class
weights; None means 1 for each. Positions whose target equals `ignore_index` have loss 0 and weight 0, whatever their
logits are (NaN included). `ignore_index` may lie inside or outside 0..C-1; all other targets lie in 0..C-1.

`reduction`: 'none' gives the losses in the shape of `target`, 'sum' their sum, 'mean' their sum divided by the sum of
weight[t] over the positions that are not ignored (NaN where there are none); the last two are tensors of no dimension.
NaN or +inf among a position's logits, or nothing but -inf, gives NaN; -inf beside finite logits adds 0 to the sum,
and as x[t] gives a loss of inf.
"""


def reference(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(
        input, target, weight=weight, ignore_index=ignore_index, reduction=reduction
    )


def public(draw: Draw) -> Iterator[Case]:
    yield Case("mean", (draw.normal(6, 33), draw.integers(0, 32, 6)))
    yield Case("losses of an image", (draw.normal(2, 5, 6, 7), draw.integers(0, 4, 2, 6, 7)), {"reduction": "none"})
    weighted = (draw.normal(7, 10), draw.integers(0, 9, 7), draw.uniform(10, low=0.2, high=2.0))
    yield Case("weighted sum", weighted, {"reduction": "sum"})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, classes = draw.size(5, 9), draw.size(35, 130)
    weight = draw.uniform(classes, low=0.2, high=3.0)
    large = draw.normal(rows, classes, mean=draw.pick([300.0, -300.0]), std=40.0)
    yield Case("large logits", (large, draw.integers(0, classes - 1, rows)), {"reduction": "none"})
    target = draw.integers(0, classes - 1, rows)
    target[[0, rows // 2]] = -100
    yield Case("ignored and weighted mean", (draw.normal(rows, classes), target, weight))
    inside = draw.size(0, 4)
    target = draw.integers(0, 6, 3, draw.size(35, 60))
    target[0, :3] = inside
    yield Case("ignored class, mean", (draw.normal(3, 7, target.shape[1]), target, None, inside, "mean"))
    target = target.clone()
    target[2, 3:7] = 255
    volume = (draw.normal(3, 7, target.shape[1]), target, draw.uniform(7, low=0.2, high=3.0), 255, "none")
    yield Case("one dimension of positions, ignored index 255", volume)
    long = draw.size(1050, 1500)
    # the maximum rises in every block
    rising = draw.normal(2, long).sort(1).values
    yield Case("more classes than one block", (rising, draw.integers(0, long - 1, 2), None, -100, "none"))
    yield Case("one class, one sample", (draw.normal(1, 1), draw.integers(0, 0, 1)), {"reduction": "sum"})
    view = draw.strided(draw.normal(rows, classes))
    yield Case("strided view", (view, draw.strided(draw.integers(0, classes - 1, rows)), weight, -100, "sum"))
    yield Case("classes last in memory", (draw.normal(2, 6, 5, 9).movedim(3, 1), draw.integers(0, 8, 2, 6, 5)))
    yield Case("NaN and infinity", *special(draw, 1030 + draw.size(0, 90)))
    nothing = torch.full((4,), -100)
    yield Case("everything ignored", (draw.normal(4, classes), nothing, None, -100, draw.pick(["mean", "sum"])))


def special(draw: Draw, classes: int) -> tuple[tuple[torch.Tensor, torch.Tensor], dict[str, str]]:
    """Rows with NaN (ignored), NaN, infinities, and -inf over all of the first 1024 classes."""
    logits, target = draw.normal(5, classes), draw.integers(0, classes - 1, 5)
    target[0] = -100
    logits[:2, draw.size(0, classes - 1)] = math.nan
    logits[2, draw.size(0, classes - 1)] = math.inf
    logits[3, :1026] = -math.inf
    target[3] = draw.size(1026, classes - 1)
    logits[4, int(target[4])] = -math.inf
    return (logits, target), {"reduction": "none"}


def timed(draw: Draw) -> Iterator[Case]:
    for rows, classes in ((8192, 4000), (1024, 32000)):
        yield Case(f"{rows} x {classes}", (draw.normal(rows, classes), draw.integers(0, classes - 1, rows)))
    image = (draw.normal(6, 21, 512, 500), draw.integers(0, 20, 6, 512, 500))
    yield Case("6 x 21 x 512 x 500", (*image, draw.uniform(21, low=0.2, high=2.0)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600", (draw.normal(24, 600), draw.integers(0, 599, 24)))
    image = (draw.normal(4, 21, 12, 15), draw.integers(0, 20, 4, 12, 15))
    yield Case("4 x 21 x 12 x 15", (*image, draw.uniform(21, low=0.2, high=2.0)))


def slack(
    input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, ignore_index: int, reduction: str
) -> float:
    terms = input.shape[1] + (0 if reduction == "none" else target.numel())
    return 4 * math.sqrt(terms)


def magnitude(
    input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, ignore_index: int, reduction: str
) -> torch.Tensor:
    """weight * (1 + |log-sum-exp| + |x[t]|), reduced as the loss is; the 1 is for the logarithm's argument."""
    logits = input.double()
    valid = target != ignore_index
    label = torch.where(valid, target, 0)
    picked = logits.gather(1, label.unsqueeze(1)).squeeze(1)
    weights = torch.ones_like(picked) if weight is None else weight.double()[label]
    weights = torch.where(valid, weights, 0.0)
    size = torch.where(valid, weights * (1 + logits.logsumexp(1).abs() + picked.abs()), 0.0)
    if reduction == "none":
        return size
    return size.sum() if reduction == "sum" else size.sum() / weights.sum()


def cost(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Cost:
    results = target.numel() if reduction == "none" else 1
    floats = input.numel() + results + (0 if weight is None else weight.numel())
    return Cost(floats * input.element_size() + target.numel() * target.element_size(), 4 * input.numel())


TASK = Task(
    id="Loss/cross_entropy",
    entry="cross_entropy",
    signature="cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean')",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
