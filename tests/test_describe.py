import dataclasses
import math

import pytest
import torch

from tasks.catalog import load
from tasks.describe import describe_case, describe_value, judging, launch_rules
from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case


def test_a_call_is_shown_by_parameter_name_and_in_kind():
    case = Case("x", (torch.zeros(5, 33), 1))
    assert describe_case(case, load("Math/softmax")) == "softmax(input=float32[5, 33], dim=1)"


def test_only_arguments_that_the_case_sets_appear():
    task = load("Math/softmax")
    case = Case("x", (torch.zeros(3, dtype=torch.float16),), {"dim": -1, "dtype": torch.float64})
    assert describe_case(case, task) == "softmax(input=float16[3], dim=-1, dtype=torch.float64)"


def test_strides_appear_when_the_tensor_is_not_contiguous():
    view = Draw(1).strided(torch.zeros(4, 9))
    assert describe_value(view) == "float32[4, 9] strides (19, 2)"
    assert describe_value(torch.zeros(2, 3).t()) == "float32[3, 2] strides (1, 3)"
    assert describe_value(torch.zeros(1, 3).t()) == "float32[3, 1]", "a dimension of size 1 has no stride to speak of"


def test_variable_arguments_have_no_name():
    def stack(*tensors, dim=0, **options):
        return tensors

    task = dataclasses.replace(load("Math/softmax"), entry="stack", reference=stack)
    case = Case("x", (torch.zeros(2), 5), {"dim": 1, "fast": True})
    assert describe_case(case, task) == "stack(float32[2], 5, dim=1, fast=True)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.zeros((), dtype=torch.int64), "int64[]"),
        (torch.zeros(0, 4, dtype=torch.complex64), "complex64[0, 4]"),
        ([torch.zeros(3), None], "[float32[3], None]"),
        ((2,), "(2,)"),
        ((), "()"),
        (list(range(20)), "[0, 1, 2, 3, 4, 5, 6, 7, ... 20 in all]"),
        ({"a": torch.zeros(1)}, "{'a': float32[1]}"),
        ("mean", "'mean'"),
        (math.inf, "inf"),
        (torch.Generator().manual_seed(77), "torch.Generator"),
    ],
)
def test_values_in_kind(value, text):
    assert describe_value(value) == text


def test_no_tensor_element_and_no_seed_leaks():
    task = dataclasses.replace(load("Math/softmax"), entry="f", reference=lambda x, g: x)
    case = Case("x", (torch.full((2, 2), 123.0), torch.Generator().manual_seed(4567)))
    text = describe_case(case, task)
    assert "123" not in text and "4567" not in text


def test_long_strings_are_cut():
    assert len(describe_value("x" * 500)) == 60


def test_how_a_task_is_judged_in_words():
    assert "at most 8 epsilons" in judging(load("Math/softmax")) and "rounding of sums" in judging(load("Math/softmax"))
    assert "rounding of sums" not in judging(dataclasses.replace(load("Math/add"), judge=Elementwise(ulps=2)))
    assert judging(load("Math/floor")).startswith("Judged exactly")
    assert "properties" in judging(load("LinearAlgebra/qr"))
    assert "properties" in judging(load("Fusion/fused_hardshrink_dropout"))


def test_the_rules_name_what_torch_may_do():
    assert not any("may also call" in rule for rule in launch_rules(load("Math/softmax")))
    allowed = " ".join(launch_rules(load("Index/masked_select")))
    assert "here it may also call `_local_scalar_dense`" in allowed
    assert "math and random only" in " ".join(launch_rules(load("Fusion/fused_hardshrink_dropout")))
