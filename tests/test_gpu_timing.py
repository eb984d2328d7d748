"""Timing a candidate and judging it at timed sizes, with a CPU in the GPU's place: clocks and processes are real."""

from __future__ import annotations

import socket
import threading
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from evaluator import gpu_timing, wire
from evaluator.conversation import Setting
from evaluator.gpu_timing import Timed, Timekeeper
from evaluator.limits import Limits
from evaluator.timing_records import Invalid
from evaluator.worker import stopwatch
from evaluator.worker.clock import Host
from evaluator.worker.session import Session
from tasks.draw import Draw
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Case, Task
from tests.sources import double_task

RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    y = 2 * x\n    y[70000:] = 0\n    return y\n"
RAISES = "def double(x):\n    raise RuntimeError(f'{x.numel()} elements are too many')\n"
ENDS = "import os\n\ndef double(x):\n    raise SystemExit\n"


def timed_sizes(draw: Draw) -> Iterator[Case]:
    yield Case("2^16", (draw.normal(2**16),))
    yield Case("2^17", (draw.normal(2**17),))


@pytest.fixture(scope="module")
def task() -> Task:
    return replace(double_task(), timed=timed_sizes)


@pytest.fixture(scope="module")
def keeper() -> Iterator[Timekeeper]:
    one = Timekeeper(b"secret", Setting(), Limits(call_s=20.0), ["eager", "oracle"], device="host")
    yield one
    one.close()


def timed(keeper: Timekeeper, task: Task, source: str, monkeypatch: pytest.MonkeyPatch) -> Timed:
    """With a worker in a thread, which answers as a GPU's worker does."""
    monkeypatch.setattr(gpu_timing, "peaks_of", lambda *_: {"gbs": {"copy": 1e6}, "tflops": {}})
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=worker, args=(theirs,))
    thread.start()
    try:
        return keeper.timed(task, source, ours)
    finally:
        ours.close()
        thread.join()


def worker(sock: socket.socket) -> None:
    session = Session(sock, types.SimpleNamespace())  # type: ignore[arg-type]
    module: dict[str, Any] = {}
    watch = stopwatch.Timed(stopwatch.Stopwatch(Host()), lambda a, k: module["double"](*a, **k), session.left)
    with sock:
        while True:
            try:
                header, frames = wire.receive(sock)
                if header["op"] == "load":
                    exec(header["source"], module)
                    said, out = {"entry": True}, []
                else:
                    said, out = watch.handle(header, frames)
                    if header["op"] == "kept":
                        said |= module.get("SAYS", {})
            except wire.Ended:
                return
            except RuntimeError as error:
                said, out = {"error": {"type": "RuntimeError", "message": str(error)}}, []
            except SystemExit:
                return
            wire.send(sock, {"event": "reply", **said}, out)


def test_a_right_candidate_is_timed_at_all_sizes(
    keeper: Timekeeper, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = timed(keeper, task, RIGHT, monkeypatch)
    assert done.failure is None
    assert [size.label for size in done.timing.sizes][:1] == ["2^17"] and done.timing.expected == 2


def test_wrong_at_a_timed_size_is_wrong(keeper: Timekeeper, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):  # a loaded machine may find the clock at fault before the second size
        done = timed(keeper, task, WRONG, monkeypatch)
        if done.failure:
            break
    assert done.failure is not None and done.failure.drawn is not None
    assert (done.failure.status, done.failure.stage) == (Status.WRONG, Stage.TIME)
    assert done.failure.drawn.case.label == "2^17" and done.failure.mismatch is not None
    assert done.timing.failure is not None and done.timing.failure.invalid is Invalid.WRONG
    assert done.timing.speedup is None


def test_an_exception_and_an_end_are_the_candidates_own(
    keeper: Timekeeper, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = timed(keeper, task, RAISES, monkeypatch)
    assert done.failure is not None and "too many" in str(done.failure.error)
    assert (done.failure.status, done.failure.reason) == (Status.RUNTIME_ERROR, Reason.EXCEPTION)
    done = timed(keeper, task, ENDS, monkeypatch)
    assert done.failure is not None and done.failure.loss is not None and done.timing.speedup is None
    assert (done.failure.status, done.failure.reason) == (Status.RUNTIME_ERROR, Reason.DIED)


@pytest.mark.parametrize("says", [{"variant": 9}, {"variant": -1}, {"returned": {"tensor": 77}}, {"arguments": [1]}])
def test_a_malformed_answer_is_the_candidates_own(
    keeper: Timekeeper, task: Task, monkeypatch: pytest.MonkeyPatch, says: dict[str, Any]
) -> None:
    for _ in range(3):  # a loaded machine may find the clock at fault before
        done = timed(keeper, task, f"SAYS = {says!r}\n{RIGHT}", monkeypatch)
        if done.failure:
            break
    assert done.failure is not None
    assert (done.failure.status, done.failure.reason) == (Status.REJECTED, Reason.PROTOCOL)


def test_sizes_are_drawn_once_a_task(keeper: Timekeeper, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    timed(keeper, task, RIGHT, monkeypatch)
    first = keeper.draw(task)
    timed(keeper, task, RAISES, monkeypatch)
    assert keeper.draw(task) is first
    sizes = first.result()
    assert sizes.truth(0, 1) is sizes.truth(0, 1)
    assert keeper.draw(double_task()) is not first
