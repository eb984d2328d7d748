"""Reading a run folder: `run.json`, the secret of its hidden cases, one log a task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agents.config import RunConfig
from agents.log import Event, read_task, texts_of
from agents.verdicts import Recorded, recorded_of, verdict_of
from evaluator.records import Evaluation
from tasks.errors import UserError

SCHEMA = 1
PLACE = ("index", "n", "round", "lane", "parents", "source")


@dataclass(frozen=True)
class LoggedCandidate:
    """One judged candidate as the log has it; `source` is "" when the reply held no code."""

    task: str
    index: int
    round: int
    lane: int
    parents: tuple[int, ...]
    source_sha: str
    evaluation: Evaluation
    source: str

    @property
    def correct(self) -> bool:
        return self.evaluation.correct


@dataclass(frozen=True)
class ImportedSource:
    """One source that came from elsewhere, as the log has it; `recorded` is what its origin said of it, if anything.

    `place` is what its evaluation's event will say besides the verdict.
    """

    task: str
    round: int
    source: str
    recorded: Recorded | None
    place: Mapping[str, Any]

    @property
    def index(self) -> int:
        return int(self.place["index"])


class Run:
    """Reads a run folder. Logs are read when they are asked for, so an unfinished run can be looked at too."""

    def __init__(self, path: Path, record: Mapping[str, Any]) -> None:
        self.path = path
        self.record = record
        self.config = RunConfig.from_json(record["config"])

    @property
    def tasks(self) -> tuple[str, ...]:
        """Ids of the run's task list, the denominator of every rate, in its order."""
        return tuple(self.record["tasks"])

    @property
    def rounds(self) -> int:
        """Rounds of every task: those asked for, or fewer where the method has fewer."""
        return int(self.record["rounds"])

    @property
    def simulated(self) -> bool:
        return bool(self.record["simulated"])

    @property
    def imported(self) -> bool:
        """Whether its sources came from elsewhere: there is no method to resume, and no reply."""
        return bool(self.record.get("origin"))

    @property
    def simulation_notice(self) -> str | None:
        """The sentence that goes wherever figures of a simulated run are shown; None for a real model."""
        return self.record.get("notice")

    @cached_property
    def secret(self) -> bytes:
        """The key of the hidden cases' seeds. Raises UserError when its file is gone."""
        try:
            return bytes.fromhex((self.path / "secret").read_text().strip())
        except (OSError, ValueError) as error:
            raise UserError(f"{self.path / 'secret'} can't be read: no way to draw the hidden cases again") from error

    def log_path(self, task: str) -> Path:
        return self.path / f"{task}.jsonl"

    def events(self, task: str) -> list[Event]:
        """A task's events, oldest first; [] before it has started. Raises UserError for a damaged log, also for one
        that has lost a text."""
        events = read_task(self.log_path(task))
        _check_texts(self.log_path(task), events)
        return events

    def state(self, task: str) -> str:
        """done, stopped, error, `unfinished` (no end is recorded) or `waiting` (not started)."""
        return state_of(self.events(task))

    def machine_failed(self, task: str) -> bool:
        """Whether a task ended because the machine or the provider failed, not by its method's own error."""
        events = self.events(task)
        return state_of(events) == "error" and events[-1]["traceback"] is None

    def candidates(self, task: str) -> list[LoggedCandidate]:
        """A task's judged candidates by index. One that the machine failed to judge stays until it is judged again."""
        return candidates_of(task, self.events(task))


def _check_texts(path: Path, events: list[Event]) -> None:
    """Raises UserError for an event that refers to a text which the log does not hold."""
    held = {event["sha"] for event in events if event["type"] == "text"}
    for number, event in enumerate(events, start=1):
        lost = [sha for sha in _references(event) if sha not in held]
        if lost:
            what = f"{event['type']} refers to a text that the log does not hold (hash {lost[0][:12]})"
            raise UserError(f"{path}, line {number}: {what}; the log is damaged")


def _references(event: Event) -> list[str]:
    """The hashes of the texts that an event refers to."""
    match event["type"]:
        case "request":
            return [message["text"] for message in event["messages"]]
        case "reply":
            return [event["text"]]
        case "evaluation" | "imported":
            return [event["source"]]
        case _:
            return []


def state_of(events: list[Event]) -> str:
    """The state of a task with these events; names as in `Run.state`."""
    if not events:
        return "waiting"
    last = events[-1]
    return str(last["state"]) if last["type"] == "task_end" else "unfinished"


def candidates_of(task: str, events: list[Event]) -> list[LoggedCandidate]:
    """The judged candidates in a task's events, by index."""
    texts = texts_of(events)
    latest = {event["index"]: event for event in events if event["type"] == "evaluation"}
    return [logged(task, latest[index], texts) for index in sorted(latest)]


def imported_of(task: str, events: list[Event]) -> list[ImportedSource]:
    """The sources in a task's events that came from elsewhere, by index."""
    texts = texts_of(events)
    return [
        ImportedSource(
            task,
            event["round"],
            texts[event["source"]],
            recorded_of(event),
            {name: event[name] for name in PLACE},
        )
        for event in events
        if event["type"] == "imported"
    ]


def logged(task: str, event: Event, texts: Mapping[str, str]) -> LoggedCandidate:
    """The candidate of one evaluation event, its source out of `texts`."""
    return LoggedCandidate(
        task=task,
        index=event["index"],
        round=event["round"],
        lane=event["lane"],
        parents=tuple(event["parents"]),
        source_sha=event["source"],
        evaluation=verdict_of(task, event),
        source=texts[event["source"]],
    )


def open_run(path: Path) -> Run:
    """The run in a folder, to read. Raises UserError when there is none, or one of a newer version."""
    try:
        record = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except OSError as error:
        if list(path.glob("*")) == [path / "prompts"]:
            raise UserError(f"no run in {path}: it is a dry run's folder, with its first prompts only") from error
        raise UserError(f"no run in {path}: {path / 'run.json'} can't be read ({error.strerror})") from error
    except ValueError as error:
        raise UserError(f"{path / 'run.json'} is damaged: {error}") from error
    if not isinstance(record, dict):
        raise UserError(f"{path / 'run.json'} is damaged: not an object")
    if record.get("schema") != SCHEMA:
        raise UserError(f"{path} has run schema {record.get('schema')}; this version reads {SCHEMA}")
    return Run(path, record)
