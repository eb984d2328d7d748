"""pass@k: the chance that at least one of k independent candidates for a task is correct."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import comb

from agents.log import Event
from agents.runfolder import imported_of
from experiments.cells import Cell
from tasks.outcomes import Status

KS = (1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100)
RESAMPLES = 2000


@dataclass(frozen=True)
class PassAtK:
    """The mean over the `tasks` that have `k` independent candidates or more, of a list of `listed` tasks.

    They have `fewest` to `most` candidates each. `low` and `high`: 95 % bootstrap by task; None where the tasks are
    fewer than two or all alike, as no resampling tells anything then.
    """

    k: int
    value: float
    low: float | None
    high: float | None
    tasks: int
    listed: int
    fewest: int
    most: int


def first_tries(cell: Cell) -> dict[str, tuple[bool, ...]]:
    """For each task, whether each of its independent candidates was correct: those of the first round without parents.

    Those that the machine broke are left out. They are independent, but of one distribution only where the method
    asks all of them in the same words: `best_of_n` does, lanes that begin in different ways don't. Raises UserError for
    a damaged log.
    """
    tries = _recorded_tries if cell.recorded else _own_tries
    return {task: tries(task, cell.run.events(task)) for task in cell.tasks}


def unbiased(n: int, correct: int, k: int) -> float:
    """The chance that `k` candidates, drawn from `n` of which some are `correct`, hold a correct one:
    1 - C(n - correct, k) / C(n, k) (Chen et al., Evaluating Large Language Models Trained on Code, 2021, equation 1).

    Raises ValueError unless 1 <= k <= n and 0 <= correct <= n.
    """
    if not 1 <= k <= n or not 0 <= correct <= n:
        raise ValueError(f"no pass@{k} with {correct} correct of {n}")
    return 1 - comb(n - correct, k) / comb(n, k)


def pass_at_k(tries: Mapping[str, Sequence[bool]], ks: Collection[int] = KS) -> tuple[PassAtK, ...]:
    """The figure for each of `ks` that a task has enough candidates for, from what `first_tries` gives.

    The tasks that have enough may be fewer for a larger k; compare figures of equal `tasks` only.
    """
    return tuple(found for k in sorted(ks) if (found := _one(tries, k)))


def _one(tries: Mapping[str, Sequence[bool]], k: int) -> PassAtK | None:
    enough = [each for each in tries.values() if len(each) >= k]
    if not enough:
        return None
    values = [unbiased(len(each), sum(each), k) for each in enough]
    low, high = _interval(values)
    sizes = [len(each) for each in enough]
    return PassAtK(k, sum(values) / len(values), low, high, len(values), len(tries), min(sizes), max(sizes))


def _interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The percentile bootstrap of the mean (Efron and Tibshirani, An Introduction to the Bootstrap, section 13.3)."""
    if len(set(values)) < 2:
        return None, None
    import numpy as np

    picks = np.random.default_rng(0).integers(0, len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(np.asarray(values)[picks].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def _own_tries(task: str, events: list[Event]) -> tuple[bool, ...]:
    latest = {event["index"]: event for event in events if event["type"] == "evaluation"}
    first = [event for event in latest.values() if event["round"] == 1 and not event["parents"]]
    statuses = [event["evaluation"]["status"] for event in first]
    return tuple(status == Status.CORRECT for status in statuses if status != Status.INFRA_ERROR)


def _recorded_tries(task: str, events: list[Event]) -> tuple[bool, ...]:
    first = [one for one in imported_of(task, events) if one.round == 1 and not one.place["parents"]]
    return tuple(bool(one.recorded.correct) for one in first if one.recorded)
