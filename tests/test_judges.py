"""The judges, on values whose right verdict is plain."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.calls import Observed, call_reference, copied
from tasks.catalog import load
from tasks.draw import Draw
from tasks.judges import Elementwise, Exact, Property, compare, numerically_right, truth_of
from tasks.outcomes import Reason
from tasks.task import Case

SOFTMAX = load("Math/softmax")
EPS = torch.finfo(torch.float32).eps

# a deadline would measure the machine
SOME = settings(deadline=None, max_examples=30)


def task(reference, judge=None, **changes):
    return dataclasses.replace(SOFTMAX, reference=reference, judge=judge or Elementwise(), **changes)


def verdict(task, got, *args, **kwargs):
    case = Case("case", args, kwargs)
    return compare(task, case, Observed(got, {}), truth_of(task, case))


def double(x):
    return 2 * x


@SOME
@given(st.integers(0, 2**31), st.floats(-1, 1))
def test_errors_within_the_budget_pass_and_beyond_it_fail(seed, share):
    x = Draw(seed).normal(20)
    exact = (2 * x).double()
    budget = 4 * EPS * exact.abs()
    judged = task(double, Elementwise(ulps=4, baseline=0))
    assert verdict(judged, (exact + 0.8 * share * budget).float(), x) is None
    off = exact.clone()
    off[7] += math.copysign(1.5, share) * budget[7]
    found = verdict(judged, off.float(), x)
    assert found and found.reason is Reason.MISMATCH and found.index == (7,) and found.fraction == 1 / 20


def test_slack_counts_terms_and_not_the_result():
    """1 + 1e6 - 1e6: the rounding of the terms is allowed for, where that of the result alone isn't."""
    x = torch.tensor([1.0, 1e6, -1e6])
    plain = task(lambda x: x.sum(), Elementwise(ulps=4, baseline=0))
    terms = Elementwise(ulps=4, slack=lambda x: 2.0, magnitude=lambda x: x.double().abs().sum(), baseline=0)
    near = torch.tensor(1.0 + 1e6 * EPS)
    assert verdict(plain, near, x)
    assert verdict(task(lambda x: x.sum(), terms), near, x) is None
    assert verdict(task(lambda x: x.sum(), terms), torch.tensor(1.0 + 1e7 * EPS), x)


def test_magnitudes_by_name_reach_the_second_value():
    sizes = Elementwise(ulps=0, slack=lambda x: 1.0, magnitude=lambda x: {"result[1]": torch.tensor(100.0)}, baseline=0)
    pair = task(lambda x: (x + 0, x + 0), sizes)
    x = torch.ones(3)
    assert verdict(pair, (x, x + 50 * EPS), x) is None
    found = verdict(pair, (x + 50 * EPS, x), x)
    assert found and found.where == "result[0]"


def test_no_more_is_asked_than_the_reference_itself_gives():
    def poor(x):
        return x + 1e-3 if x.dtype == torch.float32 else x.clone()

    x = torch.ones(5)
    assert verdict(task(poor), x + 1.9e-3, x) is None
    assert verdict(task(poor), x - 1.9e-3, x) is None
    assert verdict(task(poor), x + 2.1e-3, x)


