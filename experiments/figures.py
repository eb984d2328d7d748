"""The figures of a set of tasks of one run: rates, changes, efficiency, error classes and cost, each with its n."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from statistics import NormalDist, median
from typing import Literal, TypeVar

from agents.efficiency import mean_of
from agents.ranking import best, rank
from agents.tracker import SOLVED, State
from evaluator.records import Evaluation
from experiments.cells import Cell

THRESHOLDS = (0.5, 0.8, 1.0, 1.5, 2.0)
SHOWN = (*SOLVED, State.REGRESSED)
View = Literal["own", "best"]
VIEWS: tuple[View, ...] = ("own", "best")
NOTHING = "no verdict"
N = TypeVar("N", int, float)


@dataclass(frozen=True)
class Share:
    """`count` of `n`, which is `value`; `low` and `high` are the 95 % Wilson score interval."""

    count: int
    n: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Ratios:
    """Means of `n` ratios; `low` and `high` bound the geometric one as in `agents.efficiency`, None for n = 1."""

    n: int
    geometric: float
    arithmetic: float
    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Cost:
    """What the replies took, and that over the number of tasks with a correct kernel.

    None is unknown: one reply does not tell, or there is none, as in an import. Per correct: None also where nothing
    is correct. Failed attempts are in no log, so they are not in here.
    """

    replies: int
    input_tokens: int | None
    output_tokens: int | None
    usd: float | None
    tokens_per_correct: float | None
    usd_per_correct: float | None


@dataclass(frozen=True)
class Figures:
    """`tasks` is the denominator of the rates, which are over all rounds; `judged` of them have a verdict.

    `values_right` are tasks whose values are right, also where only the contract refuses the kernel. `changes` sets the
    last round's own candidates against the first's, by task; None with one round. `speedup`, `traffic` and
    `slower_than_eager` (n: those timed) are of each task's best kernel, if it is correct. `fast` maps p to fast_p
    (Ouyang et al., KernelBench, 2025): the share of all tasks whose best kernel is correct and more than p times as
    fast as eager, a kernel without a time counting as no faster; None where the run timed nothing, or none of the
    correct ones here. `best_outcomes` counts tasks by status and reason of their best candidate, `outcomes` all
    `candidates`.
    """

    tasks: int
    judged: int
    candidates: int
    compiled: Share
    called: Share
    values_right: Share
    correct: Share
    changes: Mapping[State, int] | None
    speedup: Ratios | None
    traffic: Ratios | None
    slower_than_eager: Share | None
    fast: Mapping[float, Share] | None
    best_outcomes: Mapping[str, int]
    outcomes: Mapping[str, int]
    cost: Cost


@dataclass(frozen=True)
class Group:
    """The tasks of one state in one round, with the figures of their kernels that were measured; `view` as in
    `agents.tracker`. Of `regressed` ones the figures are those of the kernels that they had in the round before."""

    round: int
    view: View
    state: State
    tasks: int
    speedup: Ratios | None
    traffic: Ratios | None


def share_of(count: int, n: int) -> Share:
    """A share with its interval (Wilson, Probable Inference, the Law of Succession, and Statistical Inference, 1927).

    Raises ValueError unless 0 <= count <= n and n > 0.
    """
    if n < 1 or not 0 <= count <= n:
        raise ValueError(f"{count} of {n} is no share")
    z = NormalDist().inv_cdf(0.975)
    centre = (count + z * z / 2) / (n + z * z)
    half = z * sqrt(count * (n - count) / n + z * z / 4) / (n + z * z)
    # the ends are exact where the formula only rounds to them
    return Share(count, n, count / n, centre - half if count else 0.0, centre + half if count < n else 1.0)


@lru_cache(maxsize=4096)
def ratios_of(ratios: tuple[float, ...]) -> Ratios | None:
    """Means of positive ratios; None for none. Kept, since many rounds change nothing. Raises ValueError as
    `mean_of`."""
    mean = mean_of(ratios)
    if mean is None:
        return None
    return Ratios(mean.n, mean.geometric, mean.arithmetic, median(ratios), mean.low, mean.high)


def figures_of(cell: Cell, tasks: Sequence[str]) -> Figures:
    """The figures of some of a cell's tasks. Raises ValueError for none, for one named twice and for one that is not
    the cell's."""
    if not tasks or len(set(tasks)) != len(tasks) or set(tasks) - set(cell.tasks):
        raise ValueError(f"not a selection of the run's tasks: {list(tasks)}")
    counted = {task: [one.evaluation for one in cell.counted(task)] for task in tasks}
    every = [one.evaluation for task in tasks for one in cell.verdicts[task]]
    kernels = [chosen.evaluation for task in tasks if (chosen := best(cell.verdicts[task]))]
    solved = [kernel for kernel in kernels if kernel.correct]
    timed = [kernel.speedup for kernel in solved if kernel.speedup is not None]
    return Figures(
        tasks=len(tasks),
        judged=len(kernels),
        candidates=len(every),
        compiled=share_of(sum(any(e.compiled for e in each) for each in counted.values()), len(tasks)),
        called=share_of(sum(any(e.called for e in each) for each in counted.values()), len(tasks)),
        values_right=share_of(
            sum(any(e.numerically_right or e.correct for e in its) for its in counted.values()), len(tasks)
        ),
        correct=share_of(len(solved), len(tasks)),
        changes=_changes(cell, tasks),
        speedup=ratios_of(tuple(timed)),
        traffic=ratios_of(tuple(kernel.traffic for kernel in solved if kernel.traffic is not None)),
        slower_than_eager=share_of(sum(speedup < 1 for speedup in timed), len(timed)) if timed else None,
        fast=_fast(timed, len(tasks)) if timed or (not solved and _timed(cell)) else None,
        best_outcomes=_counts([*(kernel.outcome for kernel in kernels), *[NOTHING] * (len(tasks) - len(kernels))]),
        outcomes=_counts([evaluation.outcome for evaluation in every]),
        cost=_cost(cell, tasks, len(solved)),
    )


