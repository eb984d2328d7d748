"""The doctor says what stands, proves it, and ends with 1 where something does not."""

from __future__ import annotations

import pytest

import evaluator.pool
from evaluator.__main__ import main
from tests.test_sandbox import REFUSED


def test_every_fence_is_named_and_tried(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor"])
    said = capsys.readouterr().out
    assert "trial     an honest kernel: correct\n" in said
    assert "trial     a kernel that reads a hidden file: runtime_error (load_error)\n" in said
    assert "the daemon is gone\n" in said
    assert "WRONG" not in said
    assert code == (1 if "reduced assurance" in said else 0)
    if code == 0:
        for fence in ("PID namespace", "network namespace", "read-only view", "no privileges", "tasks hidden"):
            assert f"fence     {fence}: up\n" in said


def test_a_machine_that_permits_nothing_has_reduced_assurance(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = evaluator.pool.START.replace("from evaluator.worker.warm", REFUSED)
    monkeypatch.setattr(evaluator.pool, "START", start)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "fence     no PID namespace (Operation not permitted)\n" in said
    assert "reduced assurance: " in said
    assert "the daemon is gone\n" in said


def test_a_worker_that_cannot_start_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluator.pool, "START", "raise SystemExit('no room on this machine')")
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "no worker can be started: " in said
    assert "no room on this machine" in said
