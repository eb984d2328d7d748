"""The worker's side of timing: values at changing addresses, windows, what is kept, and the baseline's process."""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from evaluator.bounds import Machine
from evaluator.players import BaselineProcess, prepare_header, timed_cases
from evaluator.timing import time_case
from evaluator.windows import EAGER, Lost, TimedCase
from evaluator.worker.clock import Cuda, Host
from evaluator.worker.stopwatch import Pool, Stopwatch, Timed, placed_on, snapshot
from tasks.task import Case
from tests.sources import double_task

DOUBLE = str(Path(__file__).parent / "examples" / "double_task.py")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def variants(count: int = 2, n: int = 8) -> list[tuple[Any, Any]]:
    return [((torch.full((n,), float(value)), [torch.ones(2), "text"]), {"scale": 3}) for value in range(count)]


def test_every_call_gets_its_variants_values_at_the_next_address() -> None:
    pool, pick = Pool(Host(), variants(), slots=3, mutates=False), random.Random(1)
    seen, dealt = [], set()
    for _ in range(8):
        pool.refresh(pick)
        for hand, variant in pool.deal(3):
            assert hand.args[0].tolist() == [float(variant)] * 8
            assert hand.args[1][1] == "text" and hand.kwargs == {"scale": 3}
            seen.append(hand.args[0].data_ptr())
            dealt.add((seen[-1], variant))
    assert len(set(seen)) == 3 and seen[:3] == seen[3:6]
    assert len(dealt) == 6


def test_a_case_that_is_changed_in_place_starts_from_its_own_values_each_time() -> None:
    stopwatch, found = Stopwatch(Host()), []
    stopwatch.prepare(variants(1), slots=2, mutates=True)

    def call(args: Any, kwargs: Any) -> None:
        found.append(float(args[0][0]))
        args[0].add_(1)

    stopwatch.window(call, calls=5, keep=1)
    assert found == [0.0] * 5
    assert stopwatch.kept is not None and stopwatch.kept.args[0].tolist() == [1.0] * 8


def test_variants_of_different_form_are_refused() -> None:
    with pytest.raises(ValueError, match="form"):
        Pool(Host(), [*variants(1), *variants(1, n=9)], 2, False)


def test_strides_offset_and_storage_are_kept() -> None:
    view = torch.arange(24.0).view(4, 6)[1:, ::2]
    there = placed_on(Host(), (view,), {"g": torch.Generator().manual_seed(5)})
    twin = there.args[0]
    assert torch.equal(twin, view) and twin.stride() == view.stride() and twin.storage_offset() == 6
    assert twin.untyped_storage().nbytes() == 96 and there.kwargs["g"].initial_seed() == 5


def test_one_outcome_is_kept_as_it_was_then() -> None:
    stopwatch, buffer = Stopwatch(Host()), torch.zeros(1)
    stopwatch.prepare(variants(1), slots=2)
    count = iter(range(100))

    def call(args: Any, kwargs: Any) -> tuple[torch.Tensor, int]:
        return buffer.fill_(number := next(count)), number

    window = stopwatch.window(call, calls=4, batch=2, keep=2)
    assert len(window.ms) == 4 and all(ms > 0 for ms in window.ms)
    assert 1e3 * window.wall_s >= 2 * sum(window.ms)
    assert stopwatch.kept is not None and stopwatch.kept.returned == (torch.tensor([5.0]), 5)


def test_an_odd_result_is_not_made_plain() -> None:
    class Odd(torch.Tensor):
        pass

    odd, marked = torch.ones(1).as_subclass(Odd), torch.ones(1)
    marked.note = "here"  # type: ignore[attr-defined]
    assert snapshot(odd) is odd and snapshot(marked) is marked
    plain = torch.ones(1)
    assert snapshot([plain])[0] is not plain


def test_the_three_operations_over_the_wire_format() -> None:
    timed = Timed(Stopwatch(Host()), lambda args, kwargs: args[0] * 2, lambda r, a, k: ({"sum": float(r.sum())}, []))
    case = TimedCase(double_task(), DOUBLE, "key", [Case("one", (torch.ones(4),)), Case("two", (torch.zeros(4),))], 3)
    frames: list[memoryview] = []
    header = prepare_header(case, frames)
    assert timed.handle({**header, "op": "prepare"}, [bytearray(frame) for frame in frames]) == ({}, [])
    assert timed.handle({"op": "kept"}, [])[0] == {"kept": False}
    asked = {"op": "window", "calls": 3, "batch": 2, "keep": 1, "seed": 4, "cover": 2}
    said, _ = timed.handle(asked, [])
    assert len(said["ms"]) == 3 and said["wall_s"] > 0
    kept, _ = timed.handle({"op": "kept"}, [])
    assert kept["sum"] == (8.0, 0.0)[kept["variant"]]


