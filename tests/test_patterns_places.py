"""Where wrong elements lie, what wrong strides leave behind, and small errors that no half makes."""

import dataclasses
import math

import pytest
import torch

from evaluator.patterns import PatternName as P
from evaluator.patterns import Seen, patterns_of
from tasks.calls import Observed
from tasks.catalog import load
from tasks.draw import Draw
from tasks.judges import Elementwise, truth_of
from tasks.task import Case

SOFTMAX = load("Math/softmax")
LINE = Draw(3).normal(200)
WIDE = Draw(4).normal(7, 66)
VIEW = WIDE[:, ::2]
MISREAD = WIDE.flatten()[: VIEW.numel()].view(VIEW.shape)


def found(reference, got, *args):
    task = dataclasses.replace(SOFTMAX, reference=lambda x: reference(x), judge=Elementwise())
    case = Case("case", args, {})
    return patterns_of(task, Seen(case, Observed(got, {}), truth_of(task, case)))


def names(*how):
    return [pattern.name for pattern in found(*how)]


@pytest.mark.parametrize(
    ("length", "first", "told"),
    [
        (200, 192, True),
        (33, 17, False),
        (50, 34, False),
        (64, 48, True),
        (200, 160, False),
        (33, 32, True),
        (50, 49, True),
    ],
)
def test_a_last_tile_begins_where_tiles_end(length, first, told):
    got = LINE[:length].clone()
    got[first:] += Draw(9).normal(length - first) + 3
    assert (P.LAST_TILE in names(torch.clone, got, LINE[:length])) is told


@pytest.mark.parametrize("reference", [torch.sqrt, torch.signbit, lambda x: torch.where(x > 1, math.inf, x)])
def test_a_strided_view_is_named_among_nan_and_conditions(reference):
    assert names(reference, reference(MISREAD), VIEW)[0] is P.STRIDES


def test_conditions_that_hardly_vary_prove_nothing():
    """All of them true is no sign of an address: half the elements agree with any guess."""
    assert P.STRIDES not in names(torch.signbit, torch.ones(VIEW.shape, dtype=torch.bool), VIEW)


def test_digits_lost_to_a_difference_are_not_put_down_to_halves():
    x = 10 ** Draw(2).uniform(12, 20, low=-8, high=-1)
    assert "log(1 + x)" in found(torch.log1p, (1 + x).log(), x)[0].words
    halves = found(torch.sin, x.bfloat16().float().sin() * (1 + Draw(3).normal(12, 20) / 500), x)
    assert "half" in halves[0].words and "log(1 + x)" not in halves[0].words
