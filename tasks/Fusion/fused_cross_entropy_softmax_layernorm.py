"""Fusion/fused_cross_entropy_softmax_layernorm: a loss, and the layer norm of the softmax, of the same logits."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Two results from the logits x of N samples and C classes, returned as the tuple (loss, normalised):

    logp[n, c] = x[n, c] - log(sum_k exp(x[n, k])),    p = exp(logp),    t = targets[n],    s = label_smoothing
    loss[n] = -(1 - s) * w[t] * logp[n, t] - (s / C) * sum_c w[c] * logp[n, c]
    normalised[n, c] = (p[n, c] - mean[n]) / sqrt(var[n] + eps)

where mean[n] = 1/C, the mean of p[n, :], and var[n] = (1/C) sum_c (p[n, c] - mean[n])**2.

`logits` is float32 of shape (N, C) with any strides, `targets` int64 of shape (N). `normalized_shape` is C, or (C,).
`weight` is a float32 vector w of C class weights of the loss (None: 1 each); it plays no part in `normalised`.
0 <= label_smoothing < 1. Samples whose target equals `ignore_index` have loss 0 and weight 0, and are normalised like
all others; all other targets lie in 0..C-1. `reduction`: 'none' gives N losses, 'sum' their sum, 'mean' their sum
divided by the sum of w[t] over the samples that are not ignored; the last two are tensors of no dimension.
`out`, when given, is a contiguous float32 tensor of shape (N, C): `normalised` is written into it, and it is the second
element of the returned tuple.
Everything is float32; large logits must not overflow. A row with a NaN or +inf gives NaN for its loss and throughout
its normalised values; other rows are not affected in 'none' and in `normalised`.
"""