def test_without_a_case_or_a_call_there_is_no_window() -> None:
    stopwatch = Stopwatch(Host())
    with pytest.raises(ValueError, match="prepared"):
        stopwatch.window(lambda args, kwargs: None, 1)
    stopwatch.prepare(variants(1), slots=2)
    with pytest.raises(ValueError, match="batch"):
        stopwatch.window(lambda args, kwargs: None, 1, batch=0)


def test_a_batch_that_is_larger_than_the_pool_takes_its_slots_again() -> None:
    stopwatch = Stopwatch(Host())
    stopwatch.prepare(variants(1), slots=2)
    seen: list[int] = []
    stopwatch.window(lambda args, kwargs: seen.append(args[0].data_ptr()), 1, batch=5)
    assert len(seen) == 5 and len(set(seen)) == 2 and seen[0] == seen[2] == seen[4]


@pytest.fixture(scope="module")
def baseline() -> Iterator[BaselineProcess]:
    process = BaselineProcess("host", max(os.sched_getaffinity(0)))
    yield process
    process.close()


def small(seed: int) -> TimedCase:
    cases = [Case("small", (torch.full((1000,), float(value)),)) for value in (1, 2)]
    return TimedCase(double_task(), DOUBLE, f"small {seed}", cases, 4)


def test_the_baseline_times_the_reference_and_keeps_what_it_was_sent(baseline: BaselineProcess) -> None:
    assert baseline.facts()["uuid"] == "host"
    eager, case = baseline.player("eager"), small(1)
    eager.prepare(case)
    window = eager.window(5, 2, None, 7, False)
    assert len(window.ms) == 5 and window.wall_s * 1e3 > sum(window.ms)
    about = {"task": "Mine/double", "path": case.path}
    assert baseline.socket.ask("prepare", {**about, "key": case.key})[0]["known"] is True
    assert baseline.socket.ask("prepare", {**about, "key": "another"})[0]["known"] is False


def test_a_player_that_fails_is_an_answer_and_the_next_question_is_answered(baseline: BaselineProcess) -> None:
    eager, oracle = baseline.player("eager"), baseline.player("oracle")
    eager.prepare(small(1))
    with pytest.raises(Lost, match="no oracle") as lost:
        oracle.prepare(small(1))
    assert lost.value.kind == "error"
    assert eager.window(1, 1, None, 0, 1).ms


def test_a_whole_size_against_the_baselines_own_process(baseline: BaselineProcess) -> None:
    machine = Machine(2**20, 0.01, 1e6, {})
    players = {EAGER: baseline.player("eager"), "oracle": baseline.player("oracle")}
    for _ in range(5):  # on a loaded machine the judge's clock may find more than the times account for
        timing = time_case(baseline.player("eager"), players, small(2), machine, cap_s=0.3)
        if timing.speedup:
            break
    assert timing.speedup is not None and timing.speedup.pairs >= 3
    assert timing.oracle_ms is None and "no oracle" in timing.notes[0]


def test_timed_cases_come_with_a_variant_for_each_seed() -> None:
    (case,) = timed_cases(double_task(), DOUBLE, [1, 2], l2_bytes=50 * 2**20)
    assert len(case.variants) == 2 and case.slots == 3
    assert not torch.equal(case.variants[0].args[0], case.variants[1].args[0])


@pytest.mark.gpu
@needs_gpu
def test_work_on_a_side_stream_counts() -> None:
    stopwatch = Stopwatch(Cuda())
    stopwatch.prepare([((torch.ones(2**26),), {})], slots=2)
    side = torch.cuda.Stream()

    def hidden(args: Any, kwargs: Any) -> None:
        with torch.cuda.stream(side):
            torch.exp(args[0])

    honest = sorted(stopwatch.window(lambda args, kwargs: torch.exp(args[0]), 12).ms)[6]
    assert sorted(stopwatch.window(hidden, 12).ms)[6] > 0.9 * honest


@pytest.mark.gpu
@needs_gpu
def test_patched_timers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stopwatch = Stopwatch(Cuda())
    stopwatch.prepare([((torch.ones(2**26),), {})], slots=2)
    monkeypatch.setattr(torch.cuda.Event, "elapsed_time", lambda self, end: 1e-3)
    monkeypatch.setattr(torch.cuda.Event, "record", lambda self, stream=None: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: None)
    assert min(stopwatch.window(lambda args, kwargs: torch.exp(args[0]), 5).ms) > 0.05


@pytest.mark.gpu
@needs_gpu
def test_an_idle_call_takes_next_to_nothing() -> None:
    clock = Cuda()
    clock.flush(1)
    assert clock.measure(lambda: None).ms < 0.02
    assert clock.l2_bytes > 0 and clock.flush_ms > 0
