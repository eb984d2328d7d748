"""What a run shows while it goes on, on a terminal and elsewhere."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from loop_fakes import Answers, Lanes, Plain, Verdicts, infra, make_run, toy, verdict
from rich.console import Console

from agents.loop import Parts, RunEnd, run_tasks
from agents.runfolder import Run, open_run
from agents.screen import Screen
from evaluator.records import Evaluation
from tasks.task import Task


class OneWorks(Verdicts):
    def evaluate(self, task: Task, source: str) -> Evaluation:
        return verdict(task.id, source, task.id == "Toy/one")


class TwoBreaks(Verdicts):
    def evaluate(self, task: Task, source: str) -> Evaluation:
        return infra(task.id, source) if task.id == "Toy/two" else verdict(task.id, source, True)


def shown(run: Run, *, terminal: bool, evaluator: Verdicts | None = None) -> tuple[str, RunEnd]:
    text = io.StringIO()
    screen = Screen(run, Console(file=text, force_terminal=terminal, width=80, color_system=None))
    screen.banner({"device": "cpu"}, ["a note"])
    with screen:
        parts = Parts(Lanes(), Answers(), evaluator or OneWorks(), Plain())
        end = run_tasks(run, [toy(name) for name in run.tasks], parts, screen.observe, screen.stopping)
    return text.getvalue(), end


def test_elsewhere_each_task_and_each_round_is_a_line(tmp_path: Path) -> None:
    lines = shown(make_run(tmp_path / "r"), terminal=False)[0].splitlines()
    assert lines[0] == "SIMULATION: tests/answers; no language model is called. Nothing here is a finding."
    assert "a note" in lines
    ends = [line for line in lines if line.startswith(("[1 of 2]", "[2 of 2]"))]
    assert len(ends) == 2
    assert any("Toy/one: correct from round" in line and "traffic 2.00x, 6 submitted" in line for line in ends)
    assert any("Toy/two: wrong (mismatch) in round" in line for line in ends)
    rounds = [line for line in lines if line.startswith("round ")]
    assert [line.split(":")[0] for line in rounds] == ["round 1", "round 2"]
    assert "correct 50%" in rounds[1] and "1 persistent, 0 regressed, 1 failing; 2 of 2 tasks" in rounds[1]


def test_on_a_terminal_of_80_columns_the_table_fits(tmp_path: Path) -> None:
    text = shown(make_run(tmp_path / "r"), terminal=True)[0]
    assert "2 of 2 tasks done" in text
    for name in ("compile", "call", "correct", "rescued", "persistent", "regressed", "failing", "2/2"):
        assert name in text
    assert "…" not in text


def test_a_resumed_run_tells_rounds_once_and_counts_what_was_there(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r")
    text, end = shown(run, terminal=False, evaluator=TwoBreaks())
    assert end.state == "error"
    assert "Toy/two: error: evaluator: the warm process died" in text
    text, end = shown(open_run(run.path), terminal=False)
    assert end.state == "done"
    assert "[2 of 2] Toy/two: wrong" in text
    assert [line.split(":")[0] for line in text.splitlines() if line.startswith("round ")] == ["round 1", "round 2"]


def test_the_end_names_what_failed_and_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "r")
    _, end = shown(run, terminal=False, evaluator=TwoBreaks())
    text = io.StringIO()
    Screen(run, Console(file=text, width=80)).final(end)
    assert "counted against nobody: Toy/two: evaluator: the warm process died" in text.getvalue()
    assert f"--resume {run.path}" in text.getvalue().replace("\n", "")
    assert "Each round's own candidates" in capsys.readouterr().out
