"""Fusion/fused_masked_select_add_gelu: the elements under a mask, something added to them, and GELU of the sums."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
The elements of `input` where `mask` is true, in row-major order, with something added, and GELU of the sums:

    s = masked_select(input, mask) + alpha * other
    approximate='none':  y = s/2 * (1 + erf(s / sqrt(2)))
    approximate='tanh':  y = s/2 * (1 + tanh(sqrt(2/pi) * (s + 0.044715 * s**3)))

`input` is float32 and `mask` bool; both have the same shape, any number of dimensions (at least one) and any strides.
The result is float32, one-dimensional, and exactly as long as there are true elements (0 if there are none). `other` is
a number, or a one-dimensional float32 tensor of the result's length or of length 1; `alpha` is a number.
`out`, when given, is a contiguous float32 tensor of the result's shape: the result is written into it, and `out` itself
is returned. Reading the length back to the host with `.item()` is allowed.
Everything is float32; GELU to within a few units of 2**-24 * (|selected| + |alpha * other|). A NaN that is selected
gives NaN, a sum of +inf gives inf, one of -inf NaN; finite sums never give NaN, however large.
"""

Other = torch.Tensor | float


def reference(
    input: torch.Tensor,
    mask: torch.Tensor,
    other: Other,
    *,
    alpha: float = 1,
    approximate: str = "none",
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    total = torch.masked_select(input, mask) + alpha * other
    result = torch.nn.functional.gelu(total, approximate=approximate)
    return result if out is None else out.copy_(result)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix, a number", (draw.normal(7, 33), draw.mask(7, 33), 0.5))
    mask = draw.mask(2500, p=0.3)
    other = draw.normal(int(mask.sum()))
    yield Case("vector, a tensor, tanh form", (draw.normal(2500), mask, other), {"approximate": "tanh"})
    yield Case("three dimensions, alpha", (draw.normal(2, 3, 19), draw.mask(2, 3, 19), draw.normal(1)), {"alpha": 2})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), 2 * draw.size(60, 150) + 1

    def operands(p: float = 0.5) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        mask = draw.mask(rows, cols, p=p)
        return draw.normal(rows, cols, std=1.5), mask, draw.normal(int(mask.sum()))

    yield Case("several blocks, alpha", operands(0.7), {"alpha": draw.pick([-0.7, 1.3])})
    yield Case("few selected, tanh form, alpha", operands(0.05), {"alpha": 3, "approximate": "tanh"})
    x, mask, other = operands()
    yield Case("strided views", (draw.strided(x), draw.strided(mask), draw.strided(other)))
    x, mask, other = operands()
    yield Case("transposed views", (x.t().contiguous().t(), mask.t().contiguous().t(), other))
    yield Case("nothing selected", (draw.normal(rows, 31), torch.zeros(rows, 31, dtype=torch.bool), 2.0))
    yield Case(
        "everything selected, a number", (draw.normal(rows, cols), torch.ones(rows, cols, dtype=torch.bool), -1.0)
    )
    yield Case("one element", (draw.normal(1), torch.ones(1, dtype=torch.bool), draw.normal(1)))
    x, mask, other = operands()
    yield Case("out given", (x, mask, other), {"out": draw.normal(other.numel()), "alpha": 0.5})
    tail = (draw.uniform(rows, cols, low=-8.0, high=-1.0), draw.mask(rows, cols), 0.0)
    yield Case("negative tail", tail, {"approximate": draw.pick(["none", "tanh"])})
    for form in ("none", "tanh"):
        special = draw.normal(4, cols)
        special[0, :3] = torch.tensor([math.nan, math.inf, -math.inf])
        special[1] = draw.normal(cols, std=1e15)
        chosen = draw.mask(4, cols, p=0.8)
        chosen[0, :3] = True
        yield Case(f"NaN, infinity and huge values, {form}", (special, chosen, 1.0), {"approximate": form})


def timed(draw: Draw) -> Iterator[Case]:
    for rows, cols, p in ((3000, 1024, 0.5), (4096, 4000, 0.1), (16384, 1000, 0.9)):
        mask = draw.mask(rows, cols, p=p)
        label = f"{rows} x {cols}, {p:.0%} selected"
        yield Case(label, (draw.normal(rows, cols), mask, draw.normal(int(mask.sum()))), {"alpha": 0.5})


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, cols, p in ((24, 205, 0.5), (100, 111, 0.1)):
        mask = draw.mask(rows, cols, p=p)
        yield Case(f"{rows} x {cols}, {p:.0%} selected", (draw.normal(rows, cols), mask, draw.normal(int(mask.sum()))))


def magnitude(input: torch.Tensor, mask: torch.Tensor, other: Other, alpha: float, **_: object) -> torch.Tensor:
    """1 + erf and 1 + tanh cancel for negative sums: their float32 error is relative to 1, so that of y is to s."""
    added = other.double() if isinstance(other, torch.Tensor) else torch.tensor(other, dtype=torch.float64)
    return torch.masked_select(input.double(), mask).abs() + (alpha * added).abs()


def cost(
    input: torch.Tensor,
    mask: torch.Tensor,
    other: Other,
    *,
    alpha: float = 1,
    approximate: str = "none",
    out: torch.Tensor | None = None,
) -> Cost:
    """The mask is read once, and no more of the input than is selected."""
    selected = int(mask.sum())
    added = nbytes(other) if isinstance(other, torch.Tensor) else 0
    return Cost(nbytes(mask) + 2 * selected * input.element_size() + added, 12 * selected)


TASK = Task(
    id="Fusion/fused_masked_select_add_gelu",
    entry="fused_masked_select_add_gelu",
    aliases=("masked_select_add_gelu",),
    signature="fused_masked_select_add_gelu(input, mask, other, *, alpha=1, approximate='none', out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda **_: 4.0, magnitude=magnitude),
    cost=cost,
    writes_to="out",
    allow=frozenset({"_local_scalar_dense"}),
)
