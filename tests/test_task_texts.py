"""What a task's text says, followed to the letter in plain Python, agrees with its reference."""

import math
from fractions import Fraction

import pytest
import torch

from tasks.calls import bound, call_exact, call_reference
from tasks.catalog import load
from tasks.draw import Draw

SEEDS = range(3)


def cases_of(name):
    task = load(name)
    return [(task, case) for seed in SEEDS for cases in (task.public, task.hidden) for case in cases(Draw(seed))]


def interpolated_weights(length, size, factor, mode, align_corners):
    """The matrix (out, in) by which one spatial dimension is multiplied, from the formulas of the text."""
    out = size if size is not None else math.floor(length * factor)
    step = Fraction(length, out) if size is not None else 1 / Fraction(factor)
    weights = torch.zeros(out, length, dtype=torch.float64)
    for d in range(out):
        if mode == "nearest":
            weights[d, min(math.floor(d * step), length - 1)] = 1
            continue
        corner = Fraction(d * (length - 1), out - 1) if out > 1 else 0
        t = corner if align_corners else max((d + Fraction(1, 2)) * step - Fraction(1, 2), 0)
        i = math.floor(t)
        weights[d, i] += float(1 - (t - i))
        weights[d, min(i + 1, length - 1)] += float(t - i)
    return weights


@pytest.mark.parametrize(("task", "case"), cases_of("SpatialOps/interpolate"), ids=lambda x: getattr(x, "label", ""))
def test_interpolate(task, case):
    given = bound(task, case)
    x, dims = given["input"].double(), given["input"].dim() - 2
    expected = call_exact(task, case).returned
    for i in range(dims):
        size, factor = (v[i] if isinstance(v, tuple) else v for v in (given["size"], given["scale_factor"]))
        weights = interpolated_weights(x.shape[2 + i], size, factor, given["mode"], given["align_corners"])
        if given["mode"] == "nearest":
            x = x.index_select(2 + i, weights.argmax(1))
        else:
            x = torch.movedim(torch.tensordot(weights, x, dims=([1], [2 + i])), 0, 2 + i)
    torch.testing.assert_close(expected, x, rtol=1e-9, atol=1e-9, equal_nan=True)
    if given["mode"] == "nearest":
        native = call_reference(task, case).returned
        torch.testing.assert_close(native.double(), expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(("task", "case"), cases_of("SpatialOps/interpolate"), ids=lambda x: getattr(x, "label", ""))
def test_float32_rounding_cannot_change_a_nearest_neighbour(task, case):
    given = bound(task, case)
    if given["mode"] != "nearest":
        return
    for i, length in enumerate(given["input"].shape[2:]):
        size, factor = (v[i] if isinstance(v, tuple) else v for v in (given["size"], given["scale_factor"]))
        out = size if size is not None else math.floor(length * factor)
        step = Fraction(length, out) if size is not None else 1 / Fraction(factor)
        exact_in_float32 = step.denominator & (step.denominator - 1) == 0
        margins = [abs(d * step - round(d * step)) for d in range(1, out)]
        assert exact_in_float32 or min(margins, default=1) > Fraction(1, 1000)


@pytest.mark.parametrize(("task", "case"), cases_of("Optimizer/AdamW"), ids=lambda x: getattr(x, "label", ""))
def test_adamw(task, case):
    a = bound(task, case)
    after = call_exact(task, case).mutated
    lr, beta1, beta2, step = a["lr"], a["beta1"], a["beta2"], a["step"]
    p, g, m, v = (a[name].double() for name in ("param", "grad", "exp_avg", "exp_avg_sq"))
    p = p * (1 - lr * a["weight_decay"])
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    p = p - lr / (1 - beta1**step) * m / (v.sqrt() / math.sqrt(1 - beta2**step) + a["eps"])
    for expected, name in ((p, "param"), (m, "exp_avg"), (v, "exp_avg_sq")):
        torch.testing.assert_close(after[name], expected, rtol=1e-12, atol=1e-14, equal_nan=True)
