"""The account of a run folder: its logs' events turned into the tracker's records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.log import Event
from agents.protocol import Usage
from agents.runfolder import Run, imported_of, state_of
from agents.tracker import Account, account
from agents.verdicts import verdict_of
from evaluator.records import Evaluation
from tasks.errors import UserError


@dataclass(frozen=True)
class LoggedReply:
    """What one recorded reply cost, and the round, counted from 1, that asked for it."""

    round: int
    usage: Usage


@dataclass(frozen=True)
class LoggedVerdict:
    """A verdict and the round, counted from 1, that submitted its source."""

    round: int
    evaluation: Evaluation


def account_of(run: Run, *, recorded: bool = False) -> Account:
    """The account of a run, finished or not; with `recorded`, by the verdicts that an imported run's origin gave.

    The task list is the run's; of an imported run by this project's verdicts, its tasks that were built when it was
    scored. Logs are read one at a time, and their texts let go. Raises UserError for a damaged log, and for an
    imported run that was not scored.
    """
    return account_and_states(run, recorded=recorded)[0]


def account_and_states(run: Run, *, recorded: bool = False) -> tuple[Account, dict[str, str]]:
    """The same, and each task's state as `Run.state` names it, in one reading of the logs."""
    verdicts: dict[str, list[LoggedVerdict]] = {}
    replies: dict[str, list[LoggedReply]] = {}
    states: dict[str, str] = {}
    tasks = run.tasks if recorded or not run.imported else _scored(run)
    for task in tasks:
        events = run.events(task)
        states[task] = state_of(events)
        verdicts[task] = recorded_verdicts(task, events) if recorded else own_verdicts(task, events)
        replies[task] = replies_of(events)
    return account(tasks, verdicts, replies), states


def _scored(run: Run) -> tuple[str, ...]:
    tasks = tuple(run.record.get("scored", {}).get("tasks", ()))
    if not tasks:
        raise UserError(f"no source of {run.path} was judged here; do so with: python -m experiments score {run.path}")
    return tasks


def own_verdicts(task: str, events: list[Event]) -> list[LoggedVerdict]:
    """This project's verdicts in a task's events, by index of the candidate. An account reads no builds and no cases:
    they are left out, which are nearly all of the work."""
    latest = {event["index"]: event for event in events if event["type"] == "evaluation"}
    return [LoggedVerdict(latest[i]["round"], verdict_of(task, _without_rows(latest[i]))) for i in sorted(latest)]


def _without_rows(event: Event) -> Event:
    return {**event, "evaluation": {**event["evaluation"], "builds": (), "cases": ()}}


def recorded_verdicts(task: str, events: list[Event]) -> list[LoggedVerdict]:
    """What the origin of imported sources said of them, as evaluations, by index."""
    return [
        LoggedVerdict(one.round, one.recorded.evaluation(task, one.place["source"]))
        for one in imported_of(task, events)
        if one.recorded
    ]


def replies_of(events: Sequence[Event]) -> list[LoggedReply]:
    """The replies in a task's events, oldest first; a reply belongs to the round in which it was asked for."""
    asked_in = {(e["key"], e["n"]): e["round"] for e in events if e["type"] == "request"}
    return [
        LoggedReply(asked_in[event["key"], event["n"]], Usage(**event["usage"]))
        for event in events
        if event["type"] == "reply"
    ]
