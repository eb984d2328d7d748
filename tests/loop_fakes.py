"""Stand-ins for tests of the loop: a task without torch, a method with lanes, an instant model and evaluator."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

from agents.config import RunConfig
from agents.log import Event, sha_of
from agents.loop import Parts, RunEnd, run_tasks
from agents.newrun import create_run, held
from agents.protocol import Ask, Context, Model, Reply, Request, Submission
from agents.runfolder import Run
from evaluator.records import CaseRow, Evaluation
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

NAMES = ("Toy/one", "Toy/two")


def toy(name: str) -> Task:
    """A task that nothing is drawn from."""
    nothing = cast(Any, None)
    return Task(
        id=name,
        entry="toy",
        signature="toy(x)",
        text="Double x.",
        reference=nothing,
        public=lambda draw: iter(()),
        hidden=nothing,
        timed=nothing,
        stand_ins=nothing,
        judge=nothing,
        cost=nothing,
    )


class Plain:
    """Templates that show their variables."""

    def render(self, name: str, **variables: Any) -> str:
        shown = {key: value for key, value in variables.items() if key not in ("task", "cases")}
        return f"{name} {variables['task'].id} {shown}"


@dataclass
class Lanes:
    """Asks and submits in parallel; its prompts carry the last diagnosis and draws of its own."""

    name: ClassVar[str] = "lanes"
    lanes: int = 3

    def run(self, task: Task, ctx: Context) -> None:
        told = [""] * self.lanes
        parents: list[tuple[int, ...]] = [()] * self.lanes
        for round_ in ctx.rounds():
            asks = [
                Ask(ctx.render("fix.j2", told=told[lane], draw=ctx.rng.randint(0, 9), number=round_.number), lane)
                for lane in range(self.lanes)
            ]
            replies = ctx.ask_many(asks)
            judged = ctx.evaluate_many(
                [Submission(reply.code, lane, parents[lane]) for lane, reply in enumerate(replies)]
            )
            told = [candidate.evaluation.diagnosis for candidate in judged]
            parents = [(candidate.index,) for candidate in judged]
            ctx.note(best=ctx.best.index if ctx.best else None)
        ctx.ask("the same question")
        ctx.ask("the same question")


class Answers:
    """A model whose answer is fixed by the request; every seventh one has no code. Keeps what was asked of it."""

    name = "tests/answers"
    simulated = True

    def __init__(self) -> None:
        self.calls: list[Request] = []
        self.lock = threading.Lock()

    def complete(self, request: Request) -> Reply:
        with self.lock:
            self.calls.append(request)
        mark = sha_of(f"{request.task} {request.lane} {request.attempt}")
        text = "no code" if int(mark, 16) % 7 == 0 else f"```python\nimport triton\nmark = {mark[:8]!r}\n```"
        return Reply(text, None, "stop")


class Verdicts:
    """An evaluator whose verdict is fixed by the source. Keeps the sources."""

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.lock = threading.Lock()

    def __enter__(self) -> Verdicts:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def describe(self) -> dict[str, Any]:
        return {"device": "cpu", "targets": ["sm90"]}

    def evaluate(self, task: Task, source: str) -> Evaluation:
        with self.lock:
            self.sources.append(source)
        return verdict(task.id, source, sha_of(source)[0] in "01234567")


def verdict(task: str, source: str, right: bool) -> Evaluation:
    """A right or a wrong verdict with every kind of field set."""
    rows = (CaseRow("small", "public", right, None if right else Reason.MISMATCH, 1, 8, 4, 0.25),)
    if right:
        return Evaluation(
            task, sha_of(source), Status.CORRECT, None, None, "", compiled=True, called=True, traffic=2.0, cases=rows
        )
    said = f"3 of 5 differ in {sha_of(source)[:6]}"
    return Evaluation(
        task, sha_of(source), Status.WRONG, Stage.COMPARE, Reason.MISMATCH, said, compiled=True, called=True, cases=rows
    )


def infra(task: str, source: str) -> Evaluation:
    return Evaluation(task, sha_of(source), Status.INFRA_ERROR, None, Reason.INFRASTRUCTURE, "the warm process died")


def make_run(folder: Path, *, names: Sequence[str] = NAMES, rounds: int = 2, workers: int = 2, model: str = "") -> Run:
    config = RunConfig("lanes", model or Answers.name, rounds, tuple(names), workers=workers)
    return create_run(folder, config, names, secret=b"fixed", method="lanes", rounds=rounds, simulated=True)


def go(run: Run, model: Model | None = None, evaluator: Any = None, method: Any = None) -> RunEnd:
    """The loop over the toy tasks of a run."""
    parts = Parts(method or Lanes(), model or Answers(), evaluator or Verdicts(), Plain())
    with held(run):
        return run_tasks(run, [toy(name) for name in run.tasks], parts, lambda task, event: None, lambda: None)


def without_time(events: list[Event]) -> list[Event]:
    return [{key: value for key, value in event.items() if key != "t"} for event in events]
