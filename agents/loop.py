"""The main loop: every task of a run through the method, several at a time, each with a log of its own.

    method.run(task, context)
        context.ask(prompt)       request, model, reply    \\
        context.evaluate(source)  evaluator, evaluation     > each an event in <run>/<task>.jsonl
        context.rounds(), note()  round, note              /

Errors have three homes. A kernel's failure is a verdict, and goes back to the method. The failure of a machine or a
provider ends the task as `error`, counts against nobody, and is tried again by --resume. A mistake in the method's
own code also ends its task as `error`, with the traceback in the log.
"""

from __future__ import annotations

import copy
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.context import EvaluatorLike, Halt, LoopContext, TemplatesLike
from agents.journal import Diverged, Divergence, Journal
from agents.limiter import limited
from agents.log import Event, LogWriter
from agents.newrun import write_best
from agents.protocol import Method, Model
from agents.runfolder import Run, state_of
from agents.upgrades import SCHEMA
from tasks.errors import UserError
from tasks.task import Task

Observe = Callable[[str, Event], None]
STEP_S = 0.2


@dataclass(frozen=True)
class Parts:
    """What a run is made of besides its tasks."""

    method: Method
    model: Model
    evaluator: EvaluatorLike
    templates: TemplatesLike


@dataclass(frozen=True)
class TaskEnd:
    """How a task ended: `state` is done, stopped or error, `reason` one line for the last two.

    `everywhere`: the other tasks would end the same way. `divergence` and `traceback` say more where there is more.
    """

    task: str
    state: str
    reason: str | None = None
    everywhere: bool = False
    divergence: Divergence | None = None
    traceback: str | None = None


@dataclass(frozen=True)
class RunEnd:
    """How a run ended, task by task in its order; `interrupted` by Ctrl-C or a signal."""

    tasks: tuple[TaskEnd, ...]
    interrupted: bool = False

    @property
    def state(self) -> str:
        """done when every task is, else error when one has one, else stopped."""
        states = {end.state for end in self.tasks}
        return "error" if "error" in states else "stopped" if "stopped" in states else "done"


def run_tasks(run: Run, tasks: Sequence[Task], parts: Parts, observe: Observe, on_stop: Callable[[], None]) -> RunEnd:
    """Every task of the run that is not done yet, `run.config.workers` at a time.

    `observe` hears of each new event, from several threads. The first Ctrl-C calls `on_stop`, begins nothing new, and
    lets what was asked for come in; a second one leaves at once, as KeyboardInterrupt. The model is asked within the
    limits of the run's settings. Once a budget has ended, tasks end at their next request, and none begins: what was
    paid for is still judged.
    """
    stop = threading.Event()
    interrupted = False
    model = limited(run, parts.model, stop)
    parts = replace(parts, model=model)

    def work(task: Task) -> TaskEnd:
        if model.budget.ended:
            return TaskEnd(task.id, "stopped", model.budget.ended)
        end = run_task(run, task, parts, observe, stop)
        if end.everywhere:
            model.stop()
        return end

    pool = ThreadPoolExecutor(run.config.workers)
    futures: list[Future[TaskEnd]] = []
    try:
        futures.extend(pool.submit(work, task) for task in tasks)
        _wait(futures)
    except KeyboardInterrupt:
        interrupted = True
        model.stop()
        on_stop()
        _wait(futures)
    finally:
        stop.set()
        pool.shutdown(wait=False)
    ends = [future.result() for future in futures]
    ends += [TaskEnd(task.id, "stopped", "not begun") for task in tasks[len(ends) :]]
    return RunEnd(tuple(ends), interrupted)


def _wait(futures: Sequence[Future[TaskEnd]]) -> None:
    """Until all are done. In short steps: a signal that another thread gets does not wake this one."""
    while wait(futures, timeout=STEP_S).not_done:
        pass


def run_task(run: Run, task: Task, parts: Parts, observe: Observe, stop: threading.Event) -> TaskEnd:
    """One task from where its log ends; a task that is done stays as it is."""
    try:
        if stop.is_set():
            return TaskEnd(task.id, "stopped", "not begun")
        with closing(LogWriter(run.log_path(task.id))) as log:
            if state_of(log.events) == "done":
                return TaskEnd(task.id, "done")
            return _run_logged(run, task, parts, log, observe, stop)
    except UserError as error:  # the log itself: damaged, in use, no space left
        return TaskEnd(task.id, "error", str(error), everywhere=True)


def _run_logged(run: Run, task: Task, parts: Parts, log: LogWriter, observe: Observe, stop: threading.Event) -> TaskEnd:
    def write(event: Event) -> None:
        with _full_disk_halts():
            log.write(event)
        observe(task.id, event)

    def sync() -> None:
        with _full_disk_halts():
            log.sync()

    journal = Journal(task.id, log.events, write, sync)
    if log.events:
        log.write({"type": "resume", "schema": SCHEMA, "recorded": len(log.events)})
    context = make_context(run, task, parts, journal, stop)
    end = drive(task, parts.method, run, journal, context)
    write_best(run, task.id, context.best)  # before the end is recorded: nobody comes back to a task that is done
    event = {"type": "task_end", "state": end.state, "reason": end.reason, "traceback": end.traceback}
    log.write(event, durable=True)
    observe(task.id, event)
    return end


@contextmanager
def _full_disk_halts() -> Iterator[None]:
    """A log that can't be written ends the run; as an Exception, a method might go on past it."""
    try:
        yield
    except UserError as error:
        raise Halt("error", str(error), everywhere=True) from error


def make_context(run: Run, task: Task, parts: Parts, journal: Journal, stop: threading.Event) -> LoopContext:
    """The context of one task of a run, at its beginning."""
    return LoopContext(
        task,
        journal,
        model=parts.model,
        evaluator=parts.evaluator,
        templates=parts.templates,
        rounds=run.rounds,
        seed=run.config.seed,
        params=run.config.params,
        stop=stop,
    )


def drive(task: Task, method: Method, run: Run, journal: Journal, context: LoopContext) -> TaskEnd:
    """The method through the task, from its start to an end.

    The method is copied, so that nothing that it keeps in itself goes from one task to another.
    """
    try:
        journal.record(start_event(run, task))
        copy.deepcopy(method).run(task, context)
        for left in journal.never_reproduced():
            raise Diverged(left)
        return TaskEnd(task.id, "done")
    except Halt as halt:
        return TaskEnd(task.id, halt.state, halt.reason, halt.everywhere)
    except Diverged as diverged:
        return TaskEnd(task.id, "error", str(diverged), divergence=diverged.divergence)
    except Exception as error:  # the border of the task thread: a mistake in the method, or in a task's own file
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"
        return TaskEnd(task.id, "error", reason, traceback=traceback.format_exc())


def start_event(run: Run, task: Task) -> dict[str, Any]:
    """The first event of a task's log."""
    return {
        "type": "task_start",
        "schema": SCHEMA,
        "task": task.id,
        "method": run.record["method"],
        "model": run.config.model,
    }
