"""A run that can't write, or isn't alone: one clear end, nothing lost that was written, the same end once resumed."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from loop_fakes import NAMES, Answers, Verdicts, go, make_run

from agents.journal import identity, settled
from agents.log import LogWriter
from agents.loop import RunEnd
from agents.newrun import held
from agents.run import main
from agents.runfolder import Run, open_run

ROOT = Path(__file__).resolve().parent.parent
NOBODY = 65534


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that nothing came in the way of."""
    run = make_run(tmp_path_factory.mktemp("whole") / "run", workers=1)
    assert go(run).state == "done"
    return run


def logs(run: Run) -> dict[str, bytes]:
    return {name: run.log_path(name).read_bytes() if run.log_path(name).exists() else b"" for name in NAMES}


def assert_goes_on_to_the_same_end(run: Run, whole: Run) -> None:
    """It resumes, keeps every line that is there, asks for no recorded reply, and ends like an undisturbed run."""
    before, model = logs(run), Answers()
    had = sum(event["type"] == "reply" for name in NAMES for event in run.events(name))
    assert go(run, model).state == "done"
    for name in NAMES:
        events = run.events(name)
        assert logs(run)[name].startswith(before[name][: before[name].rfind(b"\n") + 1])
        assert settled(events) == settled(whole.events(name))
        again = Counter(identity(event) for event in events if event["type"] not in ("resume", "task_end"))
        assert set(again.values()) == {1}
        best = [one.path / "best" / f"{name}.py" for one in (run, whole)]
        assert len({path.read_text() if path.exists() else None for path in best}) == 1
    replies = sum(event["type"] == "reply" for name in NAMES for event in run.events(name))
    assert len(model.calls) == replies - had


def assert_ends_in(end: RunEnd, said: str) -> None:
    """At least one task says why in one line, and what the others are is no success."""
    reasons = [task.reason or "" for task in end.tasks if task.state == "error"]
    assert reasons and all(said in reason and "\n" not in reason for reason in reasons)
    assert all(task.traceback is None for task in end.tasks)


class Disk:
    """A disk with `left` bytes for logs: the write that doesn't fit is cut, the next one fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, left: int) -> None:
        self.left, self.real, self.lock = left, os.write, threading.Lock()
        monkeypatch.setattr(os, "write", self.write)

    def write(self, file: int, data: bytes) -> int:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return self.real(file, data)
        with self.lock:
            if not self.left:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written = self.real(file, data[: self.left])
            self.left -= written
            return written


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("share", [0.0, 0.002, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_a_disk_that_fills_up_anywhere_costs_nothing(
    share: float, workers: int, tmp_path: Path, whole: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path / "run", workers=workers)
    with monkeypatch.context() as patch:
        Disk(patch, int(share * sum(map(len, logs(whole).values()))))
        assert_ends_in(go(run), "No space left")
    assert all(not data or data.endswith(b"\n") for data in logs(run).values()), "no part of a line stays"
    assert_goes_on_to_the_same_end(run, whole)


def test_no_room_for_the_best_kernel_is_one_clear_end(tmp_path: Path, whole: Run) -> None:
    assert any((whole.path / "best").rglob("*.py"))
    run = make_run(tmp_path / "run", workers=1)
    (run.path / "best").write_text("in the way")
    assert_ends_in(go(run), "can't write")
    (run.path / "best").unlink()
    assert_goes_on_to_the_same_end(run, whole)


CHILD = """
import sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from loop_fakes import Answers, go
from agents.runfolder import open_run
from tasks.errors import UserError
import agents.context

agents.context.case_lines = lambda task: []  # they would import torch, for seconds

class Paid(Answers):
    def complete(self, request):
        time.sleep(0.01)
        with open(sys.argv[2], "a") as file:
            file.write(f"{{request.task}} {{request.lane}} {{request.attempt}}\\n")
        return super().complete(request)

