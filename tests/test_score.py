"""`python -m experiments score`: judged in parallel, gone on with after a kill, compared with what the origin said."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loop_fakes import infra, verdict

from agents.imports import Foreign, Import, import_run
from agents.log import LogWriter
from agents.runfolder import Run, open_run
from agents.verdicts import Recorded
from evaluator.records import Evaluation
from experiments.__main__ import main
from experiments.outcomes import compared, counts_of, outcomes_of
from experiments.score import score
from tasks.errors import UserError
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task


class Fake:
    """Takes the place of the evaluator: sources that say "right" are. Keeps what it was asked."""

    def __init__(self, **asked: Any) -> None:
        self.asked: list[tuple[str, str]] = []
        self.broken = 0

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None: ...

    def describe(self) -> dict[str, Any]:
        return {"device": "cpu", "targets": ["sm90"]}

    def evaluate(self, task: Task, source: str) -> Evaluation:
        self.asked.append((task.id, source))
        if self.broken:
            self.broken -= 1
            return infra(task.id, source)
        return verdict(task.id, source, "right" in source)

    def loads(self, task: str, entries: Any, source: str) -> Evaluation | None:
        self.asked.append((task, source))
        if "right" in source:
            return None
        return Evaluation(task, "", Status.RUNTIME_ERROR, Stage.LOAD, Reason.LOAD_ERROR, "no")


@pytest.fixture(autouse=True)
def not_built(hide: Callable[..., None]) -> None:
    """Two tasks that have no file."""
    hide("Math/erf", "Math/log1p")


SOURCES = [
    Foreign("Math/softmax.py", "right = 1", recorded=Recorded(called=True, correct=True, speedup=2.0)),
    Foreign("Math/softmax.py", "other = 1", round=2, recorded=Recorded(called=True, correct=True, speedup=1.5)),
    Foreign("Reduce/argmax", "wrong = 2", recorded=Recorded(called=False, correct=False)),
    Foreign("Reduce/argmax", None, round=2),
    Foreign("Math/erf", "right = 3"),
    Foreign("Math/log1p", "wrong = 4"),
    Foreign("Elsewhere/nothing_of_ours", "right = 5"),
]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made, counts = import_run(tmp_path / "r", Import(SOURCES, "someone", {"format": "test"}))
    assert (counts.sources, counts.tasks, counts.unknown) == (6, 4, {"Elsewhere/nothing_of_ours": 1})
    assert set(counts.not_built) == {"Math/erf", "Math/log1p"}
    return made


def quiet(line: str) -> None: ...


def test_every_source_gets_an_outcome_and_unbuilt_tasks_are_counted_apart(run: Run) -> None:
    end = score(run, Fake(), workers=2, say=quiet)
    assert (end.judged, end.before, end.infra, end.interrupted) == (6, 0, 0, False)
    evaluated, loaded = counts_of(outcomes_of(open_run(run.path)))
    assert evaluated == {"correct": 1, "wrong: mismatch": 2, "rejected: no_code": 1}
    assert loaded == {"loads": 1, "runtime_error: load_error": 1}
    record = open_run(run.path).record
    assert record["scored"]["tasks"] == ["Math/softmax", "Reduce/argmax"]
    assert record["state"] == "done"


def test_a_second_session_judges_nothing_twice_and_what_the_machine_failed_again(run: Run) -> None:
    first = Fake()
    first.broken = 1
    assert score(run, first, workers=1, say=quiet).infra == 1
    assert open_run(run.path).record["state"] == "imported"
    second = Fake()
    end = score(open_run(run.path), second, workers=2, say=quiet)
    assert (end.judged, end.before, end.infra) == (1, 5, 0)
    assert second.asked == [("Math/softmax", "right = 1")]
    assert open_run(run.path).record["state"] == "done"
    assert score(open_run(run.path), second, workers=2, say=quiet).judged == 0


def test_a_killed_session_is_gone_on_with(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException): ...

    written = LogWriter._append

    def dying(log: LogWriter, line: bytes) -> None:
        if b'"Reduce/argmax"' not in line and b'"evaluation"' in line and b'"index":1' in line:
            written(log, line[:-9])
            raise Killed
        written(log, line)

    with monkeypatch.context() as patch:
        patch.setattr(LogWriter, "_append", dying)
        with pytest.raises(Killed):
            score(run, Fake(), workers=1, say=quiet)
    again = Fake()
    end = score(open_run(run.path), again, workers=1, say=quiet)
    assert end.judged + end.before == 6
    assert ("Math/softmax", "other = 1") in again.asked or ("Math/softmax", "right = 1") in again.asked
    assert sum(counts_of(outcomes_of(open_run(run.path)))[0].values()) == 4


def test_verdicts_are_set_beside_the_recorded_ones(run: Run) -> None:
    score(run, Fake(), workers=2, say=quiet)
    pairs, differing = compared(outcomes_of(open_run(run.path)))
    assert pairs == {("correct", "correct"): 1, ("correct", "wrong"): 1, ("failed", "wrong"): 1}
    assert [(one.source.task, one.theirs, one.ours) for one in differing] == [
        ("Math/softmax", "correct", "wrong: mismatch"),
        ("Reduce/argmax", "failed", "wrong: mismatch"),
    ]


def test_the_table_of_an_import_is_the_origins_until_it_was_scored(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", str(run.path)]) == 0
    out = capsys.readouterr().out
    assert "as the origin recorded them" in out
    assert "2.00x" in out and "Math/erf" in out
    score(run, Fake(), workers=2, say=quiet)
    assert main(["table", str(run.path)]) == 0
    out = capsys.readouterr().out
    assert "2 tasks: 1 persistent" in out or "2 tasks: 1 regressed" in out or "2 tasks:" in out
    assert "Math/erf" not in out, "a task that is not built is in no rate"
    assert main(["table", str(run.path), "--recorded"]) == 0
    assert "as the origin recorded them" in capsys.readouterr().out


def test_a_run_of_our_own_is_not_scored_and_an_import_is_not_resumed(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from loop_fakes import go, make_run

    from agents.run import main as run_main

    own = make_run(tmp_path / "own")
    go(own)
    with pytest.raises(UserError, match="--re-evaluate"):
        score(own, Fake(), workers=1, say=quiet)
    assert run_main(["--resume", str(run.path)]) == 2
    assert "was imported" in capsys.readouterr().err
    assert main(["table", str(own.path), "--recorded"]) == 2
    assert main(["replay", str(run.path)]) == 2


def test_the_command_imports_scores_compares_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("evaluator.judge.Evaluator", Fake)
    path = tmp_path / "predictions.jsonl"
    lines = [
        {"file": "Math/softmax.py", "predict": "```python\nright = 1\n```"},
        {"file": "Math/erf.py", "predict": "-"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = tmp_path / "scored"
    assert main(["score", str(path), "--out", str(out), "--compare"]) == 0
    said = capsys.readouterr().out
    assert "2 sources judged now, 0 before" in said
    assert said.index("2 tasks; starting the evaluator") < said.index("Math/softmax: correct")
    assert "1 source for built tasks" in said
    assert "the origin recorded no verdict" in said
    assert main(["score", str(path), "--out", str(out)]) == 0
    assert "0 sources judged now, 2 before" in capsys.readouterr().out
    assert main(["score", str(out)]) == 0
    path.write_text(path.read_text() + json.dumps(lines[0]) + "\n")
    assert main(["score", str(path), "--out", str(out)]) == 2
    assert "something else" in capsys.readouterr().err


def test_settings_that_are_not_the_runs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    class Noting(Fake):
        def __init__(self, **settings: Any) -> None:
            super().__init__()
            self.targets = list(settings["targets"])
            asked.append(self.targets)

        def describe(self) -> dict[str, Any]:
            return {"device": "cpu", "targets": self.targets}

    monkeypatch.setattr("evaluator.judge.Evaluator", Noting)
    path, out = tmp_path / "p.jsonl", tmp_path / "scored"
    path.write_text(json.dumps({"file": "Math/softmax.py", "predict": "```python\nright = 1\n```"}) + "\n")
    both = ["score", str(path), "--out", str(out)]
    assert main([*both, "--targets", "sm90,sm80"]) == 0
    capsys.readouterr()
    for words, wanted in (
        ([*both, "--targets", "sm80"], "was judged with targets sm90,sm80, not sm80"),
        (["score", str(out), "--targets", "sm80"], "was judged with targets"),
        ([*both, "--model", "another"], "was imported with model p, not another"),
        ([*both, "--format", "geak"], "was imported with format predictions, not geak"),
        (["score", str(out), "--out", str(tmp_path / "new")], "leave --out out"),
    ):
        assert main(words) == 2
        err = capsys.readouterr().err
        assert wanted in err and err.count("\n") == 1
    assert main(both) == 0 and main([*both, "--targets", "sm90,sm80", "--format", "predictions"]) == 0
    assert asked == [["sm90", "sm80"]] * 3, "without --targets they are the run's"


def test_another_device_is_refused(run: Run) -> None:
    class Gpu(Fake):
        def describe(self) -> dict[str, Any]:
            return {**super().describe(), "device": "cuda"}

    score(run, Fake(), workers=1, say=quiet)
    with pytest.raises(UserError, match="judged with device cpu, not cuda"):
        score(open_run(run.path), Gpu(), workers=1, say=quiet)
    assert open_run(run.path).record["scored"]["evaluator"]["device"] == "cpu"


def test_ctrl_c_keeps_what_was_judged(run: Run) -> None:
    class Interrupting(Fake):
        def evaluate(self, task: Task, source: str) -> Evaluation:
            if len(self.asked) >= 2:
                signal.raise_signal(signal.SIGINT)
            return super().evaluate(task, source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.score.ThreadPoolExecutor", Inline)
        end = score(run, Interrupting(), workers=1, say=quiet)
    assert end.interrupted
    assert 0 < end.judged < 6
    assert open_run(run.path).record["state"] == "imported"
    assert score(open_run(run.path), Fake(), workers=1, say=quiet).before == end.judged


class Inline:
    """A thread pool that runs in the caller's thread, so that a signal comes at a known place."""

    def __init__(self, workers: int) -> None: ...

    def __enter__(self) -> Inline:
        return self

    def __exit__(self, *_: object) -> None: ...

    def submit(self, work: Any, *args: Any) -> Any:
        return Later(work, args)

    def shutdown(self, cancel_futures: bool) -> None: ...


class Later:
    def __init__(self, work: Any, args: Any) -> None:
        self.work, self.args = work, args

    def result(self) -> Any:
        return self.work(*self.args)