def test_a_float64_result_is_held_to_float64():
    x = Draw(4).normal(9, dtype=torch.float64)
    assert verdict(task(double), 2 * x, x) is None
    assert verdict(task(double), (2 * x).float().double(), x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_correctly_rounded_half_result_passes(dtype):
    x = Draw(1).normal(200, dtype=dtype)
    assert verdict(task(lambda x: x.sin()), torch.sin(x.double()).to(dtype), x) is None


def test_complex_values_are_judged_by_their_modulus():
    x = torch.complex(Draw(2).normal(6), Draw(3).normal(6))
    assert verdict(task(double), 2 * x, x) is None
    found = verdict(task(double), 2 * x.conj().resolve_conj(), x)
    assert found and found.fraction == 1.0


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_must_stand_where_the_reference_has_it(special):
    x = torch.tensor([1.0, special, 3.0, 4.0])
    judged = task(lambda x: x.clone())
    assert verdict(judged, x.clone(), x) is None
    missing, misplaced, extra = x.clone(), x.clone(), x.clone()
    missing[1] = 2.0
    misplaced[1], misplaced[2] = 3.0, special
    extra[3] = special
    for wrong, index in ((missing, 1), (misplaced, 1), (extra, 3)):
        found = verdict(judged, wrong, x)
        assert found and found.reason is Reason.NON_FINITE and found.index == (index,)


def test_one_kind_of_special_value_is_not_another():
    x = torch.tensor([math.inf])
    for other in (-math.inf, math.nan):
        assert verdict(task(lambda x: x.clone()), torch.tensor([other]), x)


def test_an_overflow_of_the_output_dtype_may_be_infinite():
    x = torch.tensor([60000.0], dtype=torch.float16)
    assert verdict(task(double), torch.tensor([math.inf], dtype=torch.float16), x) is None
    assert verdict(task(double), torch.tensor([65504.0], dtype=torch.float16), x)


def test_the_worst_element_is_described():
    x = torch.zeros(3, 4)
    got = torch.zeros(3, 4)
    got[0, 1], got[2, 3] = 0.5, -7.0
    found = verdict(task(lambda x: x + 1), got + 1, x)
    assert found
    assert (found.index, found.got, found.expected) == ((2, 3), "-6", "1")
    assert (found.max_abs, found.max_rel, found.fraction) == (7.0, 7.0, 2 / 12)
    assert "2 of 12" in found.message


@pytest.mark.parametrize(
    ("got", "reason"),
    [
        ((), Reason.STRUCTURE),
        (None, Reason.STRUCTURE),
        ([torch.ones(2, 3)], Reason.STRUCTURE),
        (1.0, Reason.STRUCTURE),
        (torch.ones(3, 2), Reason.SHAPE),
        (torch.ones(6), Reason.SHAPE),
        (torch.ones(1, 2, 3), Reason.SHAPE),
        (torch.ones(2, 3).double(), Reason.DTYPE),
        (torch.ones(2, 3).half(), Reason.DTYPE),
        (torch.ones(2, 3).bool(), Reason.DTYPE),
    ],
)
def test_structure_shape_and_dtype_come_first(got, reason):
    found = verdict(task(lambda x: x.clone()), got, torch.ones(2, 3))
    assert found and found.reason is reason


def test_numbers_must_be_equal_and_of_one_type():
    judged = task(lambda x: (x.clone(), 3))
    x = torch.ones(2)
    assert verdict(judged, (x, 3), x) is None
    assert verdict(judged, (x, 4), x).reason is Reason.MISMATCH
    assert verdict(judged, (x, 3.0), x).reason is Reason.STRUCTURE


def test_integers_and_booleans_must_be_equal():
    x = torch.arange(6).reshape(2, 3)
    judged = task(lambda x: (x + 1, x > 2))
    assert verdict(judged, (x + 1, x > 2), x) is None
    wrong = x + 1
    wrong[1, 0] += 1
    found = verdict(judged, (wrong, x > 2), x)
    assert found and (found.where, found.index, found.got, found.expected) == ("result[0]", (1, 0), "5", "4")
    assert verdict(judged, (x + 1, x > 3), x).where == "result[1]"


def test_results_without_elements_are_right():
    assert verdict(task(double), torch.empty(0, 3), torch.empty(0, 3)) is None
    assert verdict(task(double, Exact()), torch.empty(0), torch.empty(0)) is None


def test_exact_allows_no_rounding_and_takes_nan_for_nan():
    x = torch.tensor([1.0, math.nan, -0.0])
    judged = task(lambda x: x.clone(), Exact())
    assert verdict(judged, x.clone(), x) is None
    assert verdict(judged, torch.tensor([1.0 + EPS, math.nan, 0.0]), x).index == (0,)
    assert verdict(judged, torch.tensor([1.0, 0.0, 0.0]), x).index == (1,)
    assert verdict(judged, torch.tensor([1.0, math.nan, math.nan]), x).index == (2,)


def test_a_property_speaks_for_itself():
    def sorted_up(arguments, returned, native):
        return None if (returned.diff() >= 0).all() else f"not sorted, {len(arguments['x'])} elements"

    judged = task(lambda x: x.sort().values, Property(sorted_up))
    assert verdict(judged, torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0])) is None
    found = verdict(judged, torch.tensor([2.0, 1.0]), torch.tensor([2.0, 1.0]))
    assert found and (found.reason, found.message) == (Reason.PROPERTY, "not sorted, 2 elements")


def test_arguments_changed_in_place_are_judged_and_the_case_is_left_alone():
    def step(x, total):
        total += x.sum()

    judged = task(step, mutates=("total",), returns=False)
    x, total = torch.ones(4), torch.zeros(2)
    case = Case("case", (x, total))
    truth = truth_of(judged, case)
    assert torch.equal(total, torch.zeros(2))
    assert compare(judged, case, Observed(None, {"total": torch.full((2,), 4.0)}), truth) is None
    found = compare(judged, case, Observed(None, {"total": torch.zeros(2)}), truth)
    assert found and found.where == "total after the call"
    assert compare(judged, case, Observed(None, {}), truth).reason is Reason.STRUCTURE


@SOME
@given(st.integers(0, 1000))
def test_the_reference_is_right_by_its_own_measure(seed):
    for case in SOFTMAX.hidden(Draw(seed)):
        assert numerically_right(SOFTMAX, case, call_reference(SOFTMAX, case))


@SOME
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 100))
def test_copies_have_the_strides_of_the_original_and_share_nothing(shape, seed):
    original = Draw(seed).strided(Draw(seed).normal(*shape)).transpose(0, -1)
    twin = copied(original)
    assert torch.equal(twin, original) and twin.stride() == original.stride()
    twin += 1
    assert not torch.equal(twin, original)
