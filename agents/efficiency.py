"""Means of the measured figure over a group of kernels, with how many there were and how sure one can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 2000


@dataclass(frozen=True)
class Mean:
    """The mean of `n` ratios. `low` and `high` bound the geometric mean: the central 95 % of its bootstrap
    distribution (Efron and Tibshirani, An Introduction to the Bootstrap, section 13.3), None for fewer than two."""

    n: int
    geometric: float
    arithmetic: float
    low: float | None
    high: float | None


def mean_of(ratios: Sequence[float], seed: int = 0) -> Mean | None:
    """The mean of positive, dimensionless ratios (speedups, or traffic over the minimum); None for none of them.

    The same ratios and `seed` always give the same interval. Raises ValueError for a ratio that is not positive.
    """
    if not ratios:
        return None
    if min(ratios) <= 0:
        raise ValueError(f"a ratio must be positive, got {min(ratios)}")
    logs = [math.log(ratio) for ratio in ratios]
    low, high = _interval(logs, seed) if len(logs) > 1 else (None, None)
    return Mean(len(logs), math.exp(math.fsum(logs) / len(logs)), math.fsum(ratios) / len(ratios), low, high)


def _interval(logs: Sequence[float], seed: int) -> tuple[float, float]:
    import numpy as np

    picks = np.random.default_rng(seed).integers(0, len(logs), size=(RESAMPLES, len(logs)))
    low, high = np.exp(np.quantile(np.asarray(logs)[picks].mean(axis=1), (0.025, 0.975)))
    return float(low), float(high)
