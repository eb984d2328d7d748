"""Rescued against persistent kernels, and what a changed mean is made of.

A mean over correct kernels changes from round to round for three reasons: kernels change, tasks come in, tasks drop
out. With logarithms x of the figure before and y after, over B the tasks correct before, A those after, S = A and B,
E = A without S (rescued) and L = B without S (regressed):

    mean y over A - mean x over B = within + entry + exit
    within = mean y over S - mean x over S
    entry  = |E| / |A| * (mean y over E - mean y over S)
    exit   = |L| / |B| * (mean x over S - mean x over L)

which holds exactly: the decomposition of Melitz and Polanec (Dynamic Olley-Pakes productivity decomposition with entry
and exit, RAND Journal of Economics 46, 2015, equation 5) with equal weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, exp, fsum, log
from typing import Literal

from agents.tracker import SOLVED
from experiments.cells import Cell
from experiments.figures import View, kernels_of, states_of

PERMUTATIONS = 10_000
Figure = Literal["speedup", "traffic"]
FIGURES: tuple[Figure, ...] = ("speedup", "traffic")


@dataclass(frozen=True)
class Contrast:
    """`rescued` and `persistent` are how many kernels of each were measured, `ratio` the geometric mean of the former
    over that of the latter. `p` is two-sided, from `permutations` groupings: all of them if `exact`."""

    rescued: int
    persistent: int
    ratio: float
    p: float
    permutations: int
    exact: bool


@dataclass(frozen=True)
class Composition:
    """The change of the mean logarithm, `total` = `within` + `entry` + `exit`.

    `before` and `after` kernels were measured, of tasks that are `both`, `entered` or `left`. The three terms are None
    where no task is in both: nothing tells them apart then.
    """

    before: int
    after: int
    both: int
    entered: int
    left: int
    total: float
    within: float | None
    entry: float | None
    exit: float | None


@dataclass(frozen=True)
class Step:
    """From round `start` to round `end`, in one view and one figure. `unmeasured` tasks, correct in both, lack the
    figure in one of them or in both: they are in neither part."""

    view: View
    start: int
    end: int
    figure: Figure
    unmeasured: int
    contrast: Contrast | None
    composition: Composition | None


def steps_of(cell: Cell, tasks: Sequence[str]) -> tuple[Step, ...]:
    """Each round's own candidates against those of the round before, then the best of the run against the first
    round; for each figure that anything was measured in. No p is corrected for there being several."""
    rounds = len(cell.account.rounds)
    pairs: list[tuple[View, int, int]] = [("own", number, number + 1) for number in range(1, rounds)]
    if rounds > 1:
        pairs.append(("best", 1, rounds))
    steps = [_step(cell, tasks, *pair, figure) for figure in FIGURES for pair in pairs]
    return tuple(step for step in steps if step.contrast or step.composition)


def contrast_of(rescued: Sequence[float], persistent: Sequence[float], seed: int = 0) -> Contrast | None:
    """A permutation test on the difference of the mean logarithms of positive ratios; None for an empty group.

    Exact with up to `PERMUTATIONS` groupings, else that many seeded ones with the observed one counted in (Phipson and
    Smyth, Permutation P-values Should Never Be Zero, 2010). Raises ValueError for a ratio that is not positive.
    """
    if min((*rescued, *persistent), default=1) <= 0:
        raise ValueError("a ratio must be positive")
    if not rescued or not persistent:
        return None
    import numpy as np

    logs = np.log(np.asarray([*rescued, *persistent], dtype=float))
    many, few = len(logs), len(rescued)
    exact = comb(many, few) <= PERMUTATIONS
    if exact:
        groupings = np.array(list(combinations(range(many), few)))
    else:
        groupings = np.random.default_rng(seed).random((PERMUTATIONS, many)).argsort(axis=1)[:, :few]
    sums = logs[groupings].sum(axis=1)
    differences = np.abs(sums / few - (logs.sum() - sums) / (many - few))
    observed = logs[:few].mean() - logs[few:].mean()
    # equal differences may differ in their last bits
    extreme = int((differences >= abs(observed) - 1e-12 * max(1.0, np.abs(logs).max())).sum())
    p = extreme / len(groupings) if exact else (extreme + 1) / (len(groupings) + 1)
    return Contrast(few, many - few, exp(observed), p, len(groupings), exact)


def composition_of(before: Mapping[str, float], after: Mapping[str, float]) -> Composition | None:
    """The parts of the change, from positive ratios by task; formula above. None where either is empty: there is no
    change of a mean then. Raises ValueError for a ratio that is not positive."""
    if min((*before.values(), *after.values()), default=1) <= 0:
        raise ValueError("a ratio must be positive")
    if not before or not after:
        return None
    both, entered, left = before.keys() & after.keys(), after.keys() - before.keys(), before.keys() - after.keys()
    counts = (len(before), len(after), len(both), len(entered), len(left))
    total = _mean(after.values()) - _mean(before.values())
    if not both:
        return Composition(*counts, total, None, None, None)
    stay_before, stay_after = (_mean([side[task] for task in sorted(both)]) for side in (before, after))
    came, went = [after[task] for task in sorted(entered)], [before[task] for task in sorted(left)]
    entry = len(came) / len(after) * (_mean(came) - stay_after) if came else 0.0
    exit_ = len(went) / len(before) * (stay_before - _mean(went)) if went else 0.0
    return Composition(*counts, total, stay_after - stay_before, entry, exit_)


def _step(cell: Cell, tasks: Sequence[str], view: View, start: int, end: int, figure: Figure) -> Step:
    solved = [{task for task in tasks if states_of(cell, at, view)[task] in SOLVED} for at in (start, end)]
    before, after = (
        {
            task: ratio
            for task, kernel in kernels_of(cell, tasks, at, view).items()
            if (ratio := getattr(kernel, figure))
        }
        for at in (start, end)
    )
    stayed = solved[0] & solved[1]
    # for want of a measurement no task that stayed becomes one that came or went
    unmeasured = {task for task in stayed if task not in before or task not in after}
    before, after = ({t: ratio for t, ratio in side.items() if t not in unmeasured} for side in (before, after))
    rescued = [ratio for task, ratio in after.items() if task not in solved[0]]
    persistent = [ratio for task, ratio in after.items() if task in stayed]
    contrast = contrast_of(rescued, persistent)
    return Step(view, start, end, figure, len(unmeasured), contrast, composition_of(before, after))


def _mean(ratios: Iterable[float]) -> float:
    logs = [log(ratio) for ratio in ratios]
    return fsum(logs) / len(logs)
