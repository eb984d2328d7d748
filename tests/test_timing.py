"""The judge's side of timing, with players whose times are made up: what is measured, what is refused, what is kept."""

import json
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator import gpu, wire
from evaluator.bounds import bound_of
from evaluator.players import SocketPlayer
from evaluator.timing import time_case, time_task
from evaluator.timing_records import Invalid, SizeTiming, TaskTiming
from evaluator.windows import Lost, slots_for
from tasks.task import Cost
from tests.sources import double_task
from tests.timing_fakes import MACHINE, Fake, sized, timing


def test_the_speedups_over_every_baseline() -> None:
    done = timing(Fake(0.1), compiled=Fake(0.15), oracle=Fake(0.11))
    assert done.invalid is None and done.speedup and done.over_compiled and done.over_oracle
    assert done.speedup.contains(2.0) and done.speedup.width < 0.01
    assert done.over_compiled.median == pytest.approx(1.5, rel=0.02)
    assert done.over_oracle.median == pytest.approx(1.1, rel=0.02)
    assert done.ms == pytest.approx(0.1, rel=0.02) and done.eager_ms == pytest.approx(0.2, rel=0.02)


def test_share_and_rates_come_from_the_tasks_cost() -> None:
    done = timing(Fake(0.05))  # 128 MiB at 4000 GB/s need 0.0336 ms
    assert done.bound_ms == pytest.approx(0.03355, rel=0.01) and done.share == pytest.approx(0.67, rel=0.03)
    assert done.gbs == pytest.approx(2684, rel=0.03) and not done.in_l2


def test_one_call_after_the_warm_ups_is_kept_and_the_order_changes() -> None:
    candidate = Fake(0.1)
    timing(candidate)
    kept = [(calls, keep) for calls, _, keep, _ in candidate.asked if keep is not None]
    assert len(kept) == 1 and 1 <= kept[0][1] < kept[0][0]
    assert len({calls for calls, *_ in candidate.asked}) > 2


def test_short_calls_are_timed_in_batches_and_the_hosts_time_for_them_is_hidden() -> None:
    candidate = Fake(0.004, host_ms=0.040)
    done = time_case(candidate, {"eager": Fake(0.005)}, sized(2**10), MACHINE, seed=1)
    assert done.batch > 1 and done.launch_bound and done.in_l2 and done.invalid is None
    assert done.ms == pytest.approx(0.004, rel=0.05) and done.host_ms == pytest.approx(0.040)
    assert max(cover for *_, cover in candidate.asked) * MACHINE.flush_ms > 0.040 * done.batch


def test_long_calls_are_not_repeated_more_than_needed() -> None:
    candidate = Fake(400.0)
    done = time_case(candidate, {"eager": Fake(300.0)}, sized(), MACHINE, cap_s=1.0)
    assert done.speedup and 3 <= done.speedup.pairs <= 5 and done.calls == done.speedup.pairs


@pytest.mark.parametrize("calls", [1, 3, 4])
def test_who_is_slow_at_first_is_called_as_often_as_others(calls: int) -> None:
    honest, slow = timing(Fake(0.1)), timing(Fake(0.1, slow_at_first=calls))
    assert slow.speedup and honest.speedup and slow.calls >= honest.speedup.pairs * 10
    assert slow.speedup.contains(2.0)


def test_faster_than_the_memory_is_refused_and_the_cache_sets_no_floor() -> None:
    assert timing(Fake(0.01)).invalid is Invalid.BELOW_BOUND
    small = timing(Fake(0.002), elements=2**20)
    assert small.invalid is None and small.in_l2


def test_the_floor_leaves_what_the_cache_may_still_hold_and_knows_tensor_cores() -> None:
    task, case = double_task(), sized().variants[0]
    bound = bound_of(task, case, Cost(200 * 2**20, 0), MACHINE)
    assert bound.floor_ms == pytest.approx(bound.ms * 150 / 200)
    products = bound_of(task, case, Cost(1, 10**12), MACHINE)
    assert products.ms == pytest.approx(1e3 / (400 / 3)) and products.floor_ms == pytest.approx(1e3 / 400)
    half = replace(case, args=(case.args[0].half(),))
    assert bound_of(task, half, Cost(1, 10**12), MACHINE).floor_ms == pytest.approx(1e3 / 800)


def test_a_baseline_that_cannot_is_noted_and_eager_must() -> None:
    done = timing(Fake(0.1), compiled=Fake(0.1, fails="prepare"))
    assert done.over_compiled is None and done.notes == ("compiled: no kernel for this",)
    with pytest.raises(Lost) as lost:
        time_case(Fake(0.1), {"eager": Fake(0.1, fails="prepare")}, sized(), MACHINE)
    assert lost.value.who == "eager"