def reference(
    logits: torch.Tensor,
    targets: torch.Tensor,
    normalized_shape: int | tuple[int, ...],
    weight: torch.Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    eps: float = 1e-05,
    *,
    out: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    loss = torch.nn.functional.cross_entropy(
        logits,
        targets,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    normalised = torch.nn.functional.layer_norm(torch.softmax(logits, 1), shape, eps=eps)
    return loss, normalised if out is None else out.copy_(normalised)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("mean", (draw.normal(6, 33), draw.integers(0, 32, 6), 33))
    losses = (draw.normal(7, 50), draw.integers(0, 49, 7), (50,))
    yield Case("losses, smoothed", losses, {"reduction": "none", "label_smoothing": 0.1})
    weighted = (draw.normal(7, 10), draw.integers(0, 9, 7), 10, draw.uniform(10, low=0.2, high=2.0))
    yield Case("weighted sum", weighted, {"reduction": "sum"})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, classes = draw.size(5, 9), draw.size(35, 130)
    weight = draw.uniform(classes, low=0.2, high=3.0)

    def sample(mean: float = 0.0, std: float = 1.0) -> tuple[torch.Tensor, torch.Tensor, int]:
        return draw.normal(rows, classes, mean=mean, std=std), draw.integers(0, classes - 1, rows), classes

    yield Case("large logits", sample(draw.pick([300.0, -300.0]), 20.0), {"reduction": "none"})
    mixed = sample()
    mixed[1][[0, rows // 2]] = -100
    options = {"weight": weight, "label_smoothing": draw.pick([0.2, 0.4]), "eps": 0.01}
    yield Case("ignored, weighted and smoothed mean, eps", mixed, options)
    inside = sample()
    inside[1][:2] = 3
    yield Case("ignored class 3", inside, {"ignore_index": 3, "out": draw.normal(rows, classes)})
    long = draw.size(1050, 1500)
    yield Case("more classes than 1024", (draw.normal(2, long, std=3.0), draw.integers(0, long - 1, 2), long))
    many = draw.size(258, 266)
    yield Case("many samples", (draw.normal(many, 3), draw.integers(0, 2, many), 3, weight[:3].clone()))
    yield Case("one class, one sample", (draw.normal(1, 1), draw.integers(0, 0, 1), (1,)), {"reduction": "sum"})
    logits, targets, _ = sample(std=2.0)
    view = (draw.strided(logits), draw.strided(targets), classes)
    yield Case("strided view, out given", view, {"reduction": "sum", "out": draw.normal(rows, classes)})
    logits, targets, _ = sample()
    yield Case("transposed view", (logits.t().contiguous().t(), targets, classes, weight, -100, "none"))
    special, targets, _ = sample()
    special[0, draw.size(0, classes - 1)] = math.nan
    special[1, draw.size(0, classes - 1)] = math.inf
    special[2, : classes // 2] = -math.inf
    targets[2] = classes - 1
    yield Case("NaN and infinity", (special, targets, classes), {"reduction": "none"})


def timed(draw: Draw) -> Iterator[Case]:
    for rows, classes in ((16384, 1000), (8192, 4000), (1024, 16000)):
        case = (draw.normal(rows, classes, std=2.0), draw.integers(0, classes - 1, rows), classes)
        yield Case(f"{rows} x {classes}", case)


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600", (draw.normal(24, 600), draw.integers(0, 599, 24), 600))
    smoothed = (draw.normal(50, 100), draw.integers(0, 99, 50), 100)
    yield Case("50 x 100, smoothed", smoothed, {"label_smoothing": 0.1})


def slack(logits: torch.Tensor, targets: torch.Tensor, reduction: str, **_: Any) -> float:
    return 4 * math.sqrt(logits.shape[1] + (0 if reduction == "none" else targets.numel()))


def magnitude(
    logits: torch.Tensor,
    targets: torch.Tensor,
    weight: torch.Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    eps: float,
    **_: Any,
) -> dict[str, torch.Tensor]:
    """Terms before they cancel. exp amplifies its argument's rounding by |log p|, which p |log p| bounds again."""
    x = logits.double()
    p = x.softmax(1)
    logp = x.log_softmax(1)
    centre = p.mean(1, keepdim=True)
    normalised = (p - p * logp.clamp_min(-700.0) + centre) / (p.var(1, correction=0, keepdim=True) + eps).sqrt()

    size = 1 + x.logsumexp(1, keepdim=True).abs() + x.abs()
    valid = targets != ignore_index
    label = torch.where(valid, targets, 0)
    weights = x.new_ones(x.shape[1]) if weight is None else weight.double()
    picked = weights[label] * size.gather(1, label.unsqueeze(1)).squeeze(1)
    spread = size @ weights / x.shape[1] if label_smoothing else 0.0
    loss = torch.where(valid, (1 - label_smoothing) * picked + label_smoothing * spread, 0.0)
    if reduction == "mean":
        loss = loss.sum() / torch.where(valid, weights[label], 0.0).sum()
    elif reduction == "sum":
        loss = loss.sum()
    return {"result[0]": loss, "result[1]": normalised, "out after the call": normalised}


def cost(
    logits: torch.Tensor,
    targets: torch.Tensor,
    normalized_shape: int | tuple[int, ...],
    weight: torch.Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    eps: float = 1e-05,
    *,
    out: torch.Tensor | None = None,
) -> Cost:
    losses = (targets.numel() if reduction == "none" else 1) * logits.element_size()
    return Cost(2 * nbytes(logits) + nbytes(targets, weight) + losses, 10 * logits.numel())


TASK = Task(
    id="Fusion/fused_cross_entropy_softmax_layernorm",
    entry="fused_cross_entropy_softmax_layernorm",
    aliases=("cross_entropy_softmax_layernorm",),
    signature=(
        "fused_cross_entropy_softmax_layernorm(logits, targets, normalized_shape, weight=None, ignore_index=-100, "
        "reduction='mean', label_smoothing=0.0, eps=1e-05, *, out=None)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
    # the tuple's second element only, so not `writes_to`
    mutates=("out",),
)
