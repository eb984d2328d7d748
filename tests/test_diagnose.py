"""`python -m experiments diagnose`: what counts as found and as named, and what an oracle must not get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.records import Evaluation
from experiments.__main__ import main
from experiments.diagnose import LABELS, diagnose, diagnosed, pairs
from tasks.catalog import oracle_path
from tasks.faults.catalog import FAULTS, by_name
from tasks.faults.fault import VALUES
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

ORACLE = oracle_path("Math/softmax").read_text()


class Fixed:
    """Gives every source but the oracle one verdict."""

    def __init__(self, verdict: Evaluation, oracle: Evaluation | None = None) -> None:
        self.verdict = verdict
        self.oracle = oracle or Evaluation("", "", Status.CORRECT, None, None, "correct")

    def __enter__(self) -> Fixed:
        return self

    def __exit__(self, *_: object) -> None: ...

    def evaluate(self, task: Task, source: str) -> Evaluation:
        return self.oracle if source == ORACLE else self.verdict


def wrong(*patterns: str, reason: Reason = Reason.MISMATCH) -> Evaluation:
    return Evaluation("", "", Status.WRONG, Stage.COMPARE, reason, "some text", patterns=patterns)


@pytest.mark.parametrize(
    ("verdict", "label", "right"),
    [
        (wrong("padded_lanes", "shifted"), "padded_lanes", True),
        (wrong("shifted", "padded_lanes"), "shifted", False),
        (wrong(), None, False),
        (Evaluation("", "", Status.COMPILE_ERROR, Stage.RUN, Reason.COMPILATION, ""), "compilation", False),
        (Evaluation("", "", Status.CORRECT, None, None, "correct"), None, False),
    ],
)
def test_only_the_first_label_counts(verdict: Evaluation, label: str | None, right: bool) -> None:
    found = diagnosed(Fixed(verdict), by_name("zero_padding"), "Math/softmax", "x")
    assert (found.label, found.right_label, found.detected) == (label, right, not verdict.correct)


def test_every_kind_that_leaves_nothing_but_values_has_a_label() -> None:
    for fault in FAULTS:
        if not fault.slow and fault.reasons <= VALUES:
            assert fault.name in LABELS, fault.name
    assert set(LABELS) <= {fault.name for fault in FAULTS}


def test_the_table_tells_what_was_missed_and_what_was_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rows.json"
    args: tuple[Any, ...] = (["zero_padding", "wrong_sign"], ["Math/softmax"], 1, out)
    assert diagnose(*args, make_judge=lambda workers: Fixed(wrong("padded_lanes"))) == 0
    said = capsys.readouterr().out
    rows = json.loads(out.read_text())
    assert f"detected {len(rows)} of {len(rows)}" in said and "precision 1 of" in said
    passed = Evaluation("", "", Status.CORRECT, None, None, "correct")
    assert diagnose(*args, make_judge=lambda workers: Fixed(passed)) == 1
    assert "not detected: zero_padding in Math/softmax" in capsys.readouterr().out


def test_a_label_on_an_oracle_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    labelled = Evaluation("", "", Status.CORRECT, None, None, "correct", patterns=("shifted",))
    made = Fixed(wrong("padded_lanes"), labelled)
    assert diagnose(["zero_padding"], ["Math/softmax"], 1, None, make_judge=lambda workers: made) == 1
    assert "oracles with a label or a refusal: 1 of 1: Math/softmax" in capsys.readouterr().out


def test_kinds_and_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    assert {fault.name for fault, _, _ in pairs([], ["Math/softmax"])} > {"zero_padding", "no_max_subtraction"}
    assert main(["diagnose", "--kinds", "zero_paddin"]) == 2
    assert "did you mean 'zero_padding'" in capsys.readouterr().err
