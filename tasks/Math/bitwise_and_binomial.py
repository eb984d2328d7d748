"""Math/bitwise_and_binomial: bitwise AND of two tensors, and binomial random numbers judged by their distribution."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Property
from tasks.outcomes import Reason
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Two results in one call, returned as a tuple (bits, samples):

    bits      input & other, bit by bit: int32, of the shape to which `input` and `other` (int32) are broadcast
    samples   independent random numbers, one for each element of the shape to which `total_count` and the probability
              are broadcast: how many of n trials succeed, n = total_count, each with probability p; float32

Exactly one of `probs` and `logits` is given (float32): p = probs, in [0, 1], or p = 1 / (1 + exp(-logits)), computed in
float32. `total_count` is float32 and holds whole numbers n >= 0: at most 100 where 0 < p < 1, at most 10,000 where p is
0 or 1. Samples are whole numbers in 0 .. n; p = 0 gives 0 and p = 1 gives n exactly. The two pairs need not have the
same shape. All have at least one dimension and any strides; both results are new tensors.

Take a seed of your own choice; the same numbers may come at every call. They need not be those that torch would draw: a
sum of n comparisons with uniform numbers (Philox, as in `tl.rand`) serves, and so does the inverse of the distribution
function. The uniform numbers behind one sample, and behind different ones, must differ and be independent; they need at
least 23 bits.

`bits` must be equal. `samples` are judged by range and, turned into uniform numbers by the exact distribution function,
by distribution, mean, variance and serial correlation, with limits that true random numbers break less than once in
10^9 calls.
"""

FALSE_ALARM = 1e-11
"""How often true random numbers fail one of the tests below; about eighty are made of one call."""

LAGS = (*range(1, 65), *(2**k for k in range(7, 12)))
LARGEST_SAMPLE = 2**16

Pair = tuple[torch.Tensor, torch.Tensor]


def reference(
    input: torch.Tensor,
    other: torch.Tensor,
    total_count: torch.Tensor,
    probs: torch.Tensor | None = None,
    logits: torch.Tensor | None = None,
) -> Pair:
    count, p = torch.broadcast_tensors(total_count, probability(probs, logits))  # type: ignore[no-untyped-call]
    return input & other, torch.binomial(count, p)


def probability(probs: torch.Tensor | None, logits: torch.Tensor | None) -> torch.Tensor:
    if (probs is None) == (logits is None):
        raise ValueError("exactly one of probs and logits must be given")
    return probs if probs is not None else torch.sigmoid(logits)  # type: ignore[arg-type]