def categories_of(tasks: Sequence[str]) -> dict[str, list[str]]:
    """The tasks by category, which a task's id begins with; in alphabetical order."""
    found: dict[str, list[str]] = {}
    for task in sorted(tasks):
        found.setdefault(task.rpartition("/")[0] or "(none)", []).append(task)
    return found


def groups_of(cell: Cell, tasks: Sequence[str]) -> tuple[Group, ...]:
    """By round and view: the tasks that are correct (in the first round), rescued, persistent and regressed.

    A state that no task is in has no group.
    """
    return tuple(
        group
        for number in range(1, len(cell.account.rounds) + 1)
        for view in VIEWS
        for group in _groups(cell, tasks, number, view)
    )


def kernels_of(cell: Cell, tasks: Sequence[str], number: int, view: View) -> dict[str, Evaluation]:
    """The correct kernel that each task stands with in a round, counted from 1; one without stands with none.

    `own`: the best of the task's last submissions up to that round; `best`: the best of all up to it.
    """
    found = {}
    for task in tasks:
        so_far = [one for one in cell.counted(task) if one.round <= number]
        last = max((one.round for one in so_far), default=0)
        standing = [one.evaluation for one in so_far if view == "best" or one.round == last]
        top = max(standing, key=rank, default=None)
        if top and top.correct:
            found[task] = top
    return found


def states_of(cell: Cell, number: int, view: View) -> Mapping[str, State]:
    """Every task's state in a round, counted from 1."""
    row = cell.account.rounds[number - 1]
    return row.own.states if view == "own" else row.best.states


def _groups(cell: Cell, tasks: Sequence[str], number: int, view: View) -> Iterator[Group]:
    now, before = (kernels_of(cell, tasks, at, view) for at in (number, number - 1))
    states = states_of(cell, number, view)
    for state in SHOWN:
        members = [task for task in tasks if states[task] is state]
        kernels = [(before if state is State.REGRESSED else now)[task] for task in members]
        if members:
            speedups = tuple(kernel.speedup for kernel in kernels if kernel.speedup is not None)
            traffics = tuple(kernel.traffic for kernel in kernels if kernel.traffic is not None)
            yield Group(number, view, state, len(members), ratios_of(speedups), ratios_of(traffics))


def _fast(speedups: Sequence[float], tasks: int) -> dict[float, Share]:
    return {p: share_of(sum(speedup > p for speedup in speedups), tasks) for p in THRESHOLDS}


def _timed(cell: Cell) -> bool:
    return any(one.evaluation.speedup is not None for each in cell.verdicts.values() for one in each)


def _changes(cell: Cell, tasks: Sequence[str]) -> dict[State, int] | None:
    rounds = len(cell.account.rounds)
    if rounds < 2:
        return None
    first, last = (states_of(cell, number, "own") for number in (1, rounds))
    states = [State.of(first[task] in SOLVED, last[task] in SOLVED) for task in tasks]
    return {state: states.count(state) for state in State if state is not State.CORRECT}


def _cost(cell: Cell, tasks: Sequence[str], correct: int) -> Cost:
    usages = [reply.usage for task in tasks for reply in cell.replies.get(task, ())]
    read, written = (_total([u.input_tokens for u in usages]), _total([u.output_tokens for u in usages]))
    usd = _total([usage.usd for usage in usages])
    tokens = None if read is None or written is None else read + written
    per = [amount / correct if correct and amount is not None else None for amount in (tokens, usd)]
    return Cost(len(usages), read, written, usd, *per)


def _total(amounts: Sequence[N | None]) -> N | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known, start=0) if known and len(known) == len(amounts) else None


def _counts(outcomes: Sequence[str]) -> dict[str, int]:
    """The commonest first, of equal ones by name."""
    return dict(sorted(Counter(outcomes).items(), key=lambda item: (-item[1], item[0])))
