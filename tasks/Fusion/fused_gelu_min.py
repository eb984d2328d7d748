"""Fusion/fused_gelu_min: the least value of GELU, and where it is."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.families.fused import results
from tasks.judges import Property
from tasks.task import Case, Cost, Task

TEXT = """\
The smallest GELU of a slice of elements:

    approximate='none':  g = x/2 * (1 + erf(x / sqrt(2)))
    approximate='tanh':  g = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3)))

With an int `dim` (negative values count from the end) the result is a tuple (values, indices): the minimum of g along
that dimension, float32, and its index there, int64; the dimension is removed, or kept with size 1 where `keepdim` is
true. With dim=None the result is the minimum over the whole tensor alone, float32, without dimensions.
`input` is float32 with at least one dimension and any strides.
`out` (only with dim=None), when given, is a float32 tensor without dimensions: the result is written into it, and
`out` itself is returned.

GELU falls from 0 to -0.17 and rises again, so its minimum is not where x has its own. It is computed in float32; what
counts is the minimum of g up to float32 errors of the formula (a few units of 2**-24 * |x|), and the index of an
element whose g equals the minimum up to such errors: of equal or nearly equal ones, any. A slice with a NaN or -inf
(whose GELU is NaN) gives NaN, and the index of any element whose GELU is NaN. +inf gives inf.
"""


def reference(
    input: torch.Tensor,
    approximate: str = "none",
    dim: int | None = None,
    keepdim: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    # on a CPU, gelu makes NaN of float32 infinity
    values = torch.where(input == math.inf, input, torch.nn.functional.gelu(input, approximate=approximate))
    if dim is not None:
        least = torch.min(values, dim, keepdim)
        return least.values, least.indices
    return values.min() if out is None else out.copy_(values.min())


def public(draw: Draw) -> Iterator[Case]:
    yield Case("all dimensions", (draw.normal(9, 33),))
    yield Case("last dimension, kept", (draw.normal(7, 50),), {"dim": -1, "keepdim": True})
    yield Case("first dimension, tanh form", (draw.normal(40, 13, std=2.0),), {"approximate": "tanh", "dim": 0})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    positive = draw.uniform(rows, cols, low=0.5, high=9.0)
    yield Case("positive values", (positive,), {"approximate": draw.pick(["none", "tanh"]), "dim": 1})
    yield Case("negative values", (draw.uniform(rows, cols, low=-9.0, high=-1.5),), {"dim": 1})
    yield Case("all dimensions, several blocks, positive", (draw.uniform(3, draw.size(1400, 1900), low=1.0, high=9.0),))
    # the two forms differ most, by 0.0005, near -2 and 2
    near = draw.uniform(rows, cols, low=1.9, high=2.3)
    yield Case("where the forms differ", (near,), {"approximate": "tanh", "dim": 1, "keepdim": True})
    yield Case(
        "middle dimension",
        (draw.normal(3, draw.size(35, 60), draw.size(5, 19), mean=1.0),),
        {"dim": -2},
    )
    yield Case("size 1 along dim", (draw.normal(rows, 1, 5),), {"dim": 1})
    long = draw.normal(2, draw.size(1030, 1900), mean=6.0)
    yield Case("longer than one block", (long,), {"dim": -1, "keepdim": True})
    yield Case("few different values", (draw.integers(0, 3, rows, cols).float(),), {"dim": 1})
    yield Case("strided view", (draw.strided(draw.uniform(rows, cols, low=0.1, high=5.0)),), {"dim": -1})
    yield Case(
        "transposed view, all dimensions", (draw.uniform(cols, rows, low=1.9, high=2.3).T,), {"approximate": "tanh"}
    )
    yield Case("out given", (draw.uniform(rows, cols, low=0.1, high=5.0),), {"out": draw.normal()})
    special = draw.uniform(5, cols, low=0.1, high=5.0)
    special[0, draw.size(0, cols - 1)] = math.nan
    special[1, draw.size(0, cols - 1)] = -math.inf
    special[2] = math.inf
    special[3] = draw.uniform(cols, low=1e10, high=1e30)
    yield Case("NaN and infinity", (special,), {"dim": 1})
    yield Case("NaN, all dimensions", (special.clone(),), {"approximate": "tanh"})


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("16384 x 1500, last", (draw.normal(16384, 1500, mean=5.0),), {"dim": -1})
    yield Case("64 x 250 x 2000, middle", (draw.normal(64, 250, 2000, mean=4.0),), {"dim": 1})
    yield Case("4096 x 5000, all", (draw.uniform(4096, 5000, low=0.5, high=9.0),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 600, last", (draw.normal(24, 600, mean=4.0),), {"dim": -1})
    yield Case("16 x 1000, all", (draw.uniform(16, 1000, low=0.5, high=9.0),))


def check(arguments: dict[str, Any], returned: Any, native: Any) -> str | None:
    """If each g is off by at most its tolerance t, then the least lies between min(g - t) and min(g + t)."""
    x, dim = arguments["input"].double(), arguments["dim"]
    g = torch.nn.functional.gelu(x, approximate=arguments["approximate"])
    # beyond 30 the formulas are exact: 1 + erf is 0 or 2
    tolerance = 4 * torch.finfo(torch.float32).eps * (g.abs() + x.abs().clamp_max(30.0)).nan_to_num(0.0, 0.0, 0.0)
    if dim is None:
        g, tolerance, dim, values = g.reshape(1, -1), tolerance.reshape(1, -1), 1, returned.reshape(1, 1)
    else:
        values = returned[0] if arguments["keepdim"] else returned[0].unsqueeze(dim)
    low, high = (g - tolerance).amin(dim, keepdim=True), (g + tolerance).amin(dim, keepdim=True)
    values = values.double()
    good = torch.where(low.isnan(), values.isnan(), (values >= low) & (values <= high))
    if not good.all():
        return f"{int((~good).sum())} of {good.numel()} values are not the minimum of GELU up to float32 errors"
    if isinstance(returned, torch.Tensor):
        return None
    indices = returned[1] if arguments["keepdim"] else returned[1].unsqueeze(dim)
    if ((indices < 0) | (indices >= x.shape[dim])).any():
        return "an index lies outside the dimension"
    least = (g - tolerance).gather(dim, indices)
    good = torch.where(low.isnan(), least.isnan(), least <= high)
    return None if good.all() else f"{int((~good).sum())} of {good.numel()} indices are not those of a minimum"


def cost(
    input: torch.Tensor,
    approximate: str = "none",
    dim: int | None = None,
    keepdim: bool = False,
    out: torch.Tensor | None = None,
) -> Cost:
    written = 4 if dim is None else results(input, dim) * (input.element_size() + 8)
    return Cost(input.numel() * input.element_size() + written, 12 * input.numel())


TASK = Task(
    id="Fusion/fused_gelu_min",
    entry="fused_gelu_min",
    aliases=("gelu_min",),
    signature="fused_gelu_min(input, approximate='none', dim=None, keepdim=False, out=None)",
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
