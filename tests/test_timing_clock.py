"""The judge's clock against what a worker reports: who hides time is refused, and who is slow in between is not."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from evaluator.timing import time_case
from evaluator.timing_records import Invalid
from evaluator.windows import Window
from tests.timing_fakes import MACHINE, Fake, sized, timing


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
