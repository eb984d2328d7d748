"""`python -m experiments table` and `replay`, on a run that the real loop recorded from written answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fakes import KERNEL, right, wrong

from agents.config import RunConfig
from agents.loop import Parts, run_tasks
from agents.newrun import create_run
from agents.protocol import Reply, Request
from agents.registry import load_method
from agents.runfolder import Run
from evaluator.records import Evaluation
from experiments.__main__ import COMMANDS, main
from prompts.loader import Templates
from tasks.catalog import load
from tasks.task import Task

ROOT = Path(__file__).resolve().parent.parent
TASKS = ("Math/softmax", "Activation/gelu_bf16")


class Written:
    """A model that numbers its answers for each task."""

    name = "tests/written"
    simulated = True

    def __init__(self) -> None:
        self.answers: dict[str, int] = {}
        self.lock = threading.Lock()

    def complete(self, request: Request) -> Reply:
        with self.lock:
            self.answers[request.task] = self.answers.get(request.task, 0) + 1
            number = self.answers[request.task]
        text = f"Try {number}.\n\n```python\n{KERNEL.format(number=number)}```\n"
        return Reply(text, None, "stop")


class SecondWorks:
    """Judges softmax right from the second submission on, and everything else wrong."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def evaluate(self, task: Task, source: str) -> Evaluation:
        self.seen[task.id] = self.seen.get(task.id, 0) + 1
        works = task.id == "Math/softmax" and self.seen[task.id] > 1
        return right(traffic=1.25) if works else wrong()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    config = RunConfig("reflexion", Written.name, 3, TASKS, workers=1)
    made = create_run(tmp_path / "recorded", config, TASKS, secret=b"key", method="reflexion", rounds=3, simulated=True)
    parts = Parts(load_method("reflexion", {}), Written(), SecondWorks(), Templates())
    end = run_tasks(made, [load(task) for task in TASKS], parts, lambda task, event: None, lambda: None)
    assert end.state == "done"
    return made


def test_the_table_shows_rates_states_and_the_simulation(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", str(run.path)]) == 0
    text = capsys.readouterr().out
    lines = [line.split() for line in text.splitlines()]
    assert "no language model is called" in text
    assert ["1", "100%", "-", "100%", "0%", "0", "0", "0", "2"] in lines
    assert ["2", "100%", "0", "100%", "50%", "1", "0", "0", "1"] in lines
    assert ["2", "rescued", "1.25x", "n=1", "1.25x", "n=1"] in lines
    assert ["Math/softmax", "rescued", ".RP", "2", "1.25x", "-", "2"] in lines
    assert ["Activation/gelu_bf16", "failing", "...", "-", "-", "-", "3"] in lines
    assert ["Activation/gelu_bf16", "wrong:", "mismatch"] in lines
    assert max(map(len, text.splitlines())) <= 120


def test_an_unfinished_run_has_a_table_too(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    log = run.log_path("Activation/gelu_bf16")
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-4]))
    run.log_path("Math/softmax").unlink()
    assert main(["table", str(run.path)]) == 0
    text = capsys.readouterr().out
    assert "waiting: Math/softmax" in text and "unfinished: Activation/gelu_bf16" in text


def test_the_replay_reproduces_the_log(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    assert main(["replay", str(run.path)]) == 0
    assert "reproduced event for event" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


def test_a_replay_that_differs_names_the_event(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    log = run.log_path("Math/softmax")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    verdict = next(event for event in events if event["type"] == "evaluation")
    verdict["lane"] = 7
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    assert main(["replay", str(run.path)]) == 1
    text = capsys.readouterr().out
    assert "Math/softmax: DIVERGES" in text and "lane 7" in text
    assert "Activation/gelu_bf16: reproduced" in text


def test_a_mistake_is_one_line_and_exit_code_2(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "elsewhere"
    (home / "experiments" / "runs").mkdir(parents=True)
    run.path.rename(home / "experiments" / "runs" / "20260101-geak")
    monkeypatch.chdir(home)
    assert main(["table", "20260101-geak"]) == 0
    capsys.readouterr()
    assert main(["table", "20260101-gaek"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "error: unknown run '20260101-gaek'; did you mean '20260101-geak'?\n"
    assert main(["table", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_damaged_log_names_its_line(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    log = run.log_path("Math/softmax")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(lines[0] + b"{torn\n" + b"".join(lines[1:]))
    assert main(["table", str(run.path)]) == 2
    assert "line 2" in capsys.readouterr().err


def test_a_table_and_every_help_need_no_torch(run: Run) -> None:
    script = (
        "import contextlib, sys\n"
        "from experiments.__main__ import main\n"
        f"assert main(['table', {str(run.path)!r}]) == 0\n"
        "for words in (['--help'], ['table', '--help'], ['replay', '--help']):\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        main(words)\n"
        "assert not {'torch', 'triton', 'openai'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("examples:") == 3


def test_the_help_of_a_command_has_its_own_examples(capsys: pytest.CaptureFixture[str]) -> None:
    commands = [name.rstrip("_") for name in COMMANDS]
    for command in commands:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        examples = capsys.readouterr().out.partition("examples:\n")[2].splitlines()
        assert examples and all(line.startswith(f"  python -m experiments {command} ") for line in examples)
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(f"experiments {command} " in text for command in commands)


def test_a_dry_runs_folder_is_named_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dry" / "prompts").mkdir(parents=True)
    assert main(["table", str(tmp_path / "dry")]) == 2
    assert "it is a dry run's folder" in capsys.readouterr().err
