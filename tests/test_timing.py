"""The judge's side of timing, with players whose times are made up: what is measured, what is refused, what is kept."""

import json
import random
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from evaluator import gpu, wire
from evaluator.bounds import Machine, bound_of
from evaluator.players import SocketPlayer
from evaluator.timing import time_case, time_task
from evaluator.timing_records import Invalid, SizeTiming, TaskTiming
from evaluator.windows import Lost, TimedCase, Window, slots_for
from tasks.task import Case, Cost
from tests.sources import double_task

MACHINE = Machine(l2_bytes=50 * 2**20, flush_ms=0.03, gbs=4000, tflops={"float32": 50, "tf32": 400, "float16": 800})


@dataclass
class Fake:
    """Calls that take `ms`, with noise, of which it reports `told` times as much in stretches of fewer calls than
    `honest_from`; every stretch costs `beyond_ms`."""

    ms: float
    told: float = 1.0
    honest_from: int = 2**31
    spread: float = 0.003
    beyond_ms: float = 0.08
    host_ms: float = 0.0
    slow_at_first: int = 0
    fails: str = ""
    fails_at: int = 0
    asked: list[tuple[int, int, int | None, int]] = field(default_factory=list)
    rng: random.Random = field(default_factory=lambda: random.Random(9))

    def prepare(self, timed: TimedCase) -> None:
        if self.fails == "prepare":
            raise Lost("error", "no kernel for this\nand more")

    def window(self, calls: int, batch: int, keep: int | None, seed: int, cover: int) -> Window:
        self.asked.append((calls, batch, keep, cover))
        if self.fails == "window" and len(self.asked) > self.fails_at:
            raise Lost("died", "it ended during window")
        cost_ms = max(self.ms, self.host_ms - cover * MACHINE.flush_ms / batch)
        slow = min(calls, self.slow_at_first)
        self.slow_at_first -= slow
        true = [500.0] * slow + [cost_ms * self.rng.gauss(1, self.spread) for _ in range(calls - slow)]
        wall_s = (sum(true) * batch + calls * self.beyond_ms * self.rng.uniform(1, 1.1) + 0.1) / 1e3
        told = self.told if batch < self.honest_from else 1.0
        return Window(tuple(ms * told for ms in true), wall_s, self.host_ms)


def sized(elements: int = 2**24) -> TimedCase:
    """One size of y = 2 x; the tensor has no elements of its own, only their number."""
    case = Case(f"{elements}", (torch.empty(1).expand(elements),))
    return TimedCase(double_task(), "", "key", [case], 8)


def timing(candidate: Fake, elements: int = 2**24, **more: Fake) -> SizeTiming:
    return time_case(candidate, {"eager": Fake(0.2), **more}, sized(elements), MACHINE, seed=3)


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


@pytest.mark.parametrize("told", [0.1, 0.5, 0.7])
def test_times_that_hide_most_of_the_wait_are_refused(told: float) -> None:
    done = timing(Fake(1.0, told=told))
    assert done.invalid is Invalid.CLOCK and "do not account for" in done.message and done.speedup is None


def test_times_longer_than_the_wait_are_refused() -> None:
    assert timing(Fake(1.0, told=2.0)).invalid is Invalid.CLOCK


def test_a_slow_or_noisy_honest_candidate_is_not_refused() -> None:
    assert timing(Fake(2.0, spread=0.1, beyond_ms=0.11)).invalid is None


@pytest.mark.parametrize("beyond_ms", [0.15, 0.3, 0.5])
@pytest.mark.parametrize(("ms", "elements"), [(0.1, 2**24), (0.006, 2**20), (5.0, 2**24)])
def test_a_process_that_is_slow_between_its_stretches_is_not_refused(
    ms: float, elements: int, beyond_ms: float
) -> None:
    candidate = Fake(ms, beyond_ms=beyond_ms)
    done = timing(candidate, elements)
    assert done.invalid is None and done.speedup and done.speedup.contains(0.2 / ms)
    looked = [batch for _, batch, _, _ in candidate.asked if batch > done.batch]
    assert len(looked) == (4 if ms < 1 else 0)  # a call of 5 ms hides nothing in as little as that


