"""The account of a run folder: its logs' events turned into the tracker's records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.log import Event
from agents.protocol import Usage
from agents.runfolder import Run, candidates_of
from agents.tracker import Account, account


@dataclass(frozen=True)
class LoggedReply:
    """What one recorded reply cost, and the round, counted from 1, that asked for it."""

    round: int
    usage: Usage


def account_of(run: Run) -> Account:
    """The account of a run, finished or not. Raises UserError for a damaged log."""
    events = {task: run.events(task) for task in run.tasks}
    return account(
        run.tasks,
        {task: candidates_of(task, its) for task, its in events.items()},
        {task: replies_of(its) for task, its in events.items()},
    )


def replies_of(events: Sequence[Event]) -> list[LoggedReply]:
    """The replies in a task's events, oldest first; a reply belongs to the round in which it was asked for."""
    asked_in = {(e["key"], e["n"]): e["round"] for e in events if e["type"] == "request"}
    return [
        LoggedReply(asked_in[event["key"], event["n"]], Usage(**event["usage"]))
        for event in events
        if event["type"] == "reply"
    ]
