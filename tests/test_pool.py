"""Workers before they have a source: forked ahead, lost while they start, ended before their time."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from evaluator.conversation import Call, Setting, converse, converse_all
from evaluator.gpu_tier import Stop
from evaluator.judge import Evaluator
from evaluator.limits import Limits
from evaluator.pool import Child, Pool, WarmDied, WarmProcess
from evaluator.targets import targets_named
from evaluator.worker.core import on_core
from tasks.outcomes import Reason, Status
from tasks.task import Case
from tests.sources import GOOD, changed, double_task

LIMITS = Limits(call_s=60.0)
IDLE = "def double(x):\n    return x\n"
ENDLESS = "def double(x):\n    while True:\n        pass\n"


@pytest.fixture
def pool() -> Iterator[Pool]:
    one = Pool(2, targets_named(["sm90"]), LIMITS)
    yield one
    one.close()


def loads(child: Child) -> bool:
    """Whether a source does."""
    transcript = converse(child, IDLE, ["double"], [], LIMITS)
    return transcript.load is not None and transcript.load.header.get("entry") is True


def test_a_child_forked_ahead_is_the_one_that_is_used(pool: Pool) -> None:
    pool.ahead()
    ahead = [warm._next for warm in pool._all]
    assert all(ahead)
    pool.settle()
    with pool.children(most=2) as children:
        assert set(children) == set(ahead)
        assert all(map(loads, children))


def test_one_that_was_lost_while_it_started_is_replaced(pool: Pool) -> None:
    pool.ahead()
    lost = [warm._next for warm in pool._all if warm._next]
    for child in lost:
        child.kill()
        assert select.select([child.warm.control], [], [], 20)[0]
    with pool.children(most=2) as children:
        assert not set(children) & set(lost)
        assert all(map(loads, children))


def test_what_was_forked_ahead_can_be_discarded(pool: Pool) -> None:
    pool.ahead()
    old = [warm._next for warm in pool._all]
    pool.discard()
    assert not any(warm._next for warm in pool._all)
    with pool.children(most=2) as children:
        assert not set(children) & set(old)
        assert all(map(loads, children))


def test_a_process_whose_children_never_start_is_replaced(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    forked = WarmProcess._forked

    def stillborn(warm: WarmProcess) -> Child:
        child = forked(warm)
        child.kill()
        return child

    before = list(pool._all)
    with monkeypatch.context() as patch:
        patch.setattr(WarmProcess, "_forked", stillborn)
        with pytest.raises(WarmDied, match="did not start"), pool.children(most=1):
            pass
    assert len(set(pool._all) - set(before)) == 1
    with pool.children(most=2) as children:
        assert all(map(loads, children))


def test_a_machine_where_no_worker_starts_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Child, "started", lambda child: False)
    with Evaluator(device="cpu", workers=1) as evaluator:
        verdict = evaluator.evaluate(double_task(), GOOD)
    assert verdict.status is Status.INFRA_ERROR and "did not start" in verdict.diagnosis


@pytest.mark.parametrize("early", [True, False], ids=["before the calls", "during them"])
def test_a_stop_ends_the_children(pool: Pool, early: bool) -> None:
    stop = Stop()
    hands = [[Call(0, Case("x", (torch.ones(2),)))]] * 2
    if early:
        stop()
    else:
        threading.Timer(1.0, stop).start()
    with pool.children(most=2) as children, stop.ending(children):
        transcripts = converse_all(children, ENDLESS, ["double"], hands, LIMITS, Setting())
    assert [transcript.loss and transcript.loss.kind for transcript in transcripts] == ["died"] * 2
    stop()  # of those that come after, it ends none
    with pool.children(most=2) as children:
        assert all(map(loads, children))


def test_children_run_on_the_core_that_is_named() -> None:
    core = max(os.sched_getaffinity(0))
    one = Pool(1, targets_named(["sm90"]), LIMITS, core=core)
    try:
        with one.children(most=1) as (child,):
            where = converse(child, "import os\nraise ValueError(os.sched_getaffinity(0))", ["double"], [], LIMITS)
    finally:
        one.close()
    assert where.load is not None
    assert where.load.header["error"]["message"] == str({core})


def test_a_thread_that_was_kept_on_a_core_goes_where_it_may_again() -> None:
    before = os.sched_getaffinity(0)
    with on_core(max(before)):
        assert os.sched_getaffinity(0) == {max(before)}
    with on_core(None):
        assert os.sched_getaffinity(0) == before
    with pytest.raises(OSError), on_core(2**15 - 1):
        pass
    assert os.sched_getaffinity(0) == before


class StandIn:
    """A GPU's part that goes on until it is stopped."""

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def judged(self, *about: Any) -> None:
        stop: Stop = about[-1]
        while not stop.set:
            self.stopped.wait(0.01)
        self.stopped.set()

    def close(self) -> None:
        pass


def test_what_the_interpreter_refuses_is_not_waited_for_on_a_gpu() -> None:
    gpu = StandIn()
    with Evaluator(device="cpu", workers=1) as evaluator:
        evaluator._gpu = gpu  # type: ignore[assignment]
        verdict = evaluator.evaluate(double_task(), changed(("2 * x", "3 * x")))
    assert gpu.stopped.is_set()
    assert (verdict.status, verdict.reason, verdict.device) == (Status.WRONG, Reason.MISMATCH, "cuda")
