"""Math/pow: powers, of negative bases too."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.families import unary
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Power, element by element:

    y = input_tensor ** exponent

The rules are those of C's pow: x**0 and 1**e are 1 (of NaN too); a negative finite x gives NaN unless e is an integer,
and then |x|**e with the sign of x where e is odd (so (-2)**3 is -8, (-2)**-2 is 0.25); 0**e is 0 for e > 0 and +inf
for e < 0; inf**e is inf for e > 0 and 0 for e < 0; (-inf)**e is the same, negated for odd e. Otherwise NaN gives
NaN. Exponents are finite or NaN, zeros are positive.
It is computed in float32. The relative error may be (8 + 4 * |t|) * 2**-23 with t = e * log(|x|): exp(t), computed
with float32's log and exp, is good enough.

`input_tensor` and `exponent` are float32 tensors with any number of dimensions (none too) and any strides; they may
be empty. They are broadcast against each other, and the result has the common shape. `exponent` may be a Python
number, too.
`out`, when given, is a contiguous float32 tensor of the result's shape: the result is written into it, and `out`
itself is returned.
"""


def reference(
    input_tensor: torch.Tensor, exponent: torch.Tensor | float, out: torch.Tensor | None = None
) -> torch.Tensor:
    y = torch.pow(input_tensor, exponent)
    return y if out is None else out.copy_(y)


def base(draw: Draw, *shape: int) -> torch.Tensor:
    """Positive values around 1."""
    return torch.exp(draw.normal(*shape))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("two matrices", (base(draw, 7, 33), unary.normal(draw, 7, 33)))
    yield Case("exponent of one row", (base(draw, 5, 21), unary.normal(draw, 21)))
    yield Case("an integer, any base", (draw.normal(3, 19), 3))


def hidden(draw: Draw) -> Iterator[Case]:
    yield from unary.pairs(draw, base, unary.normal)
    yield unary.pair_out_given(draw, base, unary.normal)
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("a number", (draw.strided(base(draw, rows, cols)), draw.size(-9, 9) + 0.5))
    yield Case("an integer, negative bases", (draw.normal(rows, cols, std=3.0), draw.pick([3, 5, -3])))
    whole = draw.integers(-9, 9, rows, cols).float()
    whole[:, ::5] += 0.5
    yield Case("integers and fractions, negative bases", (draw.normal(rows, cols, std=2.0), whole))
    yield Case("large exponents", (draw.normal(rows, cols, mean=1.0, std=0.05), draw.normal(rows, cols, std=100.0)))
    special = torch.tensor([0.0, 1.0, math.inf, -math.inf, math.nan, 2.0, -1.0])
    yield Case(
        "special values", (special[:, None], torch.tensor([0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -2.5, 3.0, math.nan]))
    )


def timed(draw: Draw) -> Iterator[Case]:
    return unary.large_pairs(draw, base, unary.normal)


def stand_ins(draw: Draw) -> Iterator[Case]:
    return unary.small_pairs(draw, base, unary.normal)


def magnitude(
    input_tensor: torch.Tensor, exponent: torch.Tensor | float, out: torch.Tensor | None
) -> dict[str, torch.Tensor]:
    """exp amplifies the rounding of its argument t by the argument's own size."""
    x = input_tensor.double().abs()
    e = torch.as_tensor(exponent, dtype=torch.float64)
    size = torch.pow(x, e) * (1 + (e * torch.log(x)).abs())
    return unary.sizes(size.nan_to_num(0.0, 0.0, 0.0), out=out)


def cost(input_tensor: torch.Tensor, exponent: torch.Tensor | float, out: torch.Tensor | None = None) -> Cost:
    return unary.cost_of_pair(input_tensor, exponent, 10)


TASK = Task(
    id="Math/pow",
    entry="pow",
    signature="pow(input_tensor, exponent, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda input_tensor, exponent, out: 4.0, magnitude=magnitude),
    cost=cost,
    mutates=("out",),
    writes_to="out",
)