def test_a_size_that_fails_leaves_no_speedup_and_ends_it() -> None:
    good, sizes = Fake(0.1), [sized(), sized(2**25), sized(2**26)]
    candidate = Fake(0.1, fails="window", fails_at=10**9)
    kept: list[str] = []
    whole, _ = time_task(good, {"eager": Fake(0.2)}, sizes, MACHINE, take_kept=lambda size: kept.append(size.label))
    assert whole.failure is not None and whole.failure.label == "67108864"  # which can't be done in 0.1 ms
    assert whole.failure.invalid is Invalid.BELOW_BOUND and whole.speedup is None
    assert kept == [size.label for size in sizes[:2]]
    fine, _ = time_task(candidate, {"eager": Fake(0.2)}, sizes[:2], MACHINE)
    assert fine.valid and fine.speedup == pytest.approx(2, rel=0.02) and fine.over_oracle is None
    candidate.fails_at = len(candidate.asked) + 3
    lost, why = time_task(candidate, {"eager": Fake(0.2)}, sizes[:2], MACHINE)
    assert why is not None and why.kind == "died"
    assert len(lost.sizes) == 1 and lost.sizes[0].invalid is Invalid.FAILED and lost.speedup is None
    with pytest.raises(Lost):
        time_task(good, {"eager": Fake(0.2, fails="window")}, sizes[:1], MACHINE)


def test_the_record_comes_back_from_json() -> None:
    done = timing(Fake(0.1), oracle=Fake(0.1))
    bad = SizeTiming("other", invalid=Invalid.CLOCK, message="why", notes=("compiled: no",))
    whole = TaskTiming((done, bad), 2, {"name": "x"}, {"sm_mhz": 1}, {})
    assert TaskTiming.from_json({**json.loads(json.dumps(whole.to_json())), "newer": 1}) == whole


def test_so_many_addresses_that_they_are_twice_the_cache() -> None:
    assert slots_for(2**30, 2**25) == 2
    assert (slots_for(2**24, 2**25) - 1) * 2**24 >= 2**26
    assert slots_for(100, 2**25) == 16


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"ms": [0.1, 0.1], "host_ms": 0.1, "wall_s": 1}, None),
        ({"ms": [0.1], "host_ms": 0.1}, "protocol"),
        ({"ms": [0.1, "0.1"], "host_ms": 0.1}, "protocol"),
        ({"ms": [0.1, True], "host_ms": 0.1}, "protocol"),
        ({"ms": [0.1, -1.0], "host_ms": 0.1}, "protocol"),
        ({}, "protocol"),
        ({"error": {"message": "CUDA error"}}, "error"),
        (None, "died"),
    ],
)
def test_what_a_worker_may_answer(answer: dict[str, Any] | None, kind: str | None) -> None:
    ours, theirs = socket.socketpair()

    def worker() -> None:
        with theirs:
            wire.receive(theirs)
            if answer is not None:
                wire.send(theirs, {"event": "compiling", "kernel": "k"})
                wire.send(theirs, {"event": "reply", **answer})

    thread = threading.Thread(target=worker)
    thread.start()
    try:
        if kind is None:
            window = SocketPlayer(ours).window(2, 1, None, 0, False)
            assert window.ms == (0.1, 0.1) and 0 < window.wall_s < 30
        else:
            with pytest.raises(Lost) as lost:
                SocketPlayer(ours).window(2, 1, None, 0, False)
            assert lost.value.kind == kind
    finally:
        thread.join()
        ours.close()


def test_a_silent_worker_passes_its_deadline() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(Lost) as lost:
        SocketPlayer(ours, answer_s=0.1).window(2, 1, None, 0, 1)
    assert lost.value.kind == "deadline"


def test_work_that_is_not_timed_may_overlap_and_never_a_timing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    timed = threading.Event()

    def timing() -> None:
        with gpu.exclusive("GPU-1"):
            timed.set()

    with gpu.shared("GPU-1"), gpu.shared("GPU-1"):
        thread = threading.Thread(target=timing)
        thread.start()
        assert not timed.wait(0.2)
    assert timed.wait(20)
    thread.join()


def test_one_timing_at_a_time_on_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    entered, inside = threading.Event(), []

    def other() -> None:
        entered.set()
        with gpu.exclusive("GPU-1"):
            inside.append("other")

    with gpu.exclusive("GPU-1"), gpu.exclusive("GPU-2"):
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(10)
        thread.join(0.2)
        assert inside == []
    thread.join(10)
    assert inside == ["other"]


def test_peaks_are_measured_once_a_device_and_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    measured = {"gbs": {"copy": 4000.0}, "tflops": {}}
    assert gpu.peaks_of("GPU-1", "2.11", lambda: measured) == measured
    assert gpu.peaks_of("GPU-1", "2.11", lambda: pytest.fail("measured again")) == measured
    assert gpu.peaks_of("GPU-1", "2.12", lambda: {"gbs": {}}) == {"gbs": {}}
    gpu.peaks_path().write_text("{torn")
    assert gpu.peaks_of("GPU-1", "2.11", lambda: measured) == measured


def test_a_device_that_nvml_does_not_know_is_said() -> None:
    assert gpu.state_of("GPU-00000000-0000-0000-0000-000000000000").source.startswith("nothing: ")
