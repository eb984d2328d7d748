"""Reduce/min_gelu: the smallest value of GELU, and where it stands."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
The minimum of GELU of `input`, over the whole tensor or along one dimension. With `approximate="none"`

    g(x) = x (1 + erf(x / sqrt(2))) / 2

and with `approximate="tanh"`  g(x) = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.  GELU is not monotonous: its
minimum is near x = -0.75, so that the smallest x doesn't give it.

With `dim=None` the result is one float32 tensor without dimensions, the minimum over all elements; `keepdim` has no
meaning then. With an integer `dim` (a negative one counts from the end) it is the tuple (values, indices): float32, and
int64 places along `dim`; the reduced dimension is removed from both, or kept with size 1 where `keepdim` is true.
`input` is float32 with any strides and no reduced dimension is empty; float32 arithmetic suffices. Where several
elements give the minimum, or nearly so (within the bound below), any of their indices is right. A slice with a NaN
gives NaN and the index of a NaN. Infinities don't occur.
With `out` given, one tensor for `dim=None` and a tuple of two otherwise (contiguous, of the right shapes and dtypes),
the result is written into it, and it is returned.

A value may be off by 8 eps |x| from the least g, x the element at that minimum and eps of float32; g at the returned
index, computed exactly, may be above the least one by 8 eps |x|, x the element at that index.
"""

Result = torch.Tensor | tuple[torch.Tensor, torch.Tensor]


def reference(
    input: torch.Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    approximate: str = "none",
    out: Any = None,
) -> Result:
    values = torch.nn.functional.gelu(input, approximate=approximate)
    if dim is None:
        return values.min() if out is None else out.copy_(values.min())
    least, places = values.min(dim, keepdim)
    return (least, places) if out is None else (out[0].copy_(least), out[1].copy_(places))


def check(arguments: dict[str, Any], returned: Result, native: Any) -> str | None:
    """Terms of size |x| are added, and may cancel: each of a few operations errs by eps |x| at most (Higham,
    Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1)."""
    x, dim = arguments["input"].double(), arguments["dim"]
    if isinstance(returned, torch.Tensor):
        x, dim, values, indices = x.flatten(), 0, returned.reshape(1), None
    else:
        values, indices = returned if arguments["keepdim"] else (part.unsqueeze(dim) for part in returned)
    g = torch.nn.functional.gelu(x, approximate=arguments["approximate"])
    least, place = g.min(dim, keepdim=True)
    eps = torch.finfo(torch.float32).eps
    if found := _beyond("values", values.double(), least, 8 * eps * x.gather(dim, place).abs()):
        return found
    if indices is None:
        return None
    outside = (indices < 0) | (indices >= x.shape[dim])
    if outside.any():
        return f"indices: {int(indices[outside][0])} is not between 0 and {x.shape[dim] - 1}"
    near = 8 * eps * torch.maximum(x.gather(dim, indices).abs(), x.gather(dim, place).abs())
    return _beyond("GELU at indices", g.gather(dim, indices), least, near)


def _beyond(name: str, have: torch.Tensor, want: torch.Tensor, allowed: torch.Tensor) -> str | None:
    same = (have == want) | (have.isnan() & want.isnan()) | ((have - want).abs() <= allowed)
    if same.all():
        return None
    place = tuple(int(i) for i in (~same).nonzero()[0])
    first = f"the first, at {place}, is {have[place].item():.9g} and should be {want[place].item():.9g}"
    return f"{name}: {int((~same).sum())} of {same.numel()} are not the minimum; {first}"


def public(draw: Draw) -> Iterator[Case]:
    yield Case("whole tensor", (draw.normal(7, 30),))
    yield Case("last dimension", (draw.normal(6, 37), 1))
    yield Case("tanh, first dimension, kept", (draw.normal(21, 9), 0), {"keepdim": True, "approximate": "tanh"})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("middle dimension", (draw.normal(3, draw.size(35, 60), draw.size(5, 19), std=3.0), -2, True))
    yield Case("longer than one block", (draw.normal(2, draw.size(1100, 1900)), 1))
    yield Case("all positive", (draw.uniform(rows, cols, low=0.2, high=4.0), 1))
    yield Case("positive, whole tensor", (draw.uniform(5, 3, cols, low=0.5, high=3.0),))
    yield Case("all below the minimum", (draw.uniform(rows, cols, low=-4.0, high=-1.5), -1))
    beyond = draw.uniform(rows, cols, low=-3.2, high=-2.6)
    yield Case("tanh, where the forms differ", (beyond, 1, False), {"approximate": "tanh"})
    yield Case("tanh, whole tensor", (draw.uniform(rows, cols, low=-3.2, high=-2.6),), {"approximate": "tanh"})
    yield Case("few elements", (draw.normal(rows, 2, std=2.0), 1))
    yield Case("size 1 along dim", (draw.normal(rows, 1, 5), 1))
    yield Case("out given, whole tensor", (draw.uniform(rows, 7, low=-0.5, high=0.0),), {"out": draw.normal(1)[0]})
    out = (draw.normal(cols), draw.integers(0, 3, cols))
    yield Case("out given", (draw.uniform(rows, cols, low=-0.5), 0), {"out": out})
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)), -1))
    yield Case("transposed view, whole tensor", (draw.uniform(cols, rows, low=-0.4, high=0.0).T,))
    special = draw.normal(4, cols)
    special[0, 3] = special[2, cols - 1] = special[2, 7] = math.nan
    yield Case("NaN", (special, 1))
    yield Case("NaN, whole tensor", (special[:2],))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("8192 x 3000, last", (draw.normal(8192, 3000), -1))
    yield Case("5000 x 4096, first, tanh", (draw.normal(5000, 4096), 0, False), {"approximate": "tanh"})
    yield Case("24 x 1000 x 1001, whole tensor", (draw.normal(24, 1000, 1001),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, last", (draw.normal(24, 600), -1))
    yield Case("3 x 50 x 70, middle", (draw.normal(3, 50, 70), 1))


def cost(
    input: torch.Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    approximate: str = "none",
    out: Any = None,
) -> Cost:
    results = 1 if dim is None else 3 * input.numel() // input.shape[dim]
    return Cost((input.numel() + results) * 4, 8 * input.numel())


TASK = Task(
    id="Reduce/min_gelu",
    entry="min_gelu",
    signature="min_gelu(input: Tensor, dim=None, keepdim=False, approximate='none', out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
    writes_to="out",
)
