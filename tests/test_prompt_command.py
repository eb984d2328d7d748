"""`python -m agents prompt`: exactly what a model would read, and mistakes in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agents.__main__ import main
from agents.models.prompt import read
from agents.prompting import broken_candidate, wasteful_candidate
from agents.protocol import Message
from agents.registry import load_method
from agents.rehearsal import rehearse
from evaluator.judge import Evaluator
from prompts.loader import Templates
from tasks.catalog import load
from tests.sources import double_task

SOFTMAX = "Math/softmax"
DOUBLE = str(Path(__file__).parent / "examples" / "double_task.py")


def test_generate_is_what_a_method_asks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prompt", "generate", "--task", "softmax"]) == 0
    told = capsys.readouterr()
    asked = rehearse(load(SOFTMAX), load_method("oneshot", {}), Templates(), rounds=1, seed=0).first
    assert [message.content for message in asked] == [told.out]
    assert told.err == ""


@pytest.mark.parametrize(("name", "variable"), [("fix", "last"), ("reflect.j2", "last"), ("optimise", "best")])
def test_a_stand_in_for_a_candidate_is_told_apart(capsys: pytest.CaptureFixture[str], name: str, variable: str) -> None:
    assert main(["prompt", name, "--task", DOUBLE]) == 0
    told = capsys.readouterr()
    assert told.err.startswith(f"note: `{variable}` is an example candidate") and told.err.count("\n") == 1
    prompt = read([Message("user", told.out)])
    example = {"last": broken_candidate, "best": wasteful_candidate}[variable](double_task())
    assert (prompt.task, prompt.source, prompt.diagnosis) == (
        "Mine/double",
        example.source,
        example.evaluation.diagnosis,
    )


@pytest.mark.parametrize("example", [broken_candidate, wasteful_candidate])
def test_the_evaluator_gives_the_example_its_diagnosis(evaluator: Evaluator, example) -> None:  # type: ignore[no-untyped-def]
    candidate = example(double_task())
    verdict = evaluator.evaluate(double_task(), candidate.source)
    ours = candidate.evaluation
    assert (ours.status, ours.reason, ours.stage, ours.traffic) == (
        verdict.status,
        verdict.reason,
        verdict.stage,
        verdict.traffic,
    )
    assert ours.diagnosis == verdict.diagnosis


def test_the_users_folder_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "generate.j2").write_text("Be quick with {{ task.entry }}: {{ cases | length }} cases")
    (tmp_path / "critique.j2").write_text("{{ task.id }}: {{ opinion }}")
    assert main(["prompt", "generate", "--task", SOFTMAX, "--prompts", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "Be quick with softmax: 3 cases"
    assert main(["prompt", "critique", "--task", SOFTMAX, "--prompts", str(tmp_path)]) == 2
    assert capsys.readouterr() == ("", "error: template critique.j2: 'opinion' is undefined\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["genrate", "--task", SOFTMAX], "unknown template 'genrate'; did you mean 'generate'"),
        (["fxi.j2", "--task", SOFTMAX], "did you mean 'fix"),
        (["fix", "--task", "softmaxx"], "did you mean 'Math/softmax'"),
        (["fix", "--task", "*"], "--task takes one task; '*' names"),
        (["fix", "--task", SOFTMAX, "--prompts", "absent"], "no folder of templates 'absent'"),
    ],
)
def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["prompt", *words]) == 2
    told = capsys.readouterr()
    assert told.out == "" and re.fullmatch(r"error: .*\n", told.err) and said in told.err


def test_a_task_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["prompt", "fix"])
    assert stopped.value.code == 2 and "--task" in capsys.readouterr().err
