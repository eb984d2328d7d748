"""The statistics of paired timings: a ratio with its interval, and when enough has been measured. Pure functions.

The interval is the percentile bootstrap of the median (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
chapter 13) over the ratios of windows that were measured one right after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
RESAMPLES = 2000
PAIRS_MIN = 7
PAIRS_MAX = 60
# Two processes with the same code on the same GPU differ by this share, above so many milliseconds a call: where their
# memory lies, measured on an H200. No number of repetitions in one pair of processes shows it, so that it is added to
# each side of an interval.
PLACEMENTS = ((0.05, 0.003), (0.02, 0.008), (0.0, 0.04))


@dataclass(frozen=True)
class Ratio:
    """The median of paired ratios with its 95 % interval; `low` and `high` include what `placement` may do."""

    median: float
    low: float
    high: float
    pairs: int
    placement: float = 0.003

    @property
    def width(self) -> float:
        """Width of the bootstrap interval, over the median; without the share of placement."""
        return (self.high / (1 + self.placement) - self.low / (1 - self.placement)) / self.median

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


def ratio_of(slower: Sequence[float], faster: Sequence[float], seed: int = 0) -> Ratio:
    """How many times `faster` is faster: window by window, in milliseconds a call. Both must have as many entries, all
    > 0. Raises ValueError otherwise."""
    if len(slower) != len(faster) or not slower:
        raise ValueError("paired windows must be as many, and at least one")
    if not all(math.isfinite(ms) and ms > 0 for ms in (*slower, *faster)):
        raise ValueError("a time is not a positive number")
    ratios = [a / b for a, b in zip(slower, faster, strict=True)]
    low, high = bootstrap_interval(ratios, seed)
    placement = placement_of(min(median(slower), median(faster)))
    return Ratio(median(ratios), low * (1 - placement), high * (1 + placement), len(ratios), placement)


def bootstrap_interval(values: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the median of `values`; a seed gives one result."""
    import numpy

    draws = numpy.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    medians = numpy.median(numpy.asarray(values, dtype=float)[draws], axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = numpy.quantile(medians, (tail, 1 - tail), method="inverted_cdf")
    return float(low), float(high)


def median(values: Iterable[float]) -> float:
    """The middle value, or the mean of the two."""
    import statistics

    return float(statistics.median(values))


def placement_of(ms: float) -> float:
    """The share by which two processes may differ that run the same calls of `ms` milliseconds."""
    return next(share for least, share in PLACEMENTS if ms >= least)


def target_width(ms: float) -> float:
    """How narrow, relative to the median, the interval of a call of `ms` milliseconds should become."""
    return 0.01 if ms >= 0.05 else 0.03 if ms >= 0.02 else 0.10


def enough(ratio: Ratio, ms: float, spent_s: float, cap_s: float) -> bool:
    """Whether to stop: narrow enough after `PAIRS_MIN` pairs; or no time left, after five pairs at the least.

    Fewer give no 95 % (the extremes of five hold the median with 94 %); only very long calls end with three.
    """
    if ratio.pairs >= PAIRS_MAX:
        return True
    if spent_s >= cap_s:
        return ratio.pairs >= 5 or (ratio.pairs >= 3 and spent_s >= 3 * cap_s)
    return ratio.pairs >= PAIRS_MIN and ratio.width <= target_width(ms)


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Of positive numbers; None when there is none, or when one is missing."""
    logs = [None if value is None or not value > 0 else math.log(value) for value in values]
    known = [log for log in logs if log is not None]
    return math.exp(sum(known) / len(known)) if known and len(known) == len(logs) else None
