"""Every source of a run judged again, by this machine's evaluator, and what came out differently."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from agents.context import EvaluatorLike, no_code
from agents.log import sha_of
from agents.report_table import many
from agents.runfolder import Run, candidates_of, imported_of
from agents.verdicts import Recorded
from evaluator.records import Evaluation
from tasks.errors import UserError
from tasks.outcomes import Reason, Status

if TYPE_CHECKING:
    from tasks.task import Task

WIDEST_VERDICT = 34  # runtime_error: out_of_bounds_write


@dataclass(frozen=True)
class Logged:
    """One source of a task where it first stands in the log, with what was said of it: ours, or else its origin's.

    `times`: how many candidates have it.
    """

    task: str
    index: int
    round: int
    source: str
    before: Evaluation | None = None
    origin: Recorded | None = None
    times: int = 1

    @property
    def before_text(self) -> str:
        """The earlier verdict; an origin's reason is a guess, and left out."""
        if self.before:
            return self.before.outcome
        return f"{self.origin.evaluation(self.task, '').status} (its origin)" if self.origin else "-"

    def changed(self, now: Evaluation) -> bool:
        """Whether status or reason differ. An origin's verdict is compared as far as it goes: compiles, returns from
        its calls, is right. False where nothing was said."""
        if self.before:
            return (self.before.status, self.before.reason) != (now.status, now.reason)
        if self.origin is None:
            return False
        said = (self.origin.compiled, self.origin.called, self.origin.correct)
        found = (now.compiled, now.called, now.correct)
        return any(one is not None and one is not other for one, other in zip(said, found, strict=True))


def re_evaluate(
    run: Run,
    *,
    workers: int | None = None,
    targets: Sequence[str] | None = None,
    evaluator: EvaluatorLike | None = None,
) -> int:
    """Judges each source of a run's log once for each task, `workers` at a time (default: one a CPU), and prints before
    and after.

    The hidden cases are the run's own. `targets` are the run's where none are given; `evaluator` stands in for this
    machine's. The log stays as it is. Returns 0 when no status and no reason changed, else 1. Raises UserError.
    """
    if run.simulation_notice:
        print(run.simulation_notice)
    print(f"run {run.path}: every source judged again", flush=True)  # torch takes seconds, the evaluator more
    sources, not_built = _sources(run)
    at_once = workers or os.cpu_count() or 1
    if not_built:
        total = f"{many(sum(not_built.values()), 'source')} of {many(len(not_built), 'task')}"
        print(f"not judged, since their tasks are not built yet: {total}")
    submitted = many(sum(logged.times for logged, _ in sources), "candidate")
    print(f"{submitted}, {many(len(sources), 'different source')}: equal ones of a task are judged once")
    widest = max((len(logged.task) for logged, _ in sources), default=4)
    print(_line(" ", "task", widest, "index", "round", "before", "after", "traffic", "now"), flush=True)
    kinds: Counter[str] = Counter()
    new = 0
    with closing(_judged(run, sources, at_once, targets, evaluator)) as judged:
        for logged, now in judged:
            if logged.changed(now):
                kinds[f"{logged.before_text} -> {now.outcome}"] += 1
            new += logged.before is None and logged.origin is None
            _print_row(logged, now, widest)
    print(_summary(len(sources), kinds, new))
    return 1 if kinds else 0


def logged_sources(run: Run, task: str) -> list[Logged]:
    """The distinct sources in a task's log, in order, with the latest verdict that is one."""
    events = run.events(task)
    found: dict[str, Logged] = {}
    submitted: dict[int, str] = {}
    for one in imported_of(task, events):
        submitted[one.index] = one.source
        logged = Logged(task, one.index, one.round, one.source, origin=_telling(one.recorded))
        found.setdefault(one.source, logged)
    for candidate in candidates_of(task, events):
        submitted[candidate.index] = candidate.source
        place = found.get(candidate.source) or candidate
        verdict = None if candidate.evaluation.status is Status.INFRA_ERROR else candidate.evaluation
        before = verdict or (place.before if isinstance(place, Logged) else None)
        origin = place.origin if isinstance(place, Logged) else None
        found[candidate.source] = Logged(task, place.index, place.round, candidate.source, before, origin)
    times = Counter(submitted.values())
    return [replace(one, times=times[one.source]) for one in found.values()]


