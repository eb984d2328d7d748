"""Verdicts in a log: an evaluation as the log's event has it, an origin's own verdict, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from agents.log import Event
from evaluator.records import Evaluation
from tasks.errors import UserError
from tasks.outcomes import Reason, Stage, Status

BESIDE = ("task", "source_sha")


@dataclass(frozen=True)
class Recorded:
    """What another evaluator said of a source that was imported; None is unknown.

    `compiled`: every kernel compiles. `called`: it returned from its calls. `correct`: its outputs were right.
    `speedup` is over the origin's own baseline, `runtime_ms` its time, `error` the text that went with it.
    """

    compiled: bool | None = None
    called: bool | None = None
    correct: bool | None = None
    speedup: float | None = None
    runtime_ms: float | None = None
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `Recorded(**...)` is the inverse."""
        return asdict(self)

    def evaluation(self, task: str, source_sha: str) -> Evaluation:
        """The same as an evaluation, so that one account serves both.

        An origin tells less: a source that did not return from its call is a `runtime_error`, unless it is known not
        to compile; one that did, and was not right, is `wrong`.
        """
        called = bool(self.called or self.correct)
        compiled = bool(self.compiled or called)
        status, stage, reason = (
            (Status.CORRECT, None, None)
            if self.correct
            else (Status.WRONG, Stage.COMPARE, Reason.MISMATCH)
            if called
            else (Status.COMPILE_ERROR, Stage.RUN, Reason.COMPILATION)
            if self.compiled is False
            else (Status.RUNTIME_ERROR, Stage.RUN, Reason.EXCEPTION)
        )
        return Evaluation(
            task,
            source_sha,
            status,
            stage,
            reason,
            self.error,
            device="recorded",
            compiled=compiled,
            called=called,
            numerically_right=self.correct,
            speedup=self.speedup if self.correct and self.speedup and 0 < self.speedup < inf else None,
        )


def logged_verdict(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as its event holds it: all but what the log and the event say themselves."""
    return {name: value for name, value in evaluation.to_json().items() if name not in BESIDE}


def verdict_of(task: str, event: Event) -> Evaluation:
    """The evaluation in an `evaluation` event of a task's log. Raises UserError when it is none."""
    try:
        said: Mapping[str, Any] = event["evaluation"]
        return Evaluation.from_json({**said, "task": task, "source_sha": event["source"]})
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"the log of {task} is damaged: evaluation {event.get('index')}: {error}") from error


def recorded_of(event: Event) -> Recorded | None:
    """What the origin said, in an `imported` event; None where it said nothing."""
    return Recorded(**event["recorded"]) if event["recorded"] else None
