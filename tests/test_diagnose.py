"""`python -m experiments diagnose`: what counts as found and as named, and what a right kernel must not get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.patterns import PatternName
from evaluator.records import Evaluation
from experiments.diagnose import diagnose, diagnosed, list_kinds, pairs, right_kernels
from experiments.diagnose_labels import HINTS, LABELS, UNSAID
from experiments.diagnose_table import lines
from tasks.catalog import oracle_path
from tasks.errors import UserError
from tasks.faults.catalog import FAULTS, by_name
from tasks.faults.equivalent import EQUIVALENT, OUT_OF_REACH
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

SOFTMAX = "Math/softmax"
ORACLE = oracle_path(SOFTMAX).read_text()
CORRECT = Evaluation("", "", Status.CORRECT, None, None, "correct")


class Fixed:
    """Gives every source but the oracle one verdict."""

    def __init__(self, verdict: Evaluation, oracle: Evaluation = CORRECT) -> None:
        self.verdict = verdict
        self.oracle = oracle

    def __enter__(self) -> Fixed:
        return self

    def __exit__(self, *_: object) -> None: ...

    def evaluate(self, task: Task, source: str) -> Evaluation:
        return self.oracle if source == ORACLE else self.verdict


def wrong(*patterns: str, reason: Reason = Reason.MISMATCH) -> Evaluation:
    return Evaluation("", "", Status.WRONG, Stage.COMPARE, reason, "some text", patterns=patterns)


def refused(diagnosis: str, reason: Reason = Reason.COMPILATION) -> Evaluation:
    return Evaluation("", "", Status.COMPILE_ERROR, Stage.RUN, reason, diagnosis)


def rejected(*patterns: str) -> Evaluation:
    return Evaluation("", "", Status.REJECTED, Stage.CONTRACT, Reason.ALIASES_INPUT, "some text", patterns=patterns)


@pytest.mark.parametrize(
    ("kind", "verdict", "label", "right"),
    [
        ("zero_padding", wrong("padded_lanes", "shifted"), "padded_lanes", True),
        ("zero_padding", wrong("shifted", "padded_lanes"), "shifted", False),
        ("zero_padding", wrong(), None, False),
        ("zero_padding", refused(""), None, False),
        ("zero_padding", CORRECT, None, False),
        ("missing_constexpr", refused("hint: a shape must be known to the compiler: declare it"), "constexpr", True),
        ("missing_constexpr", refused("the source says: a shape must be known to the compiler"), None, False),
        ("missing_constexpr", refused("hint: `n` is 3, no power of two"), "power_of_two", False),
        ("wrong_dtype", wrong(reason=Reason.DTYPE), "dtype", True),
        ("wrong_dtype", wrong(reason=Reason.EXCEPTION), None, False),
        ("wrong_dtype", wrong(reason=Reason.SHAPE), "shape", False),
        ("returned_input", rejected("shifted"), "aliases_input", True),
    ],
)
def test_only_the_first_label_counts(kind: str, verdict: Evaluation, label: str | None, right: bool) -> None:
    found = diagnosed(verdict, by_name(kind), SOFTMAX)
    assert (found.label, found.right_label, found.detected) == (label, right, not verdict.correct)


def test_every_kind_says_what_names_it() -> None:
    for fault in FAULTS:
        assert fault.slow or fault.name in LABELS or fault.reasons - UNSAID, fault.name
    assert set(LABELS) <= {fault.name for fault in FAULTS}
    assert set().union(*LABELS.values()) <= {*PatternName, *HINTS, "shape"}


def test_the_table_tells_what_was_missed_and_what_was_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rows.json"
    args: tuple[Any, ...] = (["zero_padding", "wrong_sign"], [SOFTMAX], 1, out)
    assert diagnose(*args, make_judge=lambda workers: Fixed(wrong("padded_lanes"))) == 0
    said = capsys.readouterr().out
    rows = json.loads(out.read_text())["mistakes"]
    assert f"detected: {len(rows)} of {len(rows)}" in said and "1 of 2 (50.0%) (recall)" in said
    assert diagnose(*args, make_judge=lambda workers: Fixed(CORRECT)) == 1
    assert "not detected: zero_padding in Math/softmax" in capsys.readouterr().out


def test_precision_asks_every_mutant_with_the_label() -> None:
    rows = [
        diagnosed(wrong("padded_lanes"), by_name("zero_padding"), SOFTMAX),
        diagnosed(wrong("padded_lanes"), by_name("zero_start"), SOFTMAX),
        diagnosed(wrong("padded_lanes"), by_name("wrong_sign"), SOFTMAX),
    ]
    assert {line.kind: line.precision for line in lines(rows)}["zero_padding"] == (2, 3)


def test_the_page_holds_the_table_and_the_lists(capsys: pytest.CaptureFixture[str]) -> None:
    made = Fixed(wrong("padded_lanes"))
    diagnose(["zero_padding"], [SOFTMAX], 1, None, markdown=True, make_judge=lambda workers: made)
    said = capsys.readouterr().out
    assert "| zero_padding | 1 | 1 | 1 | 1 | 100% | 9 | padded_lanes* 1 |" in said
    assert "## Kept apart, and correct\n\nNone." in said and "torch 2" in said
    assert "`python -m experiments diagnose --kinds zero_padding --tasks Math/softmax --markdown`" in said


@pytest.mark.parametrize("verdict", [CORRECT, wrong("rounding")], ids=["right", "refused"])
def test_a_mutant_declared_equivalent_must_be_right(
    verdict: Evaluation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EQUIVALENT, ("zero_padding", SOFTMAX), "for this test")
    code = diagnose(["zero_padding"], [SOFTMAX], 1, None, make_judge=lambda workers: Fixed(verdict))
    assert code == int(not verdict.correct)
    assert "kept apart: zero_padding in Math/softmax, equivalent: for this test" in capsys.readouterr().out


def test_a_label_on_a_right_kernel_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    labelled = Evaluation("", "", Status.CORRECT, None, None, "correct", patterns=("shifted",))
    made = Fixed(wrong("padded_lanes"), labelled)
    assert diagnose(["zero_padding"], [SOFTMAX], 1, None, make_judge=lambda workers: made) == 1
    said = capsys.readouterr().out
    assert "right kernels with a label: 1 of 1; refused: 0" in said
    assert "right and refused or labelled: oracle of Math/softmax (correct) shifted" in said


def test_right_kernels_of_a_folder_are_judged_with_the_oracles(tmp_path: Path) -> None:
    (tmp_path / "Math__softmax__other.py").write_text("pass\n")
    (tmp_path / "hon_scale__host.py").write_text("pass\n")
    assert [name for name, _, _ in right_kernels([SOFTMAX], tmp_path)] == [
        "oracle of Math/softmax",
        "Math__softmax__other",
    ]
    with pytest.raises(UserError, match="holds no"):
        right_kernels(["Random/rand"], tmp_path)


def test_kinds_and_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    assert {fault.name for fault, _, _ in pairs([], [SOFTMAX])} > {"zero_padding", "no_max_subtraction"}
    with pytest.raises(UserError, match=r"did you mean 'zero_padding'.*--list"):
        list(pairs(["zero_paddin"], [SOFTMAX]))
    with pytest.raises(UserError, match="did you mean 'shared_scale', 'dropped_scale'"):
        list(pairs(["scale"], [SOFTMAX]))
    assert list_kinds() == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told] == [fault.name for fault in FAULTS if not fault.slow]


def test_mutants_kept_apart_are_there_and_explained() -> None:
    apart = {**EQUIVALENT, **OUT_OF_REACH}
    fitting = {(fault.name, task) for fault, task, _ in pairs([], sorted({task for _, task in apart}))}
    assert set(apart) <= fitting
    assert all(len(why.split()) > 8 for why in apart.values())
