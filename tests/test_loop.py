"""The loop: ends of tasks, failures of machines and of methods, interruption."""

from __future__ import annotations

import json
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from loop_fakes import NAMES, Answers, Lanes, Plain, Verdicts, go, infra, make_run, toy, verdict

from agents.loop import Parts, run_tasks
from agents.models.retrying import Refused
from agents.newrun import finish, held
from agents.protocol import Context, ModelError, Reply, Request
from agents.runfolder import open_run
from evaluator.records import Evaluation
from tasks.errors import UserError
from tasks.outcomes import Status
from tasks.task import Task


def test_every_task_is_done_and_logged(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r")
    end = go(run)
    assert (end.state, end.interrupted) == ("done", False)
    again = open_run(run.path)
    assert [again.state(task) for task in again.tasks] == ["done", "done"]
    for task in again.tasks:
        candidates = again.candidates(task)
        assert [one.index for one in candidates] == list(range(6))
        assert {one.round for one in candidates} == {1, 2}
        assert all(one.source or one.evaluation.status is Status.REJECTED for one in candidates)


def test_best_holds_the_best_correct_kernel_and_nothing_else(tmp_path: Path) -> None:
    class OnlyOne(Verdicts):
        def evaluate(self, task: Task, source: str) -> Evaluation:
            return verdict(task.id, source, task.id == "Toy/one")

    run = make_run(tmp_path / "r")
    go(run, evaluator=OnlyOne())
    text = (run.path / "best" / "Toy" / "one.py").read_text()
    assert text.startswith("# Toy/one: correct, traffic over the minimum 2; candidate")
    assert any(text.endswith(one.source) for one in run.candidates("Toy/one") if one.correct)
    assert not (run.path / "best" / "Toy" / "two.py").exists()


def test_a_provider_that_fails_one_task_stops_that_task_only(tmp_path: Path) -> None:
    class Down(Answers):
        def complete(self, request: Request) -> Reply:
            if request.task == "Toy/one" and request.attempt == 1:
                raise ModelError("503 overloaded")
            return super().complete(request)

    run = make_run(tmp_path / "r", workers=1)
    end = go(run, Down())
    assert [(one.state, one.reason) for one in end.tasks] == [("error", "model: 503 overloaded"), ("done", None)]
    assert end.state == "error"
    assert len(run.candidates("Toy/one")) == 3, "what was judged before stays"
    assert go(run).state == "done"
    assert run.state("Toy/one") == "done"


def test_a_refusal_ends_the_run_before_other_tasks_ask(tmp_path: Path) -> None:
    class Keyless(Answers):
        def complete(self, request: Request) -> Reply:
            super().complete(request)
            raise Refused("401 wrong key")

    model = Keyless()
    end = go(make_run(tmp_path / "r", workers=1), model)
    assert [one.state for one in end.tasks] == ["error", "stopped"]
    assert {request.task for request in model.calls} == {"Toy/one"}


def test_a_method_cant_take_a_failed_provider_for_its_own_error(tmp_path: Path) -> None:
    @dataclass
    class Swallowing(Lanes):
        def run(self, task: Task, ctx: Context) -> None:
            try:
                ctx.ask("q")
            except Exception:
                ctx.evaluate("an empty program")

    class Down(Answers):
        def complete(self, request: Request) -> Reply:
            raise ModelError("gone")

    run = make_run(tmp_path / "r")
    assert go(run, Down(), method=Swallowing()).state == "error"
    assert run.candidates("Toy/one") == []


def test_a_machine_that_cant_judge_stops_the_task_and_is_asked_again(tmp_path: Path) -> None:
    class Broken(Verdicts):
        def evaluate(self, task: Task, source: str) -> Evaluation:
            super().evaluate(task, source)
            return infra(task.id, source) if task.id == "Toy/two" else verdict(task.id, source, True)

    run = make_run(tmp_path / "r")
    end = go(run, evaluator=Broken())
    assert [one.state for one in end.tasks] == ["done", "error"]
    assert end.tasks[1].reason == "evaluator: the warm process died"
    assert {one.evaluation.status for one in run.candidates("Toy/two")} <= {Status.INFRA_ERROR, Status.REJECTED}
    model = Answers()
    assert go(run, model).state == "done"
    asked = [request for request in model.calls if request.attempt == 0 and request.lane > 0]
    assert asked == [], "the replies to the first round were there already"
    assert all(one.evaluation.status is not Status.INFRA_ERROR for one in run.candidates("Toy/two"))


def test_a_mistake_in_a_method_ends_its_task_with_the_traceback_in_the_log(tmp_path: Path) -> None:
    @dataclass
    class Faulty:
        name: ClassVar[str] = "lanes"

        def run(self, task: Task, ctx: Context) -> None:
            ctx.evaluate("x = 1")
            if task.id == "Toy/one":
                raise KeyError("absent")

    run = make_run(tmp_path / "r")
    end = go(run, method=Faulty())
    assert [one.state for one in end.tasks] == ["error", "done"]
    assert end.tasks[0].reason is not None
    assert end.tasks[0].reason.startswith("KeyError: 'absent' (test_loop.py, line ")
    assert "in run" in run.events("Toy/one")[-1]["traceback"]


def test_what_a_method_keeps_in_itself_stays_in_its_task(tmp_path: Path) -> None:
    @dataclass
    class Hoarding:
        name: ClassVar[str] = "lanes"

        def __post_init__(self) -> None:
            self.seen: list[str] = []

        def run(self, task: Task, ctx: Context) -> None:
            self.seen.append(task.id)
            ctx.note(seen=self.seen)

    run = make_run(tmp_path / "r", workers=1)
    go(run, method=Hoarding())
    notes = [event["data"]["seen"] for task in NAMES for event in run.events(task) if event["type"] == "note"]
    assert notes == [["Toy/one"], ["Toy/two"]]


def test_ctrl_c_awaits_what_was_asked_begins_nothing_new_and_resumes_to_the_end(tmp_path: Path) -> None:
    released, all_asked = threading.Event(), threading.Barrier(3, timeout=20)

    class Slow(Answers):
        def complete(self, request: Request) -> Reply:
            reply = super().complete(request)
            if all_asked.wait() == 0:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            assert released.wait(20)
            return reply

    run = make_run(tmp_path / "r", workers=1)
    slow = Slow()
    parts = Parts(Lanes(), slow, Verdicts(), Plain())
    end = run_tasks(run, [toy(name) for name in NAMES], parts, lambda task, event: None, released.set)
    assert end.interrupted
    assert [one.state for one in end.tasks] == ["stopped", "stopped"]
    events = run.events("Toy/one")
    assert sum(event["type"] == "reply" for event in events) == len(slow.calls) == 3
    assert events[-1]["type"] == "task_end" and events[-1]["state"] == "stopped"
    assert run.state("Toy/two") == "waiting"
    assert go(run).state == "done"


def test_a_full_disk_ends_the_run_clearly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agents.log import LogWriter

    real = LogWriter.write

    def full(self: LogWriter, event: dict[str, object], *, durable: bool = False) -> None:
        if event["type"] in ("evaluation", "task_end"):
            raise UserError("can't write: No space left on device")
        real(self, event, durable=durable)

    run = make_run(tmp_path / "r", workers=1)
    monkeypatch.setattr(LogWriter, "write", full)
    end = go(run)
    assert [one.state for one in end.tasks] == ["error", "stopped"]
    assert "No space left" in str(end.tasks[0].reason)
    monkeypatch.undo()
    model = Answers()
    assert go(run, model).state == "done"
    assert not [r for r in model.calls if r.task == "Toy/one" and r.attempt == 0], "the replies had been kept"


def test_a_run_is_held_against_a_second_process(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r")
    with held(run), pytest.raises(UserError, match="another process"), held(run):
        pass
    with held(run):
        pass


def test_the_secret_is_private_and_published_at_the_end_only(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r")
    assert (run.path / "secret").stat().st_mode & 0o777 == 0o600
    assert run.secret == b"fixed"
    assert finish(run, "error").record["secret"] is None
    assert json.loads((finish(run, "done").path / "run.json").read_text())["secret"] == b"fixed".hex()


def test_a_used_folder_is_not_written_over(tmp_path: Path) -> None:
    make_run(tmp_path / "r")
    with pytest.raises(UserError, match="--resume"):
        make_run(tmp_path / "r")
