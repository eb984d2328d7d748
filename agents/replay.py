"""Replay: the method once more over its own log, with nothing asked of a model or an evaluator."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from agents.context import Halt, TemplatesLike
from agents.journal import Divergence, Journal, describe
from agents.log import Event
from agents.loop import Parts, TaskEnd, drive, make_context
from agents.protocol import Method, Reply, Request
from agents.runfolder import Run, state_of
from evaluator.records import Evaluation
from tasks.task import Task


@dataclass
class Recorded:
    """Stands where the model and the evaluator stand in a run; a journal that is not live never gets to it."""

    name: str
    simulated: bool = False

    def complete(self, request: Request) -> Reply:
        raise Halt("error", "a replay asks no model")

    def evaluate(self, task: Task, source: str) -> Evaluation:
        raise Halt("error", "a replay judges nothing")


@dataclass(frozen=True)
class Replayed:
    """What a replay of one task found. No divergence: every recorded event was reproduced and no other came.

    `events` counts those reproduced; `complete` is False where the task is not done: its log is compared up to its end.
    """

    task: str
    events: int
    complete: bool
    divergences: tuple[Divergence, ...]


def replay_run(run: Run) -> list[Replayed]:
    """Every begun task of a run, replayed with the run's own method, options and templates. Imports torch.

    Raises UserError when the method, a task or a template folder is gone, or a log is damaged.
    """
    from agents.registry import load_method
    from agents.templates import load_templates
    from tasks.catalog import load

    method = load_method(run.config.method, run.config.method_options)
    templates = load_templates(run.config.prompts)
    return [
        replay_task(run, task, method, templates)
        for task in map(load, run.config.tasks)
        if run.log_path(task.id).exists()
    ]


def replay_task(run: Run, task: Task, method: Method, templates: TemplatesLike) -> Replayed:
    """One task's log against what `method` does now, event for event but for times.

    Raises UserError for a damaged log.
    """
    events = run.events(task.id)
    journal = Journal(task.id, events)
    recorded = Recorded(run.config.model)
    context = make_context(run, task, Parts(method, recorded, recorded, templates), journal, threading.Event())
    end = drive(task, method, run, journal, context)
    complete = state_of(events) == "done"
    found = journal.never_reproduced() if end.divergence is None else _left_over(end.divergence, journal, complete)
    return Replayed(task.id, journal.reproduced, complete, (*found, *_ends_apart(events[-1], end)))


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