def _telling(recorded: Recorded | None) -> Recorded | None:
    """None for what says nothing of compiling, calls and values."""
    known = recorded and any(said is not None for said in (recorded.compiled, recorded.called, recorded.correct))
    return recorded if known else None


def _sources(run: Run) -> tuple[list[tuple[Logged, Task]], Counter[str]]:
    """The sources with their tasks, and how many each task has that is not built. Raises UserError for none at all."""
    from tasks.catalog import built, load

    ready = set(built())
    sources: list[tuple[Logged, Task]] = []
    not_built: Counter[str] = Counter()
    for name, task in zip(run.config.tasks, run.tasks, strict=True):
        logged = logged_sources(run, task)
        if logged and not name.endswith(".py") and name not in ready:
            not_built[task] = len(logged)
        elif logged:
            loaded = load(name)
            sources += [(one, loaded) for one in logged]
    if not sources and not not_built:
        raise UserError(f"{run.path} holds no source yet")
    return sources, not_built


def _judged(
    run: Run,
    sources: Sequence[tuple[Logged, Task]],
    workers: int,
    targets: Sequence[str] | None,
    evaluator: EvaluatorLike | None,
) -> Generator[tuple[Logged, Evaluation]]:
    """Each source with its new verdict, in order, as they come. Closed early, it begins no more."""
    with ExitStack() as stack:
        judge: EvaluatorLike | None = evaluator
        if judge is None:
            from evaluator.judge import Evaluator

            judge = stack.enter_context(
                Evaluator(
                    device=_device_of(run), targets=targets or run.config.targets, workers=workers, secret=run.secret
                )
            )
        pool = stack.enter_context(ThreadPoolExecutor(workers))
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        verdicts = pool.map(partial(_judge, judge), sources)
        yield from zip((logged for logged, _ in sources), verdicts, strict=True)


def _device_of(run: Run) -> str:
    """Where its verdicts were reached; a recorded verdict was reached nowhere here."""
    described = (run.record.get("scored") or {}).get("evaluator") or run.record.get("evaluator") or {}
    return str(described.get("device", run.config.device))


def _judge(evaluator: EvaluatorLike, source: tuple[Logged, Task]) -> Evaluation:
    logged, task = source
    if logged.before and logged.before.reason is Reason.CUT_OFF:
        return logged.before  # the verdict is on the reply that ended too soon, of which the source says nothing
    if not logged.source.strip():
        return no_code(task.id, sha_of(logged.source))
    return evaluator.evaluate(task, logged.source)


def _print_row(logged: Logged, now: Evaluation, widest: int) -> None:
    mark = "*" if logged.changed(now) else " "
    place = (logged.task, widest, str(logged.index), str(logged.round))
    traffic = [_traffic(logged.before), _traffic(now)]
    print(_line(mark, *place, logged.before_text, now.outcome, *traffic), flush=True)


def _line(
    mark: str, task: str, widest: int, index: str, round_: str, before: str, after: str, was: str, now: str
) -> str:
    verdicts = f"{before:{WIDEST_VERDICT}}  {after:{WIDEST_VERDICT}}"
    return f"{mark} {task:{widest}}  {index:>5}  {round_:>5}  {verdicts}  {was:>8}  {now:>8}".rstrip()


def _traffic(evaluation: Evaluation | None) -> str:
    return "-" if evaluation is None or evaluation.traffic is None else f"{evaluation.traffic:.2f}x"


def _summary(count: int, kinds: Counter[str], new: int) -> str:
    changed = f"{sum(kinds.values())} changed"
    by_kind = "; ".join(f"{times} {kind}" for kind, times in kinds.most_common())
    unknown = f", {new} without an earlier verdict" if new else ""
    return f"{many(count, 'source')}, {changed}{f' ({by_kind})' if kinds else ''}{unknown}"
