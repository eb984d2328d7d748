"""The account of a run: what every round did to every task. Derived from the log's records, without any I/O.

Two views of each round. *Own*: the candidates that the round itself submitted, represented by the best of them.
*Best so far*: the best of all rounds up to this one. The denominator of every rate is the task list.

A task that submits nothing in a round (its method is done, a budget ended, the machine broke) stands where it
stood: its last submission counts again, so ending early after success is no regression and ending early after
failure is no excuse. `submitted` tells how many tasks did submit. A task that never submitted is failing.
An evaluation that the machine broke (`infra_error`) is no submission: it is counted apart, against nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Protocol, TypeVar

from agents.efficiency import Mean, mean_of
from agents.protocol import Usage
from agents.ranking import rank
from evaluator.records import Evaluation
from tasks.outcomes import Reason, Status

N = TypeVar("N", int, float)


class State(StrEnum):
    """A task in a round against the round before; the first round knows only `CORRECT` and `FAILING`."""

    CORRECT = "correct"
    RESCUED = "rescued"
    PERSISTENT = "persistent"
    REGRESSED = "regressed"
    FAILING = "failing"

    @classmethod
    def of(cls, before: bool | None, now: bool) -> State:
        """The state of a task that was correct or not `before` (None: there was no round before)."""
        if before is None:
            return cls.CORRECT if now else cls.FAILING
        return {
            (False, True): cls.RESCUED,
            (True, True): cls.PERSISTENT,
            (True, False): cls.REGRESSED,
            (False, False): cls.FAILING,
        }[before, now]


SOLVED = (State.CORRECT, State.RESCUED, State.PERSISTENT)


class Judged(Protocol):
    """A candidate: the round that submitted it, counted from 1, and its verdict."""

    @property
    def round(self) -> int: ...
    @property
    def evaluation(self) -> Evaluation: ...


class Answered(Protocol):
    """A reply: the round that asked for it, counted from 1, and what it cost."""

    @property
    def round(self) -> int: ...
    @property
    def usage(self) -> Usage: ...


@dataclass(frozen=True)
class Spending:
    """What `replies` model answers cost; None as soon as one of them is unknown."""

    replies: int
    input_tokens: int | None
    output_tokens: int | None
    usd: float | None


@dataclass(frozen=True)
class Group:
    """The tasks of one state. The means are over its correct kernels that were measured, so None for the others."""

    state: State
    tasks: int
    speedup: Mean | None
    traffic: Mean | None


@dataclass(frozen=True)
class View:
    """One way to look at a round. Rates are shares of the task list, `states` is by task, `groups` has every state.

    `compiling` are the tasks that compile, `newly_compiling` those of them that did not in the round before (None in
    the first). `slower_than_eager` is the share of correct, timed kernels with a speedup below 1; None when none was
    timed.
    """

    compile_rate: float
    call_rate: float
    correct_rate: float
    compiling: frozenset[str]
    newly_compiling: int | None
    states: Mapping[str, State]
    groups: Mapping[State, Group]
    slower_than_eager: float | None


@dataclass(frozen=True)
class RoundAccount:
    """One round, counted from 1. `not_interpretable` and `infra` count this round's evaluations of either kind."""

    number: int
    submitted: int
    own: View
    best: View
    not_interpretable: int
    infra: int
    spending: Spending


@dataclass(frozen=True)
class TaskAccount:
    """One task at the end. `state` sets the best so far against the first round, `trail` has the own view's state
    in each round; `status` and `reason` are the best candidate's, `speedup` and `traffic` too if it is correct."""

    task: str
    state: State
    status: Status | None
    reason: Reason | None
    solved_in_round: int | None
    speedup: float | None
    traffic: float | None
    submissions: int
    trail: tuple[State, ...]


@dataclass(frozen=True)
class Account:
    """The whole run."""

    rounds: tuple[RoundAccount, ...]
    tasks: tuple[TaskAccount, ...]
    spending: Spending


