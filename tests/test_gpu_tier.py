"""The GPU's part of an evaluation with a CPU in the GPU's place: its workers come ahead, end early, and are probed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from evaluator import gpu_tier
from evaluator.cases import cases_of
from evaluator.gpu_tier import CHILDREN, GpuTier, OnGpu, Stop
from evaluator.gpu_timing import Timekeeper
from evaluator.judge import Evaluator
from evaluator.limits import Limits
from evaluator.pool import Pool, WarmDied
from evaluator.targets import targets_named
from tasks.outcomes import Reason, Status
from tests.sources import GOOD, changed, double_task

LIMITS = Limits(call_s=20.0)
WRONG = changed(("2 * x", "3 * x"))
DIES = changed(("return y", "import ctypes; ctypes.string_at(0)"))
ENDLESS = changed(("return y", "while True: pass"))


@pytest.fixture(scope="module")
def tier() -> Iterator[GpuTier]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_tier, "Pool", lambda size, targets, limits, device: Pool(size, targets, limits))
        patch.setattr(gpu_tier, "Timekeeper", partial(Timekeeper, device="host"))
        one = GpuTier(targets_named(["sm90"]), LIMITS, b"secret")
    yield one
    one.close()


def judged(tier: GpuTier, source: str, stop: Stop | None = None) -> OnGpu | None:
    task = double_task()
    return tier.judged(task, source, cases_of(task, 1), {}, stop or Stop())


def ahead(tier: GpuTier) -> list[object]:
    return [warm._next for warm in tier._pool._all if warm._next]


def test_the_next_workers_are_there_before_they_are_needed(tier: GpuTier) -> None:
    first = judged(tier, GOOD)
    assert first is not None and first.verdict.failure is None
    assert len(ahead(tier)) >= CHILDREN
    second = judged(tier, WRONG)
    assert second is not None and second.verdict.failure is not None
    assert second.verdict.failure.reason is Reason.MISMATCH


def test_what_ends_abnormally_is_followed_by_a_probe_in_a_new_worker(tier: GpuTier) -> None:
    seen = judged(tier, DIES)
    assert seen is not None and seen.verdict.failure is not None
    assert seen.verdict.failure.reason is Reason.DIED
    assert ahead(tier) == []  # those that started beside it are gone
    after = judged(tier, GOOD)
    assert after is not None and after.verdict.failure is None


def test_a_probe_that_gives_a_wrong_result_is_the_machines_failure(
    tier: GpuTier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_tier, "PROBE", gpu_tier.PROBE.replace("2 * ", "3 * "))
    with pytest.raises(WarmDied, match="known kernel"):
        judged(tier, DIES)


@pytest.mark.parametrize("early", [True, False], ids=["before it began", "while it ran"])
def test_a_candidate_that_is_stopped_has_no_verdict_and_the_next_one_has(tier: GpuTier, early: bool) -> None:
    stop = Stop()
    if early:
        stop()
    else:
        threading.Timer(2.0, stop).start()
    assert judged(tier, ENDLESS, stop) is None
    after = judged(tier, GOOD)
    assert after is not None and after.verdict.failure is None


def test_both_tiers_together(tier: GpuTier) -> None:
    with Evaluator(device="cpu", workers=1, timing=False) as evaluator:
        evaluator._gpu = tier
        good, wrong = (evaluator.evaluate(double_task(), source) for source in (GOOD, WRONG))
        again = evaluator.evaluate(double_task(), GOOD + "\n# again\n")
        evaluator._gpu = None  # it is closed by its own fixture
    assert (good.status, again.status, wrong.status) == (Status.CORRECT, Status.CORRECT, Status.WRONG)
    assert {one.device for one in (good, wrong, again)} == {"cuda"}
