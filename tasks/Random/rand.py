"""Random/rand: uniform random numbers, judged by their distribution."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Property
from tasks.outcomes import Reason
from tasks.task import Case, Cost, Task

TEXT = """\
A tensor of independent random numbers, uniform on [0, 1): 0 may occur, 1 may not.

`size` is a sequence of ints given as separate arguments, or one tuple or list; rand() has shape (). The dtype is
`dtype` if given, else that of `out` if given, else float32; float32 and float64 occur. float32 values need at least 23
random bits, float64 values at least 32 (53 are best): casting float32 numbers to float64 is not enough.
With `out` given (of the right shape and dtype, perhaps a strided view), the numbers are written into `out`, and `out`
itself is returned. `device=None` stands for the device of `out`, else for the CUDA device where there is one,
else for the CPU. `layout`, `requires_grad` and `pin_memory` keep their defaults.

The stream is fixed by the seed, `generator.initial_seed()`, an int of up to 64 bits: the same seed gives the same
numbers, different seeds give different streams. Without `generator` take a seed of your own choice. The numbers need
not be those that torch would draw; a counter-based generator (Philox, as in `tl.rand`) serves well.

Judged by range, distribution function, mean, variance, serial correlation and repeated values, with limits that true
random numbers break less than once in 10^9 calls.
"""

FALSE_ALARM = 1e-11
"""How often true random numbers fail one of the tests below; fewer than a hundred are made of one call."""

LAGS = tuple(2**k for k in range(12))
LARGEST_SAMPLE = 2**20


def reference(
    *size: Any,
    generator: torch.Generator | None = None,
    out: torch.Tensor | None = None,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> torch.Tensor:
    options = {"layout": layout, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
    shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    if out is not None:
        dtype = dtype or out.dtype
    values = torch.rand(shape, generator=generator, dtype=dtype, **options)
    return values if out is None else out.copy_(values)


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """Range and zeros over all values; the other tests over the first and the last half million."""
    flat = returned.flatten()
    if not ((flat >= 0) & (flat < 1)).all():
        return "every value must lie in [0, 1)"
    zeros = int((flat == 0).sum())
    if zeros > _most(flat.numel() * 2.0**-23):
        return f"{zeros} of {flat.numel()} values are exactly zero"
    if flat.numel() > LARGEST_SAMPLE:
        flat = torch.cat((flat[: LARGEST_SAMPLE // 2], flat[-LARGEST_SAMPLE // 2 :]))
    tests: tuple[Callable[[torch.Tensor], str | None], ...] = (_repeats, _bits, _distribution, _moments, _correlation)
    return next((found for found in (test(flat) for test in tests) if found), None)


def _repeats(x: torch.Tensor) -> str | None:
    """Values on a grid of G points: the i-th repeats an earlier one with probability at most (i - 1) / G, so that
    Chernoff's bound for independent events holds; some value occurs r times with probability at most
    C(n, r) / G^(r - 1)."""
    n, grid = x.numel(), 2.0**23 if x.dtype == torch.float32 else 2.0**32
    counts = torch.unique(x, return_counts=True)[1]
    repeats, most = n - counts.numel(), int(counts.max())
    if repeats > _most(n * (n - 1) / 2 / grid):
        return f"{repeats} of {n} values repeat an earlier one"
    choose = math.lgamma(n + 1) - math.lgamma(most + 1) - math.lgamma(n - most + 1)
    if most > 1 and choose - (most - 1) * math.log(grid) < math.log(FALSE_ALARM):
        return f"one value occurs {most} times among {n}"
    return None


def _bits(x: torch.Tensor) -> str | None:
    """With 32 random bits about 2 % of the float64 values are float32 numbers, with 26 half of them."""
    if x.dtype != torch.float64 or x.numel() < 64:
        return None
    share = float((x.float().double() == x).double().mean())
    return f"{share:.0%} of the float64 values have no more bits than float32" if share > 0.5 else None


def _distribution(x: torch.Tensor) -> str | None:
    """Kolmogorov-Smirnov with the limit of Massart, The tight constant in the Dvoretzky-Kiefer-Wolfowitz
    inequality, Annals of Probability 18 (1990): P(D > t) <= 2 exp(-2 n t^2)."""
    n = x.numel()
    ordered = x.double().sort().values
    steps = torch.arange(n + 1, dtype=torch.float64) / n
    distance = float(torch.maximum(steps[1:] - ordered, ordered - steps[:-1]).max())
    limit = math.sqrt(_log_odds() / (2 * n))
    if distance > limit:
        return f"Kolmogorov-Smirnov distance from uniform {distance:.4f}, limit {limit:.4f} for {n} values"
    return None


def _moments(x: torch.Tensor) -> str | None:
    """Hoeffding (JASA 58, 1963) for squares within [0, 1/4]; for the mean, the uniform distribution is
    sub-Gaussian with its own variance 1/12."""
    n = x.numel()
    centred = x.double() - 0.5
    mean, variance = float(centred.mean()), float((centred**2).mean())
    if abs(mean) > math.sqrt(_log_odds() / (6 * n)):
        return f"the mean is {mean + 0.5:.4f} over {n} values, not 1/2"
    if abs(variance - 1 / 12) > math.sqrt(_log_odds() / (2 * n)) / 4:
        return f"the variance is {variance:.4f} over {n} values, not 1/12"
    return None


def _correlation(x: torch.Tensor) -> str | None:
    """Products of values `lag` apart are martingale differences, sub-Gaussian with variance at most 1/48 (Azuma)."""
    centred = x.double() - 0.5
    for lag in LAGS:
        products = centred[lag:] * centred[:-lag]
        n = products.numel()
        if n and abs(mean := float(products.mean())) > math.sqrt(_log_odds() / (24 * n)):
            return f"values {lag} places apart are correlated: coefficient {12 * mean:.3f} over {n} pairs"
    return None


def _log_odds() -> float:
    return math.log(2 / FALSE_ALARM)


def _most(expected: float) -> int:
    """The largest count of independent rare events that is not refused: Chernoff, P(S >= k) <= e^-m (e m / k)^k."""
    if expected == 0:
        return 0
    bound = math.ceil(expected) + 1
    while bound - expected + bound * math.log(expected / bound) > math.log(FALSE_ALARM):
        bound += 1
    return bound


def seeded(draw: Draw) -> torch.Generator:
    return torch.Generator().manual_seed(draw.seed())


def public(draw: Draw) -> Iterator[Case]:
    yield Case("matrix", (50, 70), {"generator": seeded(draw)})
    yield Case("no generator", ((3, 7, 100),))
    yield Case("float64", (2500,), {"generator": seeded(draw), "dtype": torch.float64})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(30, 60), draw.size(33, 65)
    yield Case("size as a list", ([rows, cols],), {"generator": seeded(draw)})
    yield Case("one element", (1,), {"generator": seeded(draw), "dtype": torch.float64})
    yield Case("no dimension", (), {"generator": seeded(draw)})
    out = draw.normal(cols, rows, dtype=torch.float64)
    yield Case("out, float64", (cols, rows), {"generator": seeded(draw), "out": out})
    out = draw.strided(draw.normal(2, rows, cols // 2))
    yield Case("out is a strided view", (2, rows, cols // 2), {"generator": seeded(draw), "out": out})
    size = draw.size(2500, 4000)
    yield Case("64-bit seed", (size,), {"generator": torch.Generator().manual_seed(draw.seed() * 2**32 + draw.seed())})


def timed(draw: Draw) -> Iterator[Case]:
    for size, dtype in ((2**20, None), (2**24, None), (2**24, torch.float64), (2**25, None)):
        options = {"generator": seeded(draw), "dtype": dtype}
        yield Case(f"{size}, {str(dtype or torch.float32)[6:]}", (size,), options)


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("16000", (16000,), {"generator": seeded(draw)})
    yield Case("70 x 130, float64", (70, 130), {"generator": seeded(draw), "dtype": torch.float64})


def cost(*size: Any, out: torch.Tensor | None = None, dtype: torch.dtype | None = None, **_: Any) -> Cost:
    shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    dtype = dtype or (torch.float32 if out is None else out.dtype)
    # ten Philox rounds give four 32-bit words for about 60 integer operations; no floating-point work to speak of
    return Cost(math.prod(shape) * dtype.itemsize, math.prod(shape))


TASK = Task(
    id="Random/rand",
    entry="rand",
    signature="rand(*size, generator=None, out=None, dtype=None, layout=torch.strided, device=None, "
    "requires_grad=False, pin_memory=False)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check, Reason.DISTRIBUTION),
    cost=cost,
    writes_to="out",
    stochastic=True,
)
