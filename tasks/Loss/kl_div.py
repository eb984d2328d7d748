"""Loss/kl_div: the Kullback-Leibler divergence of log-probabilities from a target distribution."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import losses
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Kullback-Leibler divergence, element by element, of x = `input` (log-probabilities) from t = `target`, float32 tensors
of one shape (at least one dimension, any strides):

    log_target=False:   loss = t * (log(t) - x),    0 where t = 0      (t >= 0: probabilities)
    log_target=True:    loss = exp(t) * (t - x)                        (t: log-probabilities)

`reduction`: 'none' gives the losses in the shape of `input`, 'sum' their sum, 'mean' their sum divided by their number,
'batchmean' their sum divided by the size of the first dimension; all but the first are tensors of no dimension. The
result is float32. Neither tensor need be normalised, and x is finite.
All is computed in float32, sums in any order.
"""


def reference(
    input: torch.Tensor, target: torch.Tensor, reduction: str = "batchmean", log_target: bool = False
) -> torch.Tensor:
    return torch.nn.functional.kl_div(input, target, reduction=reduction, log_target=log_target)


def logs(draw: Draw, *shape: int) -> torch.Tensor:
    """Log-probabilities that are normalised over the last dimension."""
    return draw.normal(*shape, std=2.0).log_softmax(-1)


def pair(draw: Draw, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities and probabilities."""
    return logs(draw, *shape), draw.normal(*shape, std=2.0).softmax(-1)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("sum by batch", pair(draw, 6, 33))
    yield Case("losses", pair(draw, 2, 5, 7), {"reduction": "none"})
    yield Case("target as logarithms, sum", (logs(draw, 12, 25), logs(draw, 12, 25), "sum"), {"log_target": True})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("mean", pair(draw, rows, cols), {"reduction": "mean"})
    either = {"reduction": draw.pick(["mean", "sum"]), "log_target": True}
    yield Case("target as logarithms", (logs(draw, rows, cols), logs(draw, rows, cols)), either)
    positive = (draw.normal(rows, cols, mean=-20.0, std=9.0), draw.normal(rows, cols, std=3.0), "none")
    yield Case("target as logarithms, not normalised", positive, {"log_target": True})
    yield Case("several blocks", pair(draw, 7, draw.size(500, 700)))
    flat = (draw.normal(draw.size(2500, 3900), mean=-4.0), draw.uniform(1), "sum")
    yield Case("several blocks, one dimension", (flat[0], draw.uniform(len(flat[0]), high=3.0), flat[2]))
    yield Case("one element", (draw.normal(1), draw.uniform(1)), {"reduction": draw.pick(["sum", "none", "batchmean"])})
    views = (draw.strided(logs(draw, rows, cols)), draw.uniform(cols, rows).T)
    yield Case("strided and transposed", views, {"reduction": "none"})
    yield Case("transposed, target as logarithms", (views[0].clone().T, views[1].clone().log().T), {"log_target": True})
    input, target = pair(draw, rows, cols)
    target[1], target[0, ::3] = 0.0, 0.0
    target[2] = 10.0 ** draw.uniform(cols, low=-37.0, high=-3.0)
    yield Case("probabilities 0 and close to it", (input, target), {"reduction": "none"})
    yield Case("probabilities 0, sum by batch", (input.clone(), target * draw.mask(rows, cols)))
    three = (logs(draw, rows, 5, 7), draw.uniform(rows, 5, 7))
    yield Case("three dimensions, sum by batch", three)


def timed(draw: Draw) -> Iterator[Case]:
    for rows, cols in ((4096, 4000), (512, 32000)):
        yield Case(f"{rows} x {cols}", pair(draw, rows, cols))
    yield Case(
        "2048 x 3000, logarithms", (logs(draw, 2048, 3000), logs(draw, 2048, 3000), "none"), {"log_target": True}
    )


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600", pair(draw, 24, 600))
    yield Case("40 x 500, logarithms", (logs(draw, 40, 500), logs(draw, 40, 500), "none"), {"log_target": True})


def magnitude(input: torch.Tensor, target: torch.Tensor, reduction: str, log_target: bool) -> torch.Tensor:
    x, t = input.double().abs(), target.double()
    if log_target:
        # exp amplifies the rounding of its argument by the argument's own size
        return losses.reduced(t.exp() * (t.abs() + x) * (1 + t.abs()), reduction)
    return losses.reduced(torch.where(t > 0, t * (t.log().abs() + x), 0.0), reduction)


def cost(input: torch.Tensor, target: torch.Tensor, reduction: str = "batchmean", log_target: bool = False) -> Cost:
    return losses.cost(reduction, 4, input, target)


TASK = Task(
    id="Loss/kl_div",
    entry="kl_div",
    signature="kl_div(input, target, reduction='batchmean', log_target=False)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(
        slack=lambda input, target, reduction, log_target: losses.slack(input, reduction), magnitude=magnitude
    ),
    cost=cost,
)
