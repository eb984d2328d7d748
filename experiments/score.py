"""Imported sources judged here: several tasks at a time, each verdict kept at once, so that a kill loses none."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from agents.context import EvaluatorLike, no_code
from agents.log import Event, LogWriter
from agents.newrun import amend, finish, held
from agents.runfolder import ImportedSource, Run, imported_of
from agents.verdicts import logged_verdict
from evaluator.records import Evaluation
from tasks.catalog import built, index, load
from tasks.errors import UserError
from tasks.outcomes import Status

Say = Callable[[str], None]


class Judge(EvaluatorLike, Protocol):
    """What scoring needs of an evaluator. Called from several threads."""

    def loads(self, task: str, entries: Sequence[str], source: str) -> Evaluation | None: ...

    def describe(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Scored:
    """How a session of scoring ended: sources judged now, judged before, and failures of the machine."""

    judged: int
    before: int
    infra: int
    interrupted: bool


def score(run: Run, judge: Judge, *, workers: int, say: Say) -> Scored:
    """Judge every imported source of `run` that has no verdict yet, several tasks at a time.

    Sources for a task that is built are evaluated; those for another go through the static checks and the load stage,
    and leave a `load` event. Ctrl-C ends it after what was begun. Raises UserError for a run that was not imported,
    one that another process scores, one that was judged on another device or for other targets, and a damaged log.
    """
    if not run.imported:
        again = f"python -m experiments replay {run.path} --re-evaluate"
        raise UserError(f"{run.path} was not imported; judge its sources again with: {again}")
    check_same(run, judge.describe())
    ready = set(built())
    with held(run):
        run = amend(run, scored={"tasks": [task for task in run.tasks if task in ready], "evaluator": judge.describe()})
        work = _Work(run, judge, ready, say)
        interrupted = work.go(workers)
        if not interrupted and not work.infra:
            finish(run, "done")
    return Scored(work.judged, work.before, work.infra, interrupted)


def check_same(run: Run, evaluator: Mapping[str, Any]) -> None:
    """Raises UserError where `run` was judged on another device, or for other targets, than `evaluator` has."""
    before = judged_by(run)
    for name in ("device", "targets"):
        if name in before and evaluator.get(name, before[name]) != before[name]:
            was, now = (",".join([one] if isinstance(one, str) else one) for one in (before[name], evaluator[name]))
            raise UserError(f"{run.path} was judged with {name} {was}, not {now}; score its file into a new --out")


def judged_by(run: Run) -> Mapping[str, Any]:
    """What an evaluator that judged `run` before said of itself; {} when none did."""
    evaluator: Mapping[str, Any] = (run.record.get("scored") or {}).get("evaluator", {})
    return evaluator


class _Work:
    """One session: the tasks dealt out to threads, and what came of them."""

    def __init__(self, run: Run, judge: Judge, ready: set[str], say: Say) -> None:
        self.run, self.judge, self.ready, self.say = run, judge, ready, say
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.judged = self.before = self.infra = self.done = 0

    def go(self, workers: int) -> bool:
        """Returns whether it was interrupted."""
        with ThreadPoolExecutor(max(1, workers)) as pool:
            futures = [pool.submit(self.task, task) for task in self.run.tasks]
            try:
                for future in futures:
                    future.result()
            except KeyboardInterrupt:
                return True
            finally:
                self.stop.set()
                pool.shutdown(cancel_futures=True)
        return False

    def task(self, name: str) -> None:
        with closing(LogWriter(self.run.log_path(name))) as log:
            known = settled_indices(log.events)
            sources = imported_of(name, log.events)
            todo = [source for source in sources if source.index not in known[name in self.ready]]
            with self.lock:
                self.before += len(sources) - len(todo)
            said = [self._one(log, source) for source in todo if not self.stop.is_set()]
        with self.lock:
            self.done += 1
            if said:
                self.say(f"[{self.done} of {len(self.run.tasks)}] {name}: {', '.join(said)}")

    def _one(self, log: LogWriter, source: ImportedSource) -> str:
        event, verdict = self._event(source)
        log.write(event, durable=True)
        with self.lock:
            self.judged += 1
            self.infra += verdict is not None and verdict.status is Status.INFRA_ERROR
        if verdict is None:
            return "loads (the task is not built)"
        return verdict.outcome

    def _event(self, source: ImportedSource) -> tuple[Event, Evaluation | None]:
        if not source.source.strip():
            verdict: Evaluation | None = no_code(source.task, source.place["source"])
        elif source.task in self.ready:
            verdict = self.judge.evaluate(load(source.task), source.source)
        else:
            verdict = self.judge.loads(source.task, [index()[source.task].entry], source.source)
        said = logged_verdict(verdict) if verdict else None
        if source.task in self.ready:
            return {"type": "evaluation", **source.place, "evaluation": said}, verdict
        return {"type": "load", "index": source.index, "evaluation": said}, verdict


def settled_indices(events: Sequence[Event]) -> dict[bool, set[int]]:
    """Indices of the sources with a verdict: under True evaluated ones, under False those that went through loading.

    A verdict that the machine failed to reach does not count.
    """
    found: dict[bool, set[int]] = {True: set(), False: set()}
    for event in events:
        if event["type"] in ("evaluation", "load"):
            said = event["evaluation"]
            if said is None or said["status"] != Status.INFRA_ERROR:
                found[event["type"] == "evaluation"].add(event["index"])
    return found


def cores() -> int:
    """How many candidates this machine judges at a time by default."""
    return os.cpu_count() or 1
