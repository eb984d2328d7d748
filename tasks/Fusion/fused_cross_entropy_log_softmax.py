"""Fusion/fused_cross_entropy_log_softmax: cross entropy of the log-softmax of logits, classes along any dimension."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Log-softmax of the logits along dimension `dim`, and the cross entropy of the result against class indices. The C
classes lie along `dim` of `input` (float32, two or more dimensions; `dim` may be negative); `target` (int64) has the
input's shape without that dimension. Both have any strides. At each position, with t the target there,

    logp[c] = x[c] - log(sum_k exp(x[k]))
    loss = -(1 - s) * w[t] * logp[t] - (s / C) * sum_c w[c] * logp[c],    s = label_smoothing

(The log-softmax of a log-softmax is itself: taking it once or twice makes no difference.) `weight` is a float32 vector
w of C class weights; None means 1 for each. 0 <= label_smoothing < 1. Positions whose target equals `ignore_index`
have loss 0 and weight 0, whatever their logits are; `ignore_index` may lie inside or outside 0..C-1, and all other
targets lie in 0..C-1.

`reduction`: 'none' gives the losses in the shape of `target`, 'sum' their sum, 'mean' their sum divided by the sum of
w[t] over the positions that are not ignored; the last two are tensors of no dimension. Everything is float32, and
large logits must not overflow (subtract the maximum). NaN or +inf among a position's logits, or nothing but -inf,
gives NaN; without smoothing, -inf beside finite logits adds 0 to the sum, and as x[t] gives a loss of inf.
"""


def reference(
    input: torch.Tensor,
    target: torch.Tensor,
    dim: int = 1,
    weight: torch.Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    logs = torch.log_softmax(input.movedim(dim, 1), 1)
    return torch.nn.functional.cross_entropy(
        logs,
        target,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def public(draw: Draw) -> Iterator[Case]:
    yield Case("mean", (draw.normal(6, 33), draw.integers(0, 32, 6)))
    image = (draw.normal(2, 5, 6, 7), draw.integers(0, 4, 2, 6, 7))
    yield Case("losses of an image, smoothed", image, {"reduction": "none", "label_smoothing": 0.1})
    weighted = (draw.normal(7, 10), draw.integers(0, 9, 7))
    yield Case("weighted sum", weighted, {"weight": draw.uniform(10, low=0.2, high=2.0), "reduction": "sum"})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, classes = draw.size(5, 9), draw.size(35, 130)
    weight = draw.uniform(classes, low=0.2, high=3.0)
    large = draw.normal(rows, classes, mean=draw.pick([300.0, -300.0]), std=40.0)
    yield Case("large logits", (large, draw.integers(0, classes - 1, rows)), {"reduction": "none"})
    target = draw.integers(0, classes - 1, rows)
    target[[0, rows // 2]] = -100
    options = {"weight": weight, "label_smoothing": draw.pick([0.2, 0.4])}
    yield Case("ignored, weighted and smoothed mean", (draw.normal(rows, classes), target), options)
    square = (draw.normal(classes, classes), draw.integers(0, classes - 1, classes))
    yield Case("classes along the first dimension", square, {"dim": 0, "weight": weight})
    target = draw.integers(0, 6, 3, draw.size(35, 60))
    target[0, :3] = 5
    last = {"dim": -1, "ignore_index": 5, "label_smoothing": 0.3}
    logits = draw.normal(3, target.shape[1], 7)
    yield Case("classes along the last dimension, ignored class 5", (logits, target), last)
    long = draw.size(1050, 1500)
    # the maximum rises in every block
    rising = draw.normal(2, long).sort(1).values
    smooth = {"reduction": "none", "label_smoothing": 0.25}
    yield Case("more classes than one block, smoothed", (rising, draw.integers(0, long - 1, 2)), smooth)
    yield Case("one class, one sample", (draw.normal(1, 1), draw.integers(0, 0, 1)), {"reduction": "sum"})
    view = (draw.strided(draw.normal(rows, classes)), draw.strided(draw.integers(0, classes - 1, rows)))
    yield Case("strided view", view, {"reduction": "sum", "weight": weight})
    special = draw.normal(5, classes)
    target = draw.integers(0, classes - 1, 5)
    target[0] = -100
    special[:2, draw.size(0, classes - 1)] = math.nan
    special[2, draw.size(0, classes - 1)] = math.inf
    special[3, : classes // 2] = -math.inf
    special[4, int(target[4])] = -math.inf
    yield Case("NaN and infinity", (special, target), {"reduction": "none"})


def timed(draw: Draw) -> Iterator[Case]:
    for rows, classes in ((8192, 3000), (1024, 32000)):
        yield Case(f"{rows} x {classes}", (draw.normal(rows, classes), draw.integers(0, classes - 1, rows)))
    image = (draw.normal(8, 21, 400, 400), draw.integers(0, 20, 8, 400, 400))
    yield Case("8 x 21 x 400 x 400, smoothed", image, {"label_smoothing": 0.1})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600", (draw.normal(24, 600), draw.integers(0, 599, 24)))
    image = (draw.normal(4, 21, 12, 15), draw.integers(0, 20, 4, 12, 15))
    yield Case("4 x 21 x 12 x 15, smoothed", image, {"label_smoothing": 0.1})


def slack(input: torch.Tensor, target: torch.Tensor, dim: int, reduction: str, **_: Any) -> float:
    return 4 * math.sqrt(input.shape[dim] + (0 if reduction == "none" else target.numel()))


def magnitude(
    input: torch.Tensor,
    target: torch.Tensor,
    dim: int,
    weight: torch.Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> torch.Tensor:
    """1 + |log-sum-exp| + |x| for each log-probability (1 for the logarithm's argument), combined as the loss is."""
    logits = input.double().movedim(dim, 1)
    size = 1 + logits.logsumexp(1, keepdim=True).abs() + logits.abs()
    valid = target != ignore_index
    label = torch.where(valid, target, 0)
    weights = input.new_ones(logits.shape[1]).double() if weight is None else weight.double()
    picked = weights[label] * size.gather(1, label.unsqueeze(1)).squeeze(1)
    spread = torch.einsum("nc...,c->n...", size, weights) / logits.shape[1] if label_smoothing else 0.0
    total = torch.where(valid, (1 - label_smoothing) * picked + label_smoothing * spread, 0.0)
    if reduction == "none":
        return total
    return total.sum() if reduction == "sum" else total.sum() / torch.where(valid, weights[label], 0.0).sum()


def cost(
    input: torch.Tensor,
    target: torch.Tensor,
    dim: int = 1,
    weight: torch.Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Cost:
    written = (target.numel() if reduction == "none" else 1) * input.element_size()
    return Cost(nbytes(input, target, weight) + written, 4 * input.numel())


TASK = Task(
    id="Fusion/fused_cross_entropy_log_softmax",
    entry="fused_cross_entropy_log_softmax",
    aliases=("cross_entropy_log_softmax",),
    signature=(
        "fused_cross_entropy_log_softmax(input: torch.Tensor, target: torch.Tensor, dim: int=1, "
        "weight: torch.Tensor=None, ignore_index: int=-100, reduction: str='mean', label_smoothing: float=0.0)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