def account(
    tasks: Sequence[str],
    candidates: Mapping[str, Sequence[Judged]],
    replies: Mapping[str, Sequence[Answered]] | None = None,
) -> Account:
    """The account of a run over `tasks`, from each task's candidates and replies in the order of the log.

    Raises ValueError for an empty or repeating task list, or records of a task that isn't on it.
    """
    answered = replies or {}
    stray = sorted((set(candidates) | set(answered)) - set(tasks))
    if not tasks or len(set(tasks)) != len(tasks) or stray:
        raise ValueError(
            f"the task list must name every recorded task once: {list(tasks)}, recorded beside it: {stray}"
        )
    usable = {
        task: [c for c in candidates.get(task, ()) if c.evaluation.status is not Status.INFRA_ERROR] for task in tasks
    }
    everything: list[Judged | Answered] = [c for task in tasks for c in candidates.get(task, ())]
    everything += [r for task in tasks for r in answered.get(task, ())]
    rounds: list[RoundAccount] = []
    for number in range(1, max((record.round for record in everything), default=0) + 1):
        before = rounds[-1] if rounds else None
        rounds.append(_round(number, usable, candidates, answered, before))
    ends = tuple(_task(task, usable[task], rounds) for task in tasks)
    return Account(tuple(rounds), ends, _spending(r for task in tasks for r in answered.get(task, ())))


def _round(
    number: int,
    usable: Mapping[str, Sequence[Judged]],
    candidates: Mapping[str, Sequence[Judged]],
    replies: Mapping[str, Sequence[Answered]],
    before: RoundAccount | None,
) -> RoundAccount:
    so_far = {task: [c for c in judged if c.round <= number] for task, judged in usable.items()}
    latest = {task: max((c.round for c in judged), default=0) for task, judged in so_far.items()}
    standing = {task: [c for c in judged if c.round == latest[task]] for task, judged in so_far.items()}
    new = [c.evaluation for judged in candidates.values() for c in judged if c.round == number]
    return RoundAccount(
        number=number,
        submitted=sum(any(c.round == number for c in judged) for judged in usable.values()),
        own=_view(standing, before.own if before else None),
        best=_view(so_far, before.best if before else None),
        not_interpretable=sum(e.reason is Reason.NOT_INTERPRETABLE for e in new),
        infra=sum(e.status is Status.INFRA_ERROR for e in new),
        spending=_spending(r for each in replies.values() for r in each if r.round == number),
    )


def _view(judged: Mapping[str, Sequence[Judged]], before: View | None) -> View:
    evaluations = {task: [c.evaluation for c in each] for task, each in judged.items()}
    solved = {task: max(each, key=rank) for task, each in evaluations.items() if any(e.correct for e in each)}
    states = {task: State.of(before.states[task] in SOLVED if before else None, task in solved) for task in evaluations}
    timed = [best.speedup for best in solved.values() if best.speedup is not None]
    compiling = frozenset(task for task, each in evaluations.items() if any(e.compiled for e in each))
    return View(
        compile_rate=len(compiling) / len(evaluations),
        call_rate=sum(any(e.called for e in each) for each in evaluations.values()) / len(evaluations),
        correct_rate=len(solved) / len(evaluations),
        compiling=compiling,
        newly_compiling=len(compiling - before.compiling) if before else None,
        states=states,
        groups={state: _group(state, states, solved) for state in State},
        slower_than_eager=sum(speedup < 1 for speedup in timed) / len(timed) if timed else None,
    )


def _group(state: State, states: Mapping[str, State], solved: Mapping[str, Evaluation]) -> Group:
    members = [task for task, its in states.items() if its is state]
    kernels = [solved[task] for task in members if task in solved]
    return Group(
        state,
        len(members),
        _mean(tuple(kernel.speedup for kernel in kernels if kernel.speedup is not None)),
        _mean(tuple(kernel.traffic for kernel in kernels if kernel.traffic is not None)),
    )


@lru_cache
def _mean(ratios: tuple[float, ...]) -> Mean | None:
    """Kept, since many rounds change nothing, and each interval is drawn anew."""
    return mean_of(ratios)


def _task(task: str, judged: Sequence[Judged], rounds: Sequence[RoundAccount]) -> TaskAccount:
    solved = [each.best.states[task] in SOLVED for each in rounds]
    best = max((c.evaluation for c in judged), key=rank, default=None)
    state = State.of(solved[0] if len(rounds) > 1 else None, bool(solved and solved[-1]))
    return TaskAccount(
        task=task,
        state=state,
        status=best.status if best else None,
        reason=best.reason if best else None,
        solved_in_round=solved.index(True) + 1 if any(solved) else None,
        speedup=best.speedup if best and best.correct else None,
        traffic=best.traffic if best and best.correct else None,
        submissions=len(judged),
        trail=tuple(each.own.states[task] for each in rounds),
    )


def _spending(replies: Iterable[Answered]) -> Spending:
    usages = [reply.usage for reply in replies]
    return Spending(
        len(usages),
        _total([usage.input_tokens for usage in usages]),
        _total([usage.output_tokens for usage in usages]),
        _total([usage.usd for usage in usages]),
    )


def _total(amounts: Sequence[N | None]) -> N | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known, start=0) if len(known) == len(amounts) else None