@pytest.mark.parametrize("mutates", [False, True])
def test_what_a_call_leaves_in_a_long_stretch_is_kept_too(mutates: bool) -> None:
    candidate, taken, size = Fake(0.1, beyond_ms=0.22), [], sized()
    if mutates:
        size = replace(size, task=replace(size.task, mutates=("x",)))
    time_case(candidate, {"eager": Fake(0.2)}, size, MACHINE, take_kept=lambda timed: taken.append(timed.label))
    kept = [batch for _, batch, keep, _ in candidate.asked if keep is not None]
    assert [batch > 1 for batch in kept] == [False, True]
    assert not mutates or kept[1] <= size.slots  # each call has values of its own
    assert len(taken) == 2  # ahead of the second look, and in the end


@dataclass
class Liar(Fake):
    """What it reports, and how long it sleeps between stretches, go by the number of the window and of its calls."""

    tells: Callable[[int, int], float] = lambda number, batch: 1.0
    sleeps: Callable[[int, int], float] = lambda number, batch: 0.08
    hosts: Callable[[int, int], float] = lambda number, batch: 0.0

    def window(self, calls: int, batch: int, keep: int | None, seed: int, cover: int) -> Window:
        now = len(self.asked), batch
        self.told, self.beyond_ms = self.tells(*now), self.sleeps(*now)
        return replace(super().window(calls, batch, keep, seed, cover), host_ms=self.hosts(*now))


FIRST = 2 + 3  # windows of the plan, and those that come before the clock may look twice
LIARS = {
    "blames the host": Liar(
        0.5, tells=lambda n, batch: 0.1 if batch < 3 else 1.0, hosts=lambda n, batch: 0.01 if batch < 3 else 2.0
    ),
    "slow until it is looked at": Liar(
        0.5, tells=lambda n, batch: 1.0 if n <= FIRST + 4 else 0.1, sleeps=lambda n, batch: 0.6 if n < FIRST else 0.08
    ),
    "sleeps for longer than any machine": Liar(0.5, sleeps=lambda n, batch: 1.5),
    "honest in one long stretch": Liar(0.5, tells=lambda n, batch: 0.1 if batch < 3 or n > FIRST else 1.0),
    "a bit in each": Liar(0.5, tells=lambda n, batch: 0.55 if batch < 3 else 0.82),
    "honest at first": Liar(0.5, tells=lambda n, batch: 1.0 if n < FIRST else 0.1),
    "short and told shorter": Liar(0.02, tells=lambda n, batch: 0.2 if batch < 20 else 1.0),
}


@pytest.mark.parametrize("liar", LIARS.values(), ids=LIARS)
def test_who_controls_the_clock_gains_nothing_by_knowing_the_windows(liar: Liar) -> None:
    done = timing(liar, 2**20 if liar.ms < 0.1 else 2**24)
    assert done.invalid is Invalid.CLOCK, done
    assert done.speedup is None


def test_a_machine_that_is_slow_now_and_then_refuses_nobody() -> None:
    slow = random.Random(4)
    candidate = Liar(0.1, sleeps=lambda n, batch: 0.08 if slow.random() < 0.6 else 0.4)
    done = timing(candidate)
    assert done.invalid is None and done.speedup and done.speedup.contains(2.0)


@pytest.mark.parametrize("ms", [0.2, 0.5])
def test_who_lies_in_short_stretches_alone_is_refused(ms: float) -> None:
    done = timing(Fake(ms, told=0.5, honest_from=2))
    assert done.invalid is Invalid.CLOCK and "calls in a row took" in done.message


def test_short_calls_that_hide_half_of_their_time_are_refused() -> None:
    done = timing(Fake(0.02, told=0.5), 2**20)
    assert done.invalid is Invalid.CLOCK and "calls in a row took" in done.message


@pytest.mark.parametrize("told", [0.0, 1e-300])
def test_no_time_at_all_is_refused(told: float) -> None:
    assert timing(Fake(0.1, told=told)).invalid is Invalid.CLOCK


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