def check(arguments: dict[str, Any], returned: Pair, native: Pair) -> str | None:
    bits, samples = returned
    if not torch.equal(bits, native[0]):
        return f"{int((bits != native[0]).sum())} of {bits.numel()} elements of bits differ from input & other"
    p = probability(arguments["probs"], arguments["logits"]).double()
    count, p = torch.broadcast_tensors(arguments["total_count"].double(), p)  # type: ignore[no-untyped-call]
    x = samples.double()
    if not ((x >= 0) & (x <= count) & (x == x.floor())).all():
        return "every sample must be a whole number in 0 .. total_count"
    if not ((x == 0) | (p > 0)).all() or not ((x == count) | (p < 1)).all():
        return "p = 0 must give 0, and p = 1 must give total_count"
    row = x.shape[-1]
    x, count, p = (t.flatten() for t in (x, count, p))
    if x.numel() > LARGEST_SAMPLE:
        x, count, p = (torch.cat((t[: LARGEST_SAMPLE // 2], t[-LARGEST_SAMPLE // 2 :])) for t in (x, count, p))
    return _as_uniform(uniform(x, count, p), {*LAGS, row})


def uniform(x: torch.Tensor, count: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """P(X < x) + v P(X = x), v uniform: uniform on [0, 1) and independent where the samples are binomial and so
    (randomised probability integral transform). Where there is no choice, it is v."""
    rare = p <= 0.5
    # failures where they are rarer: then (1 - p)^n stays far from underflow
    x, p = torch.where(rare, x, count - x), torch.where(rare, p, 1 - p)
    below = torch.zeros_like(x)
    term = torch.exp(count * torch.log1p(-p))
    here = term.clone()
    for k in range(int(x.max())):
        below = torch.where(x > k, below + term, below)
        term = term * (count - k) / (k + 1) * (p / (1 - p))
        here = torch.where(x == k + 1, term, here)
    v = torch.rand(x.shape, generator=torch.Generator().manual_seed(20240229), dtype=torch.float64)
    return below + v * here


def _as_uniform(u: torch.Tensor, lags: set[int]) -> str | None:
    """Limits as for Random/rand: Massart's constant for Kolmogorov-Smirnov, Hoeffding for mean and variance, Azuma for
    products of values some places apart."""
    n, odds = u.numel(), math.log(2 / FALSE_ALARM)
    steps = torch.arange(n + 1, dtype=torch.float64) / n
    ordered = u.sort().values
    distance = float(torch.maximum(steps[1:] - ordered, ordered - steps[:-1]).max())
    if distance > math.sqrt(odds / (2 * n)):
        return f"the samples are not binomial: Kolmogorov-Smirnov distance {distance:.3f} over {n} of them"
    centred = u - 0.5
    mean, variance = float(centred.mean()), float(centred.square().mean())
    if abs(mean) > math.sqrt(odds / (6 * n)):
        return f"the samples are too {'large' if mean > 0 else 'small'}: mean quantile {mean + 0.5:.3f}, not 1/2"
    if abs(variance - 1 / 12) > math.sqrt(odds / (2 * n)) / 4:
        return f"the samples spread too {'much' if variance > 1 / 12 else 'little'}"
    for lag in sorted(lags):
        products = centred[lag:] * centred[:-lag]
        if products.numel() and abs(float(products.mean())) > math.sqrt(odds / (24 * products.numel())):
            return f"samples {lag} places apart are correlated"
    return None


def integers(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.integers(-(2**31), 2**31 - 1, *shape, dtype=torch.int32)


def counts(draw: Draw, high: int, *shape: int) -> torch.Tensor:
    return draw.integers(0, high, *shape, dtype=torch.float32)


def public(draw: Draw) -> Iterator[Case]:
    bits = integers(draw, 30, 60), integers(draw, 30, 60)
    yield Case("probabilities", (*bits, counts(draw, 12, 30, 60), draw.uniform(30, 60)))
    yield Case("logits", (*bits, counts(draw, 12, 30, 60)), {"logits": draw.normal(30, 60)})
    yield Case("vectors broadcast", (*bits, counts(draw, 20, 60), draw.uniform(30, 1)))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(20, 30), draw.size(61, 67)
    size = (rows, cols)
    bits = integers(draw, *size), integers(draw, *size)
    few = torch.full(size, float(draw.size(4, 7)))
    yield Case("one count, one probability", (*bits, few, torch.full((1,), draw.size(40, 60) / 100)))
    yield Case("up to 40 trials", (*bits, counts(draw, 40, *size), draw.uniform(*size)))
    yield Case("logits of large size", (*bits, counts(draw, 15, *size), None, draw.normal(*size, std=4.0)))
    rare = draw.uniform(*size, high=0.02)
    yield Case("rare successes", (*bits, counts(draw, 16, *size), torch.where(draw.mask(rows, 1), rare, 1 - rare)))
    certain = draw.integers(0, 1, *size, dtype=torch.float32)
    yield Case("probabilities 0 and 1, large counts", (*bits, counts(draw, 9999, *size), certain))
    turned = integers(draw, cols, rows).T, draw.strided(integers(draw, *size))
    strided = draw.strided(counts(draw, 9, *size))
    yield Case("strided and transposed views", (*turned, strided, draw.uniform(cols, rows).T))
    shapes = integers(draw, 2, rows, 1), integers(draw, 37), counts(draw, 9, cols), draw.uniform(2, rows, 1)
    yield Case("pairs of different shapes", shapes)
    yield Case("one element", (integers(draw, 1), integers(draw, 1), torch.tensor([5.0]), torch.tensor([0.5])))


def timed(draw: Draw) -> Iterator[Case]:
    for rows, cols, high in ((1024, 1000, 10), (1500, 2048, 16)):
        bits = integers(draw, rows, cols), integers(draw, rows, cols)
        kind = (*bits, counts(draw, high, rows, cols), draw.uniform(rows, cols))
        yield Case(f"{rows} x {cols}, up to {high} trials", kind)


def stand_ins(draw: Draw) -> Iterator[Case]:
    for rows, cols, high in ((10, 250, 8), (3, 1001, 10)):
        bits = integers(draw, rows, cols), integers(draw, rows, cols)
        kind = (*bits, counts(draw, high, rows, cols), draw.uniform(rows, cols))
        yield Case(f"{rows} x {cols}, up to {high} trials", kind)


def cost(
    input: torch.Tensor,
    other: torch.Tensor,
    total_count: torch.Tensor,
    probs: torch.Tensor | None = None,
    logits: torch.Tensor | None = None,
) -> Cost:
    p = probability(probs, logits)
    bits, samples = (input & other).numel(), (total_count * p).numel()
    return Cost(nbytes(input, other, total_count, p) + 4 * (bits + samples), 4 * samples)


TASK = Task(
    id="Math/bitwise_and_binomial",
    entry="bitwise_and_binomial",
    signature="bitwise_and_binomial(input: torch.Tensor, other: torch.Tensor, total_count: torch.Tensor, "
    "probs: torch.Tensor=None, logits: torch.Tensor=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check, Reason.DISTRIBUTION),
    cost=cost,
    stochastic=True,
)
