"""Fusion/fused_cosine_embedding_loss_with_normalization: rows normalised, and the loss of their angles."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Rows of two matrices normalised to length 1, and their cosine embedding loss. `input1` and `input2` are float32 of
shape (N, D), `target` is int64 of shape (N) and holds 1 and -1; all have any strides. For each row

    a = input1 / max(|input1|, 1e-12),    b = input2 / max(|input2|, 1e-12),    |v| = sqrt(sum_k v[k]**2)
    cos = a . b                                   (so 0 where one of the rows is all zeros)
    loss = 1 - cos                  where target = 1
           max(0, cos - margin)     where target = -1

`reduction`: 'none' gives N losses, 'sum' their sum, 'mean' their mean; the last two are tensors of no dimension.
Everything is float32. A NaN in a row of target 1 makes its loss NaN (rows of target -1 hold none).
"""


def reference(
    input1: torch.Tensor, input2: torch.Tensor, target: torch.Tensor, margin: float = 0, reduction: str = "mean"
) -> torch.Tensor:
    rows = [torch.nn.functional.normalize(x, p=2, dim=1) for x in (input1, input2)]
    return torch.nn.functional.cosine_embedding_loss(rows[0], rows[1], target, margin=margin, reduction=reduction)


def signs(draw: Draw, n: int) -> torch.Tensor:
    return 1 - 2 * draw.integers(0, 1, n)


def pair(draw: Draw, n: int, size: int, std: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows that point in similar directions."""
    first = draw.normal(n, size, std=std)
    return first, first + draw.normal(n, size, std=std)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("mean", (*pair(draw, 6, 33), signs(draw, 6)))
    yield Case("losses, margin", (*pair(draw, 9, 20), signs(draw, 9), 0.3, "none"))
    yield Case("sum", (*pair(draw, 7, 50), signs(draw, 7)), {"reduction": "sum"})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(9, 20), draw.size(35, 130)
    yield Case("mean, margin", (*pair(draw, rows, cols), signs(draw, rows), draw.pick([0.2, -0.4])))
    # cosines of some 0.7 lie on either side of the margin
    yield Case("margin among the cosines", (*pair(draw, rows, cols), -torch.ones(rows).long(), 0.7, "none"))
    opposite = (*(draw.normal(rows, cols) for _ in range(2)), -torch.ones(rows).long(), -0.5)
    yield Case("negative margin", opposite, {"reduction": "none"})
    yield Case("rows longer than a block", (*pair(draw, 3, draw.size(1050, 1500)), signs(draw, 3), 0.1, "none"))
    many = draw.size(66, 90)
    yield Case("many rows, sum", (*pair(draw, many, 3), signs(draw, many), 0.2, "sum"))
    yield Case("one row, one column", (draw.normal(1, 1), draw.normal(1, 1), signs(draw, 1)))
    scaled = (draw.normal(rows, cols, std=1e8), draw.normal(rows, cols, std=1e-6), torch.ones(rows).long())
    yield Case("large and small values", scaled, {"reduction": "none"})
    first, second = pair(draw, rows, cols)
    yield Case(
        "strided views", (draw.strided(first), second.t().contiguous().t(), draw.strided(signs(draw, rows)), 0.2)
    )
    first, second = pair(draw, rows, cols)
    first[1] = 0.0
    yield Case("a zero row", (first, second, signs(draw, rows), -0.2, "none"))
    first, second = pair(draw, rows, cols)
    target = signs(draw, rows)
    target[:2] = 1
    first[0, draw.size(0, cols - 1)] = math.nan
    second[1, draw.size(0, cols - 1)] = math.inf
    yield Case("NaN and infinity", (first, second, target, 0.1, "none"))


def timed(draw: Draw) -> Iterator[Case]:
    for n, size in ((16384, 500), (8192, 2048), (100000, 128)):
        yield Case(f"{n} x {size}", (draw.normal(n, size), draw.normal(n, size), signs(draw, n), 0.1))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("40 x 200", (*pair(draw, 40, 200), signs(draw, 40), 0.1))
    yield Case("60 x 100, losses", (*pair(draw, 60, 100), signs(draw, 60), 0.1, "none"))


def slack(input1: torch.Tensor, reduction: str, **_: Any) -> float:
    return 4 * math.sqrt(input1.shape[1] + (0 if reduction == "none" else input1.shape[0]))


def magnitude(
    input1: torch.Tensor, input2: torch.Tensor, target: torch.Tensor, margin: float, reduction: str
) -> torch.Tensor:
    """The terms of 1 - cos and cos - margin before they cancel, reduced as the loss is."""
    rows = [torch.nn.functional.normalize(x.double(), dim=1) for x in (input1, input2)]
    terms = (rows[0] * rows[1]).abs().sum(1) + torch.where(target == 1, 1.0, abs(margin))
    if reduction == "none":
        return terms
    return terms.sum() if reduction == "sum" else terms.mean()


def cost(
    input1: torch.Tensor, input2: torch.Tensor, target: torch.Tensor, margin: float = 0, reduction: str = "mean"
) -> Cost:
    written = (target.numel() if reduction == "none" else 1) * input1.element_size()
    return Cost(nbytes(input1, input2, target) + written, 6 * input1.numel())


TASK = Task(
    id="Fusion/fused_cosine_embedding_loss_with_normalization",
    entry="fused_cosine_embedding_loss_with_normalization",
    aliases=("cosine_embedding_loss_with_normalization",),
    signature=(
        "fused_cosine_embedding_loss_with_normalization(input1: torch.Tensor, input2: torch.Tensor, "
        "target: torch.Tensor, margin: float=0, reduction: str='mean')"
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