run = open_run(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
try:
    print(*[f"{{task.state}} {{task.reason}}" for task in go(run, Paid()).tasks], sep="; ")
except UserError as error:
    print(error)
"""


def child(run: Run, bill: Path, **more: Any) -> subprocess.Popen[str]:
    """A process that goes on with a run once it gets a line, and notes each reply outside it."""
    command = [sys.executable, "-B", "-c", CHILD.format(tests=str(ROOT / "tests")), str(run.path), str(bill)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    begun = subprocess.Popen(command, cwd=ROOT, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True, **more)
    assert begun.stdout and begun.stdout.readline() == "ready\n"
    return begun


@pytest.mark.parametrize("limit_bytes", [100, 3000, 9000])
def test_a_real_limit_on_the_size_of_a_file(limit_bytes: int, tmp_path: Path, whole: Run) -> None:
    assert min(map(len, logs(whole).values())) > limit_bytes
    run = make_run(tmp_path / "run")
    limited = child(
        run,
        tmp_path / "bill",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes)),
    )
    said, traceback = limited.communicate("\n")
    assert (limited.returncode, traceback) == (0, "")
    assert "error can't write" in said and "File too large" in said
    assert all(len(data) <= limit_bytes and data.endswith(b"\n") for data in logs(run).values() if data)
    assert_goes_on_to_the_same_end(run, whole)


@contextmanager
def read_only(run: Run) -> Iterator[None]:
    """The run can't be written: by its modes, or, for root, who is above modes, as somebody else who owns it."""
    paths = [run.path, *run.path.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    root = os.geteuid() == 0
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
        if root:
            os.chown(path, NOBODY, -1)
    try:
        if root:
            os.seteuid(NOBODY)
        yield
    finally:
        if root:
            os.seteuid(0)
        for path, mode in modes.items():
            if root:
                os.chown(path, 0, -1)
            path.chmod(mode)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others can reach too; pytest's own is closed to them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def test_a_read_only_run_ends_clearly_and_stays_as_it_is(
    open_folder: Path, whole: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(open_folder / "run", workers=1)
    with monkeypatch.context() as patch:
        Disk(patch, 5000)
        go(run)
    before = logs(run)
    with read_only(run):
        end = go(run)
        assert [task.state for task in end.tasks] == ["error", "stopped"], "no other task is tried"
        assert_ends_in(end, "can't write")
        assert settled(run.events(NAMES[0])), "it can be read"
    assert logs(run) == before
    assert_goes_on_to_the_same_end(run, whole)


class Fake(Verdicts):
    """Takes the place of the evaluator."""

    def __init__(self, **_: Any) -> None:
        super().__init__()


@pytest.fixture
def unfinished(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of the command line that a full disk ended."""
    monkeypatch.setattr("evaluator.judge.Evaluator", Fake)
    folder = str(open_folder / "run")
    with monkeypatch.context() as patch:
        Disk(patch, 20_000)
        assert main(["--tasks", "softmax", "--rounds", "4", "--out", folder]) == 1
    return open_run(Path(folder))


def assert_refused(run: Run, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    assert main(["--resume", str(run.path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1 and said in err
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


def assert_resumes(run: Run) -> None:
    assert main(["--resume", str(run.path)]) == 0
    again = open_run(run.path)
    assert (again.record["state"], len(again.candidates("Math/softmax"))) == ("done", 8)


def test_resuming_a_read_only_run_is_refused_in_one_line(unfinished: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with read_only(unfinished):
        assert_refused(unfinished, "can't write", capsys)
    assert_resumes(unfinished)


def test_a_new_run_where_nothing_can_be_written(
    open_folder: Path, unfinished: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    with read_only(unfinished):
        assert main(["--tasks", "softmax", "--out", str(unfinished.path / "inner")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "can't make the run folder" in err


def test_resuming_what_is_being_run_is_refused_until_it_ends(
    unfinished: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    with held(unfinished):
        assert_refused(unfinished, "another process", capsys)
    assert_resumes(unfinished)


def test_of_processes_that_start_at_once_one_runs_and_pays(tmp_path: Path, whole: Run) -> None:
    run, bill = make_run(tmp_path / "run"), tmp_path / "bill"
    racers = [child(run, bill) for _ in range(3)]
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("\n")
        racer.stdin.flush()
    said = sorted(racer.communicate()[0].strip() for racer in racers)
    assert [line.startswith("another process writes to ") for line in said] == [True, True, False]
    assert said[-1] == "done None; done None"
    paid = Counter(bill.read_text().splitlines())
    assert set(paid.values()) == {1}
    assert sum(paid.values()) == sum(event["type"] == "reply" for name in NAMES for event in run.events(name))
    for name in NAMES:
        assert settled(run.events(name)) == settled(whole.events(name))


def test_a_log_in_use_ends_the_run_before_it_pays(tmp_path: Path, whole: Run) -> None:
    run, model = make_run(tmp_path / "run", workers=1), Answers()
    with closing(LogWriter(run.log_path(NAMES[0]))):
        assert_ends_in(go(run, model), "another process writes to")
    assert model.calls == []
    assert_goes_on_to_the_same_end(run, whole)
