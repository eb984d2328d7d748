"""One session of a matrix: the tasks of all cells through one pool of workers, one evaluator and one budget.

A cell is an ordinary run, and a task of it goes through `agents.loop.run_task`, as one of `agents.run --resume` does:
what a log has is not asked for again. When a cell has no task left to begin, workers go on with the next one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from agents.budgets import NOTHING, Budget, Spent, spent_in
from agents.context import EvaluatorLike
from agents.limiter import Limiter, Pace
from agents.loop import Parts, RunEnd, TaskEnd, run_task
from agents.newrun import amend, create_run, held, timestamp
from agents.run import Plan
from agents.runfolder import Run, state_of
from experiments.matrix_config import CellSpec
from experiments.matrix_folder import WAITING, MatrixFolder
from experiments.matrix_screen import MatrixScreen
from tasks.errors import UserError
from tasks.task import Task

STEP_S = 0.2


@dataclass
class CellWork:
    """A cell in this session. `run` is None until it begins; `stop` ends this cell alone."""

    spec: CellSpec
    plan: Plan
    run: Run | None
    ends: dict[str, TaskEnd] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    opening: threading.Lock = field(default_factory=threading.Lock)
    hold: ExitStack = field(default_factory=ExitStack)
    opened: bool = False
    closed: bool = False

    @property
    def state(self) -> str:
        """not begun, running, done, error or stopped."""
        if self.run is None:
            return "error" if any(end.state == "error" for end in self.ends.values()) else WAITING
        if len(self.ends) < len(self.plan.tasks):
            return "running"
        return RunEnd(tuple(self.ends.values())).state


class Session:
    """Goes through what is left of a matrix. `made` are the circumstances that each run's record gets."""

    def __init__(
        self,
        folder: MatrixFolder,
        works: Sequence[CellWork],
        evaluator: EvaluatorLike,
        screen: MatrixScreen,
        *,
        secret: bytes,
        made: Mapping[str, Any],
    ) -> None:
        """Reads the logs of the cells that have begun: a damaged one is told here, before anything is asked, as a
        UserError."""
        self.folder = folder
        self._works = works
        self._evaluator = evaluator
        self._screen = screen
        self._secret = secret
        self._made = made
        self._stop = threading.Event()
        self._lock = threading.Lock()
        spent = NOTHING
        for work in works:
            spent += self._read(work)
        self.budget = Budget(**folder.config.budget, spent=spent, stop=self._stop)
        found = limiters([work.plan for work in works], self.budget, self._stop)
        self._models = {work.spec.name: model for work, model in zip(works, found, strict=True)}

    def go(self) -> bool:
        """Every task that is not done. Returns whether it was interrupted.

        The first Ctrl-C begins nothing new and lets what was asked for come in; a second one leaves at once, as
        KeyboardInterrupt.
        """
        pool = ThreadPoolExecutor(self.folder.config.workers)
        futures: list[Future[None]] = []
        interrupted = False
        try:
            futures.extend(pool.submit(self._work, work, task) for work, task in self._left())
            _wait(futures)
        except KeyboardInterrupt:
            interrupted = True
            self._interrupt()
            _wait(futures)
        finally:
            self._stop.set()
            pool.shutdown(wait=False)
            for work in self._works:
                work.hold.close()
        for future in futures:
            future.result()  # raises what a mistake of ours raised there
        self._end()
        return interrupted

    def _left(self) -> list[tuple[CellWork, Task]]:
        """What is to be done, cell by cell; but first one task of each method with each model, so that a provider that
        refuses shows early, and how long things take."""
        left = [(work, task) for work in self._works for task in work.plan.tasks if task.id not in work.ends]
        first: dict[tuple[str, str], int] = {}
        for at, (work, _) in enumerate(left):
            first.setdefault((work.spec.label, work.spec.config.model), at)
        ahead = set(first.values())
        return [left[at] for at in sorted(ahead)] + [job for at, job in enumerate(left) if at not in ahead]

    def _read(self, work: CellWork) -> Spent:
        """What an earlier session did and spent in a cell."""
        spent = NOTHING
        for task in work.run.tasks if work.run else ():
            events = work.run.events(task) if work.run else []
            for event in events:
                self._screen.take(work.spec.name, task, event)
            if state_of(events) == "done":
                work.ends[task] = TaskEnd(task, "done")
            if self.folder.config.budget:
                spent += spent_in(events, work.plan.price, simulated=work.plan.model.simulated)
        if work.run and work.state == "done" and work.run.record["state"] != "done":
            work.run = amend(work.run, state="done", ended=timestamp())  # killed before it could say so
        return spent

    def _work(self, work: CellWork, task: Task) -> None:
        if self.budget.ended or work.stop.is_set():
            end = TaskEnd(task.id, "stopped", self.budget.ended or "not begun")
        else:
            end = self._through(work, task)
        with self._lock:
            work.ends[task.id] = end
            if work.opened and work.state != "running":
                self._close(work)

    def _through(self, work: CellWork, task: Task) -> TaskEnd:
        began = time.monotonic()
        name = work.spec.name
        try:
            run = self._opened(work)
        except UserError as error:
            end = TaskEnd(task.id, "error", str(error), everywhere=True)
        else:
            parts = Parts(work.plan.method, self._models[name], self._evaluator, work.plan.templates)
            end = run_task(run, task, parts, lambda id_, event: self._screen.observe(name, id_, event), work.stop)
        if end.state == "done":
            self._screen.timed(name, time.monotonic() - began)
        if end.everywhere and not work.stop.is_set():
            work.stop.set()
            self._screen.line(f"{name} stops here, the other cells go on: {end.reason}", style="red")
        return end

    def _opened(self, work: CellWork) -> Run:
        """The cell's run, made or gone on with, and held. Raises UserError."""
        with work.opening:
            if work.run and work.opened:
                return work.run
            run = work.run or self._made_run(work)
            work.hold.enter_context(held(run))
            if work.run:
                changed = {name: value for name, value in self._made.items() if value != run.record.get(name)}
                resumed = [*run.record.get("resumed", []), {"at": timestamp(), "changed": changed}]
                run = amend(run, state="running", config=work.spec.config.to_json(), resumed=resumed)
            work.run, work.opened = run, True
        with self._lock:
            self._tell()
        return run

    def _made_run(self, work: CellWork) -> Run:
        plan = work.plan
        return create_run(
            self.folder.place_for(work.spec),
            work.spec.config,
            [task.id for task in plan.tasks],
            secret=self._secret,
            method=plan.method.name,
            rounds=plan.rounds,
            simulated=plan.model.simulated,
            label=work.spec.label,
            matrix=self.folder.config.name,
            **self._made,
        )

    def _close(self, work: CellWork) -> None:
        """Record how a cell ended. The secret of a done one stays: it is that of all cells."""
        work.closed = True
        if work.run:
            work.run = amend(work.run, state=work.state, ended=timestamp())
        work.hold.close()
        self._tell()
        self._screen.cell_ended(work.spec.name, work.state)

    def _tell(self) -> None:
        self.folder = self.folder.told({work.spec.name: work.state for work in self._works})

    def _interrupt(self) -> None:
        for work in self._works:
            work.stop.set()
        self._stop.set()
        for model in self._models.values():
            model.stop()
        self._screen.stopping()

    def _end(self) -> None:
        for work in self._works:
            for task in work.plan.tasks:  # an interruption may come before all were handed out
                work.ends.setdefault(task.id, TaskEnd(task.id, "stopped", "not begun"))
            if work.opened and not work.closed:
                self._close(work)
        states = {work.state for work in self._works}
        state = "done" if states == {"done"} else "error" if "error" in states else "stopped"
        if state == "done":
            self.folder.publish()
        names = {work.spec.name: work.state for work in self._works}
        self.folder = self.folder.told(names, state=state, ended=timestamp())


def limiters(plans: Sequence[Plan], budget: Budget, stop: threading.Event) -> list[Limiter]:
    """A limiter for each plan: cells that ask the same model share one, with its pace and its requests at a time. Of a
    simulated model each seed has its own, since the seed is what it draws from."""
    found: dict[tuple[Any, ...], Limiter] = {}
    of_plans = []
    for plan in plans:
        config = plan.config
        key = (config.model, config.base_url, config.price, config.seed if plan.model.simulated else None)
        if key not in found:
            pace = Pace(config.requests_per_minute, config.tokens_per_minute)
            found[key] = Limiter(plan.model, budget, plan.price, pace, concurrency=config.model_concurrency, stop=stop)
        of_plans.append(found[key])
    return of_plans


def _wait(futures: Sequence[Future[None]]) -> None:
    """Until all are done. In short steps: a signal that another thread gets does not wake this one."""
    while wait(futures, timeout=STEP_S).not_done:
        pass
