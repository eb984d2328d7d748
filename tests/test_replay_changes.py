"""Replay with a change: another method or other prompts over the records, verdicts reached anew, step by step."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from loop_fakes import NAMES, Answers, Lanes, Plain, Verdicts, go, infra, make_run, toy

from agents.config import RunConfig
from agents.imports import Foreign, Import, import_run
from agents.loop import Parts, run_tasks
from agents.newrun import create_run
from agents.protocol import Ask, Context, Reply, Request, Submission
from agents.ranking import best
from agents.registry import load_method
from agents.replay import replay_task
from agents.rerun import Rerun, rerun_task
from agents.runfolder import Run
from agents.verdicts import Recorded
from evaluator.records import Evaluation
from experiments.reevaluate import re_evaluate
from experiments.replay import replay, tell_rerun
from experiments.steps import step
from prompts.loader import Templates
from tasks.catalog import load
from tasks.errors import UserError
from tasks.task import Task

ROOT = Path(__file__).resolve().parent.parent
BUILT = ("Math/softmax", "Activation/gelu_bf16")
ONE = "Toy/one"
MISSING = "Math/erf"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = make_run(tmp_path / "r", rounds=3)
    assert go(made).state == "done"
    return made


def followed(run: Run, method: Any, templates: Any = None, until: int | None = None) -> Rerun:
    before = run.log_path(ONE).read_bytes()
    found = rerun_task(run, toy(ONE), method, templates or Plain(), until)
    assert run.log_path(ONE).read_bytes() == before
    return found


def test_the_same_method_is_followed_to_its_end(run: Run) -> None:
    found = followed(run, Lanes())
    assert (found.requests, found.matched, found.sources, found.judged) == (11, 11, 9, 9)
    assert (found.end.state, found.diff) == ("done", "")
    assert found.best == best(run.candidates(ONE))


def test_another_method_ends_at_its_first_request_without_a_reply(run: Run) -> None:
    found = followed(run, Lanes(lanes=2))  # its later prompts carry other draws
    assert (found.requests, found.matched, found.sources, found.judged) == (4, 2, 2, 2)
    assert found.end.state == "stopped"
    assert "request 2 (key " in str(found.end.reason) and "no recorded reply" in str(found.end.reason)
    assert found.best == best(one for one in run.candidates(ONE) if one.round == 1 and one.lane < 2)
    assert "--- recorded\n+++ now" in found.diff and " round 2, lane 0, attempt 1" in found.diff


def test_a_source_without_a_recorded_verdict_ends_the_task_too(run: Run) -> None:
    log = run.log_path(ONE)
    log.write_text("".join(line for line in log.read_text().splitlines(True) if '"type":"evaluation"' not in line))
    found = followed(run, Lanes())
    assert found.matched == found.requests == 3
    assert found.judged < found.sources
    assert "no recorded verdict" in str(found.end.reason)


def test_the_same_question_keeps_its_order_among_threads(tmp_path: Path) -> None:
    heard: list[list[str]] = []

    @dataclass
    class Same(Lanes):
        def run(self, task: Task, ctx: Context) -> None:
            heard.append([reply.text for reply in ctx.ask_many([Ask("same", lane) for lane in range(12)])])

    run = make_run(tmp_path / "r", names=NAMES[:1])
    assert go(run, method=Same()).state == "done"
    for _ in range(5):
        assert followed(run, Same()).end.state == "done"
    assert len(set(heard[0])) > 9
    assert all(texts == heard[0] for texts in heard)


def test_a_method_that_fails_is_told_and_fails_the_command(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass
    class Raising(Lanes):
        def run(self, task: Task, ctx: Context) -> None:
            super().run(task, ctx)
            raise RuntimeError("of its own")

    assert tell_rerun(run, [followed(run, Raising())]) == 1
    text = capsys.readouterr().out
    assert "RuntimeError: of its own" in text and "nothing live was called" in text
    assert "no language model is called" in text


@dataclass
class Plainly(Lanes):
    """A question a round, one more at the end of round `more`; ends after round `last`."""

    more: int = 0
    last: int = 9

    def run(self, task: Task, ctx: Context) -> None:
        for round_ in ctx.rounds():
            ctx.evaluate(ctx.ask(f"question {round_.number}").code)
            if round_.number == self.more:
                ctx.ask("one more")
            if round_.number == self.last:
                return


def test_until_compares_the_rounds_before_and_no_other(tmp_path: Path) -> None:
    run, task = make_run(tmp_path / "r", names=NAMES[:1], rounds=3), toy(ONE)
    assert go(run, method=Plainly()).state == "done"

    def cut(method: Plainly, until: int | None) -> Any:
        return replay_task(run, task, method, Plain(), until)

    found = cut(Plainly(), 2)
    assert (found.divergences, found.complete, found.events) == ((), True, 1 + 2 * 4)
    assert cut(Plainly(), 3) == cut(Plainly(), 9) == cut(Plainly(), None)
    assert not cut(Plainly(more=2), 1).divergences
    assert "request 2 (key" in str(cut(Plainly(more=2), 3).divergences[0])
    assert "nothing more" in str(cut(Plainly(more=2), 2).divergences[0])
    assert not cut(Plainly(last=2), 2).divergences and cut(Plainly(last=2), 3).divergences
    log = run.log_path(ONE)
    log.write_text("".join(log.read_text().splitlines(True)[:-6]))
    found = cut(Plainly(), 3)
    assert (found.divergences, found.complete) == ((), False)
    assert followed(run, Plainly(), until=2).end.reason == "cut after round 2"


@pytest.fixture
def sampled(tmp_path: Path) -> Run:
    """A run of best_of_n on tasks and prompts of the suite."""
    config = RunConfig("best_of_n", Answers.name, 2, BUILT, method_options={"n": 3})
    run = create_run(tmp_path / "s", config, BUILT, secret=b"key", method="best_of_n", rounds=2, simulated=True)
    parts = Parts(load_method("best_of_n", {"n": 3}), Answers(), Verdicts(), Templates())
    assert run_tasks(run, [load(task) for task in BUILT], parts, lambda *_: None, lambda: None).state == "done"
    return run


def test_methods_options_and_prompts_by_name(sampled: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(**change: Any) -> str:
        assert replay(sampled, **change) == 0
        return capsys.readouterr().out.splitlines()[-3]

    assert said(method="oneshot").startswith("2 tasks: 2 of 2 requests")
    assert said(method_options={"n": "2"}).startswith("2 tasks: 8 of 8 requests")
    assert said(method_options={"n": "2"}, until=1).startswith("2 tasks: 4 of 4 requests")
    assert "0 followed to the end, 2 stopped" in said(method_options={"n": "4"})
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "generate.j2").write_text("Be quick.\n" + (ROOT / "prompts" / "generate.j2").read_text())
    assert replay(sampled, prompts=str(folder)) == 0
    text = capsys.readouterr().out
    assert "0 of 6 requests" in text and "        +Be quick." in text
    assert replay(sampled) == 0 == replay(sampled, until=1)
    with pytest.raises(UserError, match="from 1"):
        replay(sampled, until=0)


def test_verdicts_reached_anew(sampled: Run, capsys: pytest.CaptureFixture[str]) -> None:
    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in sampled.path.rglob("*") if path.is_file()}

    class Broken(Verdicts):
        def evaluate(self, task: Task, source: str) -> Evaluation:
            return infra(task.id, source)

    before = files()
    same = Verdicts()
    assert re_evaluate(sampled, workers=2, evaluator=same) == 0
    distinct = {(task, one.source) for task in BUILT for one in sampled.candidates(task)}
    assert sorted(same.sources) == sorted(source for _, source in distinct if source)
    text = capsys.readouterr().out
    assert text.splitlines()[1] == f"run {sampled.path}: every source judged again"
    assert f"{len(distinct)} sources, 0 changed" in text and "2.00x     2.00x" in text
    assert re_evaluate(sampled, workers=2, evaluator=Broken()) == 1
    text = capsys.readouterr().out
    marked = [line for line in text.splitlines() if line.startswith("* ")]
    assert len(marked) == len(same.sources)
    assert "correct -> infra_error: infrastructure" in text
    assert files() == before


def imported(folder: Path) -> Run:
    right, other = "import triton\nright = 0\n", "import triton\nother = 0\n"
    sources = [
        Foreign(BUILT[0], right, recorded=Recorded(called=True, correct=False, error="off by\x1b[2J one")),
        Foreign(BUILT[0], other, round=2),
        Foreign(BUILT[0], right, round=2, recorded=Recorded(correct=True)),
        Foreign(BUILT[0], None, round=2, recorded=Recorded(called=False)),
        Foreign(MISSING, right),
    ]
    return import_run(folder, Import(sources, "someone/else", {"files": []}))[0]


def test_imported_sources_against_their_origin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hide: Callable[..., None]
) -> None:
    hide(MISSING)

    class Right(Verdicts):
        def evaluate(self, task: Task, source: str) -> Evaluation:
            super().evaluate(task, source)
            return Evaluation.from_json({**CORRECT, "task": task.id})

    run, judge = imported(tmp_path / "i"), Right()
    assert re_evaluate(run, workers=1, evaluator=judge) == 1
    text = capsys.readouterr().out
    assert len(judge.sources) == 2
    assert "not built yet: 1 source of 1 task\n" in text
    assert "4 candidates, 3 different sources: equal ones of a task are judged once" in text
    assert "3 sources, 1 changed (1 wrong (its origin) -> correct), 1 without an earlier verdict" in text
    with pytest.raises(UserError, match=r"--re-evaluate.*--task"):
        replay(run)

    assert step(run, "softmax", until=1) == 0
    text = capsys.readouterr().out
    assert "right = 0" in text and "called True, correct False\noff by\\x1b[2J one" in text and "other" not in text


CORRECT = {"source_sha": "", "status": "correct", "stage": None, "reason": None, "diagnosis": "", "compiled": True}
CORRECT |= {"called": True, "cases": [], "builds": []}


class Coloured(Answers):
    """Sends a control sequence beside its source."""

    def complete(self, request: Request) -> Reply:
        text = super().complete(request).text
        return Reply(f"\x1b[31mred\udc80\n{text}", None, "stop")


@dataclass
class Twice(Lanes):
    """A source, then another one from it."""

    name: ClassVar[str] = "twice"

    def run(self, task: Task, ctx: Context) -> None:
        for round_ in ctx.rounds():
            reply = ctx.ask(f"question {round_.number}")
            parents = [ctx.candidates[-1].index] if ctx.candidates else []
            ctx.evaluate_many([Submission(f"{reply.code}\nnumber = {round_.number}\n", 0, tuple(parents))])


def test_one_task_step_by_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "r", names=NAMES)
    assert go(run, Coloured(), method=Twice()).state == "done"
    assert step(run, "one") == 0
    text = capsys.readouterr().out
    wanted = ("round 1, request 0: the prompt", "[user]\nquestion 1", "\\x1b[31mred\\udc80", "number = 1", "verdict: ")
    wanted += ("question 2", "--- candidate 0\n+++ candidate 1", "-number = 1", "+number = 2", "a session ends\n\ndone")
    places = [text.index(part) for part in wanted]
    assert places == sorted(places)
    assert "\x1b" not in text
    assert step(run, ONE, until=1) == 0
    assert "question 2" not in capsys.readouterr().out
    with pytest.raises(UserError, match="did you mean 'Toy/one'"):
        step(run, "onne")


def test_on_a_terminal_it_waits_and_colours(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", names=NAMES[:1])
    assert go(run, method=Twice()).state == "done"
    script = (
        "import sys\nfrom agents.newrun import find_run\nfrom experiments.steps import step\n"
        f"sys.exit(step(find_run({str(run.path)!r}), 'one'))"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    child = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    os.write(ours, b"\n\nq\n")
    text = b""
    while True:
        try:
            text += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert child.wait() == 0
    assert text.count(b"q ends") == 3
    assert b"candidate 0" in text and b"question 2" not in text and b"\x1b[" in text
