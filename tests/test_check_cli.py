"""`python -m evaluator check`: one kernel against one task, in a text that says no more than was seen."""

from pathlib import Path

import pytest

from evaluator.__main__ import main
from evaluator.judge import Evaluator
from tests.sources import GOOD, changed

TASK = """\
from tests.sources import double_task

TASK = double_task()
"""


def test_a_category_is_not_one_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kernel.py").write_text(GOOD)
    assert main(["check", "Pooling", str(tmp_path / "kernel.py")]) == 2
    assert capsys.readouterr().err == "error: Pooling names 2 tasks; a kernel is checked against one\n"


def test_a_refused_case_does_not_read_as_right_and_small_cases_not_as_timed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, evaluator: Evaluator
) -> None:
    monkeypatch.setattr(
        "evaluator.judge.Evaluator.__init__", lambda self, *_, **__: self.__dict__.update(vars(evaluator))
    )
    monkeypatch.setattr("evaluator.judge.Evaluator.close", lambda self: None)
    (tmp_path / "task.py").write_text(TASK)
    (tmp_path / "kernel.py").write_text(changed(("return y", "return y * 1")))
    assert main(["check", str(tmp_path / "task.py"), str(tmp_path / "kernel.py")]) == 1
    said = capsys.readouterr().out
    assert "torch_compute, values right" in said and " right (" not in said
    (tmp_path / "kernel.py").write_text(GOOD)
    assert main(["check", str(tmp_path / "task.py"), str(tmp_path / "kernel.py")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("  small ")]
    assert not [line for line in lines if line.startswith("  timed ")]
