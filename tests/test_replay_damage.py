"""Replay of a run that is damaged, and flags of replay that make no sense together: one line, exit code 2."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loop_fakes import Answers, Verdicts

from agents.config import RunConfig
from agents.loop import Parts, run_tasks
from agents.newrun import create_run, finish
from agents.registry import load_method
from agents.runfolder import Run
from experiments.__main__ import main
from prompts.loader import Templates
from tasks.catalog import load

BUILT = ("Math/softmax", "Activation/gelu_bf16")
Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A done run of best_of_n, two rounds."""
    config = RunConfig("best_of_n", Answers.name, 2, BUILT, method_options={"n": 2})
    folder = tmp_path_factory.mktemp("whole") / "run"
    run = create_run(folder, config, BUILT, secret=b"key", method="best_of_n", rounds=2, simulated=True)
    parts = Parts(load_method("best_of_n", {"n": 2}), Answers(), Verdicts(), Templates())
    assert run_tasks(run, [load(task) for task in BUILT], parts, lambda *_: None, lambda: None).state == "done"
    return finish(run, "done")


@pytest.fixture
def run(recorded: Run, tmp_path: Path) -> Run:
    return Run(shutil.copytree(recorded.path, tmp_path / "run"), recorded.record)


def change(run: Run, how: Change) -> None:
    log = run.log_path(BUILT[0])
    events = how([json.loads(line) for line in log.read_text().splitlines()])
    log.write_text("".join(json.dumps(event) + "\n" for event in events))


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command that fails by a mistake says: one line."""
    capsys.readouterr()
    assert main(["replay", *words]) == 2
    text = capsys.readouterr().err
    assert text.startswith("error: ") and text.count("\n") == 1
    return text


@pytest.mark.parametrize("kind", ["request", "reply", "evaluation"])
def test_a_lost_text_is_damage_for_every_reader(run: Run, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    def without_its_text(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        one = next(event for event in events if event["type"] == kind)
        sha = one["messages"][0]["text"] if kind == "request" else one["text" if kind == "reply" else "source"]
        return [event for event in events if event.get("sha") != sha]

    path = str(run.path)
    assert main(["replay", path]) == 0
    change(run, without_its_text)
    for more in ([], ["--method", "oneshot"], ["--task", "softmax"]):
        assert f"{kind} refers to a text that the log does not hold" in said(capsys, path, *more)
    assert main(["table", path]) == 2


def test_an_altered_text_is_damage(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    def altered(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        text = next(event for event in events if event["type"] == "text")
        return [{**event, "text": "another"} if event is text else event for event in events]

    change(run, altered)
    assert "the text is not the one that its hash names" in said(capsys, str(run.path))


def test_a_log_that_is_gone_or_breaks_off_is_damage_in_a_done_run(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    change(run, lambda events: events[:-1])
    assert "softmax.jsonl breaks off, but the run is done" in said(capsys, str(run.path))
    run.log_path(BUILT[0]).unlink()
    assert "softmax.jsonl is gone, but the run is done" in said(capsys, str(run.path))
    record = run.path / "run.json"
    record.write_text(json.dumps({**run.record, "state": "stopped"}))
    assert main(["replay", str(run.path)]) == 0
    text = capsys.readouterr().out
    assert "not begun, so not replayed: Math/softmax" in text and "\n1 task, " in text


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ("--re-evaluate --method oneshot", "--method has no effect beside --re-evaluate"),
        ("--re-evaluate --until 1", "--until has no effect"),
        ("--re-evaluate --until 0", "--until has no effect"),
        ("--re-evaluate --task softmax", "--task has no effect"),
        ("--task softmax --method oneshot", "--method has no effect beside --task"),
        ("--task softmax -o n=1", "-o has no effect"),
        ("--task softmax --prompts .", "--prompts has no effect"),
        ("--workers 2", "--workers goes with --re-evaluate"),
        ("--until 3", "the run has 2; there is no round 3"),
        ("--until 0", "from 1"),
        ("--task softmax --until 3", "the run has 2"),
        ("--method oneshot --until 3", "the run has 2"),
    ],
)
def test_flags_that_make_no_sense_together(
    recorded: Run, flags: str, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert wanted in said(capsys, str(recorded.path), *flags.split())


def test_flags_that_do(recorded: Run) -> None:
    for flags in ("--until 2", "--task softmax --until 1", "--method oneshot --until 2"):
        assert main(["replay", str(recorded.path), *flags.split()]) == 0


def test_a_status_that_is_none_is_damage(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    def splendid(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        judged = next(event for event in events if event["type"] == "evaluation")
        judged["evaluation"]["status"] = "splendid"
        return events

    change(run, splendid)
    for more in ([], ["--method", "oneshot"], ["--re-evaluate"], ["--task", "softmax"]):
        assert "'splendid' is not a valid Status" in said(capsys, str(run.path), *more)


def test_an_unfinished_last_line_is_told(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with run.log_path(BUILT[0]).open("a") as log:
        log.write('{"type":')
    for more in ([], ["--method", "oneshot"]):
        assert main(["replay", str(run.path), *more]) == 0
        assert "Math/softmax: the log's unfinished last line, 8 bytes, was left out" in capsys.readouterr().out
