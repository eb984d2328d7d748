"""Rerun: another method, or other prompts, over the recorded answers, as far as these go.

A reply is found by what was asked and how often before, a verdict by its source. Where one is wanted that the log
lacks, the task ends there: what the model would have said is not known.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents import ranking
from agents.context import Halt, TemplatesLike
from agents.journal import describe, request_diff, settled
from agents.log import Event, sha_of, texts_of
from agents.loop import Parts, TaskEnd, drive, make_context
from agents.protocol import Method, Reply, Request, Usage
from agents.replay import CutJournal
from agents.runfolder import LoggedCandidate, Run, candidates_of
from agents.verdicts import verdict_of
from evaluator.records import Evaluation
from tasks.task import Task


@dataclass(frozen=True)
class Rerun:
    """How far one task could be followed.

    `matched` of `requests` have a recorded reply, `judged` of `sources` a recorded verdict. `end` is done, stopped (an
    answer is missing, or the rerun was cut) or error (the method's own). `best` is of the candidates up to there.
    `diff` shows the first request without a reply beside the log's one of that lane and attempt, where there is one.
    """

    end: TaskEnd
    requests: int
    matched: int
    sources: int
    judged: int
    best: LoggedCandidate | None
    diff: str

    @property
    def task(self) -> str:
        return self.end.task


class Records:
    """Answers of one task's log, in the place of a model and an evaluator. `tape` takes the events of the rerun."""

    def __init__(self, run: Run, events: Sequence[Event]) -> None:
        self.name = run.config.model
        self.simulated = run.simulated
        self.tape: list[Event] = []
        self.unanswered: list[Event] = []
        self.unjudged: list[str] = []
        texts = texts_of(list(events))
        kept = settled(events).values()
        self._replies = {(event["key"], event["n"]): _reply(event, texts) for event in kept if event["type"] == "reply"}
        self._verdicts = {event["source"]: event for event in kept if event["type"] == "evaluation"}

    def complete(self, request: Request) -> Reply:
        """The recorded reply. Ends the task where there is none."""
        # a request is on the tape before it is asked; its occurrence there depends on no thread
        place = (request.lane, request.attempt)
        asked = next(e for e in self.tape if e["type"] == "request" and (e["lane"], e["attempt"]) == place)
        reply = self._replies.get((asked["key"], asked["n"]))
        if reply is None:
            self.unanswered.append(asked)
            raise Halt("stopped", f"{describe(asked)} has no recorded reply")
        return reply

    def evaluate(self, task: Task, source: str) -> Evaluation:
        """The recorded verdict. Ends the task where there is none."""
        sha = sha_of(source)
        if sha not in self._verdicts:
            self.unjudged.append(sha)
            raise Halt("stopped", f"source {sha[:12]} has no recorded verdict")
        return verdict_of(task.id, self._verdicts[sha])


def _reply(event: Event, texts: Mapping[str, str]) -> Reply:
    return Reply(texts[event["text"]], None, event["finish_reason"], Usage(**event["usage"]))


def rerun_task(run: Run, task: Task, method: Method, templates: TemplatesLike, until: int | None = None) -> Rerun:
    """`method` through one task on the recorded answers, up to and with round `until`.

    Nothing is asked, judged or written. Raises UserError for a damaged log.
    """
    events = run.events(task.id)
    records = Records(run, events)
    journal = CutJournal(task.id, (), until, records.tape.append)
    most: int | None = getattr(method, "max_rounds", None)
    rounds = min(run.config.rounds, most or run.config.rounds)
    other = Run(run.path, {**run.record, "method": method.name, "rounds": rounds})
    context = make_context(other, task, Parts(method, records, records, templates), journal, threading.Event())
    end = drive(task, method, other, journal, context)
    kinds = [event["type"] for event in records.tape]
    judged = kinds.count("evaluation")
    return Rerun(
        end,
        kinds.count("request"),
        kinds.count("reply"),
        judged + len(records.unjudged),
        judged,
        ranking.best(candidates_of(task.id, records.tape)),
        _first_difference(events, records),
    )


def _first_difference(events: Sequence[Event], records: Records) -> str:
    """The first request without a reply beside the log's one of that lane and attempt; "" where either is missing."""
    if not records.unanswered:
        return ""
    made = min(records.unanswered, key=lambda event: int(event["index"]))
    place = (made["lane"], made["attempt"])
    recorded = (event for event in events if event["type"] == "request" and (event["lane"], event["attempt"]) == place)
    texts = texts_of([*events, *records.tape])
    return next((request_diff(event, made, texts) for event in recorded), "")
