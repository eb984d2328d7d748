"""The judge of dropout: true masks pass, and those that look random but follow the values don't."""

import pytest
import torch

from tasks.calls import Observed
from tasks.catalog import load
from tasks.draw import Draw
from tasks.judges import numerically_right
from tasks.outcomes import Reason
from tasks.task import Case

HARDSHRINK = load("Fusion/fused_hardshrink_dropout")


def result(x, keep, p, lambd=0.25):
    y = torch.where(keep, x / (1 - p), 0.0)
    return Observed(torch.where(y.abs() > lambd, y, 0.0), {"input": x.clone()})


@pytest.mark.parametrize("p", [0.2, 0.5, 0.75])
def test_true_masks_pass(p):
    for seed in range(20):
        draw = Draw(seed)
        x = draw.normal(40, 75, std=2.0)
        case = Case("", (x, p, True, False, 0.25))
        assert numerically_right(HARDSHRINK, case, result(x, draw.mask(40, 75, p=1 - p), p))


@pytest.mark.parametrize("by", [torch.abs, torch.neg, lambda x: x])
def test_a_mask_that_follows_the_values_is_refused(by):
    draw = Draw(3)
    x = draw.normal(40, 75, std=2.0)
    seen = by(x)
    case = Case("", (x, 0.5, True, False, 0.25))
    got = result(x, seen > seen.median(), 0.5)
    mismatch = HARDSHRINK.judge.compare(HARDSHRINK, case, got, None)
    assert mismatch is not None and mismatch.reason is Reason.DISTRIBUTION
