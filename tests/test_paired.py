"""The statistics of paired timings, on synthetic noise with seeds."""

import random

import pytest

from evaluator.paired import PAIRS_MAX, PAIRS_MIN, bootstrap_interval, enough, geometric_mean, ratio_of, target_width


def noisy(rng: random.Random, ms: float, spread: float, pairs: int) -> tuple[list[float], list[float]]:
    """Windows of the same code twice: a drift that both see, noise of each, and now and then an interruption."""
    drifts = [1 + 0.05 * rng.random() for _ in range(pairs)]

    def once(drift: float) -> float:
        return ms * drift * rng.gauss(1, spread) * (3 if rng.random() < 0.05 else 1)

    return [once(d) for d in drifts], [once(d) for d in drifts]


@pytest.mark.parametrize("spread", [0.002, 0.02, 0.08])
@pytest.mark.parametrize("pairs", [PAIRS_MIN, 25])
def test_the_same_code_twice_gives_one(spread: float, pairs: int) -> None:
    rng = random.Random(1)
    hits = sum(ratio_of(*noisy(rng, 0.05, spread, pairs), seed=number).contains(1.0) for number in range(20))
    assert hits >= 17


def test_code_that_is_a_twentieth_faster_is_told_from_it() -> None:
    rng = random.Random(2)
    for number in range(20):
        slower, faster = noisy(rng, 0.1, 0.004, 15)
        ratio = ratio_of([1.05 * ms for ms in slower], faster, seed=number)
        assert ratio.low > 1.03 and ratio.high < 1.08


def test_the_interval_is_of_the_ratios_and_narrows_with_more_pairs() -> None:
    rng = random.Random(3)
    few, many = (ratio_of(*noisy(rng, 0.1, 0.02, pairs)) for pairs in (7, 60))
    assert many.width < few.width
    assert few.low <= few.median <= few.high
    assert bootstrap_interval([5.0]) == (5.0, 5.0)
    assert bootstrap_interval([1.0, 2.0, 3.0] * 3, seed=4) == bootstrap_interval([1.0, 2.0, 3.0] * 3, seed=4)


@pytest.mark.parametrize("times", [[], [1.0, 2.0], [0.0], [float("nan")], [float("inf")], [-1.0]])
def test_times_that_are_none_are_refused(times: list[float]) -> None:
    with pytest.raises(ValueError, match=r"windows|positive"):
        ratio_of([1.0], times)


def test_it_stops_when_it_knows_enough_or_has_no_time() -> None:
    sure = ratio_of([2.0] * PAIRS_MIN, [1.0] * PAIRS_MIN)
    assert sure.width == pytest.approx(0, abs=1e-12)
    assert enough(sure, 0.1, spent_s=0.1, cap_s=1)
    assert not enough(ratio_of([2.0] * 3, [1.0] * 3), 0.1, spent_s=0.1, cap_s=1)
    assert enough(ratio_of([2.0] * 5, [1.0] * 5), 0.1, spent_s=1.1, cap_s=1)
    assert not enough(ratio_of([2.0] * 3, [1.0] * 3), 0.1, spent_s=1.1, cap_s=1)
    assert enough(ratio_of([2.0] * 3, [1.0] * 3), 0.1, spent_s=3.1, cap_s=1)
    wide = ratio_of([1.0, 2.0, 3.0, 4.0] * 3, [1.0] * 12)
    assert not enough(wide, 0.1, spent_s=0.1, cap_s=1)
    assert enough(ratio_of([1.0, 2.0] * PAIRS_MAX, [1.0, 1.0] * PAIRS_MAX), 0.1, spent_s=0.1, cap_s=100)
    assert target_width(0.2) < target_width(0.03) < target_width(0.004)


def test_a_missing_or_empty_figure_leaves_no_mean() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4)
    assert geometric_mean([2.0, None]) is None
    assert geometric_mean([2.0, 0.0]) is None
    assert geometric_mean([]) is None
