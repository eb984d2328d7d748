"""The permutation test against scipy's, and the composition against sums that were done by hand."""

from __future__ import annotations

from math import exp, log
from random import Random

import numpy as np
import pytest
from fakes import right, wrong
from scipy.stats import permutation_test
from test_figures import cell

from experiments.contrast import PERMUTATIONS, composition_of, contrast_of, steps_of


@pytest.mark.parametrize(
    ("first", "second"), [([0.5, 0.7], [1.1, 2.0, 0.6]), ([3.0, 0.2, 5.0, 0.9], [1.0, 2.0, 4.0, 0.1])]
)
def test_few_kernels_are_tested_exactly(first: list[float], second: list[float]) -> None:
    found = contrast_of(first, second)
    theirs = permutation_test(
        (np.log(first), np.log(second)),
        lambda a, b: abs(np.mean(a) - np.mean(b)),
        alternative="greater",
        n_resamples=np.inf,
    )
    assert found and found.exact and found.p == pytest.approx(theirs.pvalue)
    assert found.ratio == pytest.approx(exp(np.mean(np.log(first)) - np.mean(np.log(second))))
    assert (found.rescued, found.persistent) == (len(first), len(second))


def test_counted_by_hand() -> None:
    found = contrast_of(
        [1.0, 2.0], [4.0, 8.0]
    )  # of six groupings only the observed one and its mirror are as far apart
    assert found and (found.p, found.permutations, found.ratio) == (pytest.approx(2 / 6), 6, pytest.approx(0.25))
    alike = contrast_of([1.3, 1.3], [1.3])
    assert alike and alike.p == 1.0


def test_many_kernels_are_drawn_and_the_observed_grouping_counts() -> None:
    random = Random(1)
    same, other = ([random.lognormvariate(mean, 0.3) for _ in range(20)] for mean in (0.0, 1.5))
    found = contrast_of(same, other)
    assert found and not found.exact and found.permutations == PERMUTATIONS
    assert found.p == 1 / (PERMUTATIONS + 1)
    assert contrast_of(same, other) == found
    near = [random.lognormvariate(0.15, 0.3) for _ in range(20)]
    ours = contrast_of(same, near)
    theirs = permutation_test(
        (np.log(same), np.log(near)),
        lambda a, b: np.mean(a) - np.mean(b),
        n_resamples=9999,
        rng=np.random.default_rng(3),
    )
    assert ours and 0.01 < ours.p < 0.99 and ours.p == pytest.approx(theirs.pvalue, abs=0.03)


def test_the_three_terms_are_those_done_by_hand_and_add_up() -> None:
    # s and t stay (logs 0, 1, then 1, 2), e comes in at log 4.5, x drops out from log 5
    before = {"s": 1.0, "t": exp(1), "x": exp(5)}
    after = {"s": exp(1), "t": exp(2), "e": exp(4.5)}
    found = composition_of(before, after)
    assert found and (found.before, found.after, found.both, found.entered, found.left) == (3, 3, 2, 1, 1)
    assert found.within == pytest.approx(1.0)
    assert found.entry == pytest.approx((4.5 - 1.5) / 3)
    assert found.exit == pytest.approx((0.5 - 5) / 3)
    assert found.total == pytest.approx(2.5 - 2.0)


def test_they_add_up_whatever_the_figures() -> None:
    random = Random(7)
    for _ in range(50):
        sides = [
            {task: random.lognormvariate(0, 2) for task in random.sample(range(9), random.randint(5, 8))} for _ in "ab"
        ]
        found = composition_of(*({str(task): ratio for task, ratio in side.items()} for side in sides))
        assert found and found.within is not None and found.entry is not None and found.exit is not None
        assert found.total == pytest.approx(found.within + found.entry + found.exit, abs=1e-12)


def test_without_a_common_task_only_the_total_is_known() -> None:
    found = composition_of({"a": 1.0}, {"b": exp(1)})
    assert found and (found.total, found.within, found.entry, found.exit) == (pytest.approx(1.0), None, None, None)
    assert composition_of({}, {"b": 1.0}) is None and contrast_of([], [1.0]) is None and contrast_of([1.0], []) is None


def test_the_steps_of_a_run() -> None:
    made = cell(
        {
            "stays": [(1, right(speedup=2.0)), (2, right(speedup=4.0))],
            "rescued": [(1, wrong()), (2, right(speedup=0.5))],
            "lost": [(1, right(speedup=8.0)), (2, wrong())],
            "once timed": [(1, right(speedup=3.0)), (2, right())],
        }
    )
    own, best = [step for step in steps_of(made, made.tasks) if step.figure == "speedup"]
    assert (own.view, own.start, own.end, own.unmeasured) == ("own", 1, 2, 1)
    assert own.contrast and own.contrast.ratio == pytest.approx(0.125) and own.contrast.p == 1.0
    parts = own.composition
    assert parts and (parts.both, parts.entered, parts.left) == (1, 1, 1)
    assert parts.within == pytest.approx(log(2)) and parts.entry == pytest.approx(log(0.5 / 4) / 2)
    assert parts.exit == pytest.approx(log(2 / 8) / 2)
    assert best.view == "best" and best.unmeasured == 0 and best.composition and best.composition.left == 0
    assert {step.figure for step in steps_of(made, made.tasks)} == {"speedup", "traffic"}
    assert steps_of(cell({"a": [(1, right())]}), ["a"]) == ()


def test_a_ratio_must_be_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        contrast_of([0.0], [1.0])
    with pytest.raises(ValueError, match="positive"):
        composition_of({"a": 1.0}, {"a": -1.0})
