"""Replay: the method once more over its own log, with nothing asked of a model or an evaluator."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from agents.context import Halt, TemplatesLike
from agents.journal import Divergence, Journal, Write, describe
from agents.log import Event, sha_of
from agents.loop import Parts, TaskEnd, drive, make_context
from agents.protocol import Method, Reply, Request
from agents.runfolder import Run, state_of
from agents.verdicts import verdict_of
from evaluator.records import Evaluation
from tasks.errors import UserError
from tasks.task import Task


@dataclass
class NoAnswers:
    """Stands where the model and the evaluator stand in a run; a journal that is not live never gets to it."""

    name: str
    simulated: bool = False

    def complete(self, request: Request) -> Reply:
        raise Halt("error", "a replay asks no model")

    def evaluate(self, task: Task, source: str) -> Evaluation:
        raise Halt("error", "a replay judges nothing")


class CutJournal(Journal):
    """A journal that ends the task, as `stopped`, where the method enters the round after `until`; None never does."""

    def __init__(self, task: str, events: Sequence[Event], until: int | None, write: Write | None = None) -> None:
        super().__init__(task, events, write)
        self._until = until

    def record(self, event: Event, texts: Iterable[str] = (), *, durable: bool = False) -> None:
        if _begins_after(event, self._until):
            raise Halt("stopped", f"cut after round {self._until}")
        super().record(event, texts, durable=durable)


@dataclass(frozen=True)
class Replayed:
    """What a replay of one task found. No divergence: every recorded event was reproduced and no other came.

    `events` counts those reproduced; `complete` is False where the log ends before the task is done, or before the
    round that the replay is cut after: it is compared up to its end.
    """

    task: str
    events: int
    complete: bool
    divergences: tuple[Divergence, ...]


def replay_run(run: Run, until: int | None = None) -> list[Replayed]:
    """Every begun task of a run, replayed with the run's own method, options and templates. Imports torch.

    `until` cuts log and method after that round. Raises UserError when no task is begun, when the method, a task or a
    template folder is gone, or a log is damaged.
    """
    from agents.registry import load_method
    from agents.templates import load_templates

    method = load_method(run.config.method, run.config.method_options)
    templates = load_templates(run.config.prompts)
    return [replay_task(run, task, method, templates, until) for task in begun(run)]


def begun(run: Run) -> list[Task]:
    """The tasks of a run whose log holds an event.

    Raises UserError when there is none, when the file of one is gone, or when a log is damaged; in a run that is done,
    so is a log that is missing or breaks off.
    """
    from tasks.catalog import load

    tasks = [task for task in map(load, run.config.tasks) if _whole(run, task.id)]
    if not tasks:
        raise UserError(f"{run.path} has no begun task to replay")
    return tasks


def _whole(run: Run, task: str) -> list[Event]:
    events, path = run.events(task), run.log_path(task)
    if run.record["state"] == "done" and state_of(events) != "done":
        raise UserError(f"{path} {'breaks off' if events else 'is gone'}, but the run is done: its log has lost events")
    for number, event in enumerate(events, start=1):
        if event["type"] == "text" and sha_of(event["text"]) != event["sha"]:
            raise UserError(f"{path}, line {number}: the text is not the one that its hash names; the log is damaged")
        if event["type"] == "evaluation":
            verdict_of(task, event)
    return events


def replay_task(run: Run, task: Task, method: Method, templates: TemplatesLike, until: int | None = None) -> Replayed:
    """One task's log against what `method` does now, event for event but for times.

    Raises UserError for a damaged log.
    """
    recorded = run.events(task.id)
    events = list(takewhile(lambda event: not _begins_after(event, until), recorded))
    journal = CutJournal(task.id, events, until)
    stand_in = NoAnswers(run.config.model)
    context = make_context(run, task, Parts(method, stand_in, stand_in, templates), journal, threading.Event())
    end = drive(task, method, run, journal, context)
    complete = len(events) < len(recorded) or state_of(recorded) == "done"
    found = journal.never_reproduced() if end.divergence is None else _left_over(end.divergence, journal, complete)
    return Replayed(task.id, journal.reproduced, complete, (*found, *_ends_apart(events[-1], end)))


def _begins_after(event: Event, until: int | None) -> bool:
    return until is not None and event["type"] == "round" and event["number"] > until


def _left_over(divergence: Divergence, journal: Journal, complete: bool) -> list[Divergence]:
    """A log that breaks off is no divergence: what counts is whether it was reproduced as far as it goes."""
    left = journal.never_reproduced()
    return left if journal.ran_past_the_end and not complete else [divergence, *(d for d in left if d != divergence)]


def _ends_apart(last: Event, end: TaskEnd) -> list[Divergence]:
    """The difference between the recorded end of a task and that of its replay, where both come to one."""
    failed = end.state == "error" and end.divergence is None
    recorded = last if last["type"] == "task_end" else None
    if recorded and recorded["state"] == "error":
        same = end.divergence is not None or (failed and end.reason == recorded["reason"])
    else:
        same = not failed
    if same:
        return []
    return [Divergence(end.task, describe(recorded) if recorded else None, f"the end {end.state}: {end.reason}")]
