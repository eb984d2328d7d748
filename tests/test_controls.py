"""The negative controls find a lax task, and don't accuse a sound one."""

import dataclasses
import math

import pytest
import torch

from tasks.catalog import load
from tasks.controls import admit
from tasks.judges import Elementwise, Property
from tasks.outcomes import Reason
from tasks.precision import Bfloat16Intermediates, half_rounded
from tasks.task import Case

SOFTMAX = load("Math/softmax")


def findings(task, seed=1):
    return {finding.control: finding for finding in admit(task, seed)}


def with_cases(task, *cases):
    def drawn(draw):
        for label, make in cases:
            yield Case(label, *make(draw))

    return dataclasses.replace(task, public=drawn, hidden=lambda draw: iter(()))


def test_a_sound_task_refuses_them_all():
    assert {f.refused for f in findings(SOFTMAX).values()} == {True}


def test_a_judge_that_accepts_everything_is_found_out():
    lax = dataclasses.replace(SOFTMAX, judge=Property(lambda arguments, returned, native: None))
    lax_on = {name for name, finding in findings(lax).items() if finding.refused is False}
    assert {"zeros", "constant mean", "identity", "last tile dropped", "half-precision reference"} <= lax_on
    assert "another seed's answer" in lax_on
    assert "empty tuple" not in lax_on, "structure comes before the judge"


def test_a_loose_budget_lets_half_precision_through():
    loose = dataclasses.replace(SOFTMAX, judge=Elementwise(ulps=1e5))
    loose = findings(with_cases(loose, ("rows", lambda draw: ((draw.normal(9, 40), 1), {}))))
    assert loose["half-precision reference"].refused is False
    assert loose["zeros"].refused


def test_a_parameter_without_effect_is_found_out():
    def reference(x, scale=1.0):
        return x * 2

    task = dataclasses.replace(SOFTMAX, judge=Elementwise(), reference=reference)
    task = with_cases(task, ("scaled", lambda draw: ((draw.normal(40),), {"scale": 3.0})))
    assert findings(task)["scale ignored"].refused is False


def test_a_parameter_at_its_default_in_every_case_makes_no_control():
    task = with_cases(SOFTMAX, ("plain", lambda draw: ((draw.normal(40), 0), {"dtype": None})))
    assert "dtype ignored" not in findings(task)


def test_right_values_are_no_control():
    task = dataclasses.replace(SOFTMAX, judge=Elementwise(), reference=lambda x: x * 0)
    found = findings(with_cases(task, ("zeros", lambda draw: ((draw.uniform(40, low=1.0),), {}))))
    assert found["zeros"].refused is None and found["last tile dropped"].refused is None
    assert found["identity"].refused


def test_in_place_results_lose_their_last_tile_by_staying_as_they_were():
    def increment(x):
        x += 1

    task = dataclasses.replace(SOFTMAX, judge=Elementwise(), reference=increment, mutates=("x",), returns=False)
    found = findings(with_cases(task, ("in place", lambda draw: ((draw.normal(50),), {}))))
    assert "2 of 50" in found["last tile dropped"].detail
    assert "50 of 50" in found["identity"].detail
    assert found["empty tuple"].refused is None


def test_a_scalar_result_loses_the_last_tile_of_its_input():
    task = dataclasses.replace(SOFTMAX, judge=Elementwise(), reference=lambda x: x.double().mean().float())
    found = findings(with_cases(task, ("mean", lambda draw: ((draw.uniform(50, low=1.0),), {}))))
    assert found["last tile dropped"].refused


def test_what_receives_the_result_is_no_input():
    found = findings(load("Random/rand"))
    assert "out ignored" not in found
    assert found["identity"].refused is None


def test_a_distribution_is_not_told_by_its_seed():
    found = findings(load("Random/rand"))
    assert found["another seed's answer"].refused is None and "distribution" in found["another seed's answer"].detail
    assert "generator ignored" not in found
    fixed = dataclasses.replace(load("Random/rand"), judge=Elementwise())
    assert "generator ignored" in findings(fixed)


def test_a_distribution_judge_is_known_by_its_reason():
    judge = Property(lambda arguments, returned, native: "no", Reason.DISTRIBUTION)
    assert findings(dataclasses.replace(SOFTMAX, judge=judge))["another seed's answer"].refused is None


def test_bfloat16_intermediates_of_a_half_result():
    task = dataclasses.replace(SOFTMAX, judge=Elementwise(), reference=lambda x: ((x.float() + 256) - 256).to(x.dtype))
    case = ("sum", lambda draw: ((draw.normal(50, dtype=torch.bfloat16),), {}))
    assert findings(with_cases(task, case))["half-precision reference"].refused


def test_rounding_to_half_keeps_range_specials_and_dtype():
    x = torch.tensor([1.0001, 1e30, math.inf, math.nan, -2.5])
    rounded = half_rounded(x)
    assert rounded.dtype == torch.float32
    assert rounded[0] == 1.0 and rounded[1] == x[1] and rounded[2] == math.inf and rounded[3].isnan()
    assert torch.equal(half_rounded(torch.tensor([1.0001 + 2.0002j])), torch.tensor([1.0 + 2.0j]))
    assert torch.equal(half_rounded(torch.tensor([70001])), torch.tensor([70001]))


def test_the_rounding_mode_rounds_new_values_and_leaves_views_alone():
    x = torch.tensor([[1.001, 2.003]])
    with Bfloat16Intermediates():
        view = x.view(2)
        total = x + 0
    assert torch.equal(view, x[0]) and view.data_ptr() == x.data_ptr()
    assert torch.equal(total, x.bfloat16().float())


@pytest.mark.parametrize("name", ["Math/softmax", "Optimizer/AdamW", "Random/rand"])
def test_a_seed_fixes_the_findings(name):
    assert admit(load(name), 7) == admit(load(name), 7)
