"""Mistakes in one step of a formula, in windows and in stores are recognised by what they make of the reference."""

import dataclasses
import math

import pytest
import torch

from evaluator.patterns import PatternName as P
from evaluator.patterns import Seen, patterns_of
from evaluator.patterns_formula import formula
from evaluator.patterns_leaf import first_wrong
from evaluator.patterns_recomputed import Bench
from evaluator.patterns_running import Steps
from evaluator.patterns_spelled import Form
from tasks.calls import Observed
from tasks.catalog import load
from tasks.draw import Draw
from tasks.judges import Elementwise, truth_of
from tasks.task import Case

F = torch.nn.functional
SOFTMAX = load("Math/softmax")
X, Y = Draw(5).normal(12, 40), Draw(6).normal(12, 40)
WEIGHT, BIAS = Draw(7).normal(40), Draw(8).normal(40)


def seen(reference, got, *args, **changes):
    judge = Elementwise(slack=lambda **_: 64.0)
    task = dataclasses.replace(SOFTMAX, **{"judge": judge, "reference": reference, **changes})
    case = Case("case", args, {})
    mutated = dict.fromkeys(task.mutates, got)
    observed = Observed(None, mutated) if task.mutates else Observed(got, {})
    return task, Seen(case, observed, truth_of(task, case))


def first(reference, got, *args, **changes):
    return patterns_of(*seen(reference, got, *args, **changes))[0]


def gated(x, y):
    return F.silu(x) * torch.tanh(y) + 0.25 * x


def normalised(x, weight, bias):
    return F.layer_norm(x, (40,), weight, bias)


def about(x, mean, var, weight=WEIGHT, bias=BIAS):
    return (x - mean) / (var + 1e-5).sqrt() * weight + bias


MEAN, VAR = X.mean(1, keepdim=True), X.var(1, correction=0, keepdim=True)


@pytest.mark.parametrize(
    ("reference", "got", "arguments", "name", "told"),
    [
        (gated, F.silu(X) * torch.tanh(Y) - 0.25 * X, (X, Y), P.SIGN, "a -"),
        (gated, F.silu(X) * torch.tanh(Y) + X, (X, Y), P.FACTOR_LEFT_OUT, "constant factor"),
        (gated, F.silu(X) * Y + 0.25 * X, (X, Y), P.STAGE_LEFT_OUT, "`tanh`"),
        (gated, torch.sigmoid(2 * X) * X * torch.tanh(Y) + 0.25 * X, (X, Y), None, ""),
        (gated, F.silu(X) * torch.tanh(Y), (X, Y), P.TERM_LEFT_OUT, "term"),
        (gated, X / (1 + torch.exp2(-X)) * torch.tanh(Y) + 0.25 * X, (X, Y), P.WRONG_BASE, "base"),
        (lambda x: x.exp().mean(1), X.mean(1).exp(), (X,), P.SWAPPED_STAGES, "`exp` after `mean`"),
        (lambda x, w, b: x * w + b, (X + BIAS) * WEIGHT, (X, WEIGHT, BIAS), P.SWAPPED_STAGES, "`mul` after `add`"),
        (normalised, about(X, MEAN, VAR * 40), (X, WEIGHT, BIAS), P.DIVISOR_LEFT_OUT, "variance"),
        (normalised, about(X, MEAN, VAR * 40 / 39), (X, WEIGHT, BIAS), P.DIVISOR_LEFT_OUT, "n - 1"),
        (normalised, about(X, MEAN, X.square().mean(1, keepdim=True)), (X, WEIGHT, BIAS), P.TERM_LEFT_OUT, "about 0"),
        (normalised, about(X, MEAN, VAR + 0.6 * MEAN**2), (X, WEIGHT, BIAS), P.PADDED_LANES, "variance"),
        (normalised, about(X, 0, VAR), (X, WEIGHT, BIAS), P.TERM_LEFT_OUT, "subtraction"),
    ],
)
def test_one_step_of_a_formula(reference, got, arguments, name, told):
    found = patterns_of(*seen(reference, got, *arguments))
    assert [(p.name, told in p.words) for p in found[:1]] == ([(name, True)] if name else [])


@pytest.mark.parametrize(
    ("got", "place"),
    [
        (X * (1 + torch.erf(X * math.sqrt(0.5))), "left out"),
        (0.5 * X * (1 + torch.erf(X)), ", ahead of `erf`"),
    ],
)
def test_a_place_is_told_only_where_values_flow(got, place):
    assert first(lambda x: F.gelu(x), got, X).words.endswith(place)
    late = first(lambda x: torch.erf(x.view(24, 20)) * 0.25, torch.erf(X.view(24, 20)), X)
    assert late.words.endswith(", after `erf`")


def quantised(x):
    scale = x.abs().amax(1, keepdim=True) / 127
    return (x / scale).round().clamp(-20, 20) * scale


SCALE = X.abs().amax(1, keepdim=True) / 127


@pytest.mark.parametrize(
    ("got", "name"),
    [
        ((X / SCALE).round() * SCALE, P.CLAMP),
        ((X / SCALE).floor().clamp(-20, 20) * SCALE, P.ROUNDING),
        ((X / SCALE).clamp(-20, 20) * SCALE, P.NOT_QUANTISED),
        ((X / SCALE).round().clamp(-20, 20), P.FACTOR_LEFT_OUT),
        ((X / SCALE.max()).round().clamp(-20, 20) * SCALE.max(), P.SCALE_PER_TENSOR),
    ],
)
def test_steps_of_a_quantisation(got, name):
    assert first(quantised, got, X).name is name


def loop(x, tile, rescale, plus=1.0):
    """A softmax of lines whose sum is made tile by tile."""
    top, total = torch.full((x.shape[0], 1), -math.inf), torch.zeros(x.shape[0], 1)
    for part in x.split(tile, 1):
        higher = torch.maximum(top, part.amax(1, keepdim=True))
        total = total * rescale(top, higher) + (part - higher).exp().sum(1, keepdim=True)
        top = higher
    return (x - top).exp() / total


@pytest.mark.parametrize(
    ("rescale", "name"),
    [
        (lambda top, higher: 1.0, P.NOT_RESCALED),
        (lambda top, higher: (top + higher).exp(), P.SIGN),
        (lambda top, higher: 0.0, P.TILE_LEFT_OUT),
    ],
)
def test_running_sums(rescale, name):
    line = Draw(3).normal(6, 200, std=2.0) + torch.arange(200) / 40
    assert first(lambda x: x.softmax(1), loop(line, 32, rescale), line).name is name


def test_functions_written_out_are_what_they_stand_for():
    x, long = X.double(), Draw(4).normal(3, 2, 9, 11).double()
    matrix = X[:, :12].double() @ X[:, :12].T.double() + 30 * torch.eye(12)
    mixed = torch.complex(matrix, (x[:, :12] - x[:, :12].T))
    same = {
        "gelu": lambda: (F.gelu(x), F.gelu(x, approximate="tanh")),
        "softmax": lambda: (x.softmax(1), torch.log_softmax(x, 0), torch.logsumexp(x, 1)),
        "losses": lambda: (F.cross_entropy(x, torch.arange(12)), F.cross_entropy(x, torch.arange(12), x[0].abs())),
        "norms": lambda: (F.batch_norm(long, None, None, training=True), F.layer_norm(x, (40,)), F.group_norm(long, 2)),
        "rms": lambda: (F.rms_norm(x, (40,)), F.silu(x), torch.sigmoid(x)),
        "cholesky": lambda: (torch.linalg.cholesky(matrix), torch.linalg.cholesky(mixed, upper=True)),
        "resize": lambda: (F.interpolate(long, (5, 13), mode="bilinear"), F.interpolate(long, scale_factor=1.7)),
        "pool": lambda: (F.avg_pool1d(x, 3, 2, 1),),
    }
    for name, values in same.items():
        for form in (Form(), Form(variant=1), Form(tile=16)):
            with Steps(form) as steps:
                spelled = values()
            assert steps.first and steps.spelled, name
            for ours, theirs in zip(spelled, values(), strict=True):
                torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12, msg=name)


def pooled(input, kernel_size, stride, padding):
    return F.avg_pool1d(input, kernel_size, stride, padding)


@pytest.mark.parametrize(
    ("moved", "name", "told"),
    [
        (F.pad(X[None, :, 2:], (0, 6)), P.SIGN, "`padding` is added"),
        (F.pad(X[None], (0, 4)), P.IGNORED_ARGUMENT, "`padding`"),
    ],
)
def test_windows_that_start_elsewhere(moved, name, told):
    found = first(pooled, pooled(moved, 5, 3, 0)[..., :14], X[None], 5, 3, 2)
    assert found.name is name and told in found.words


def test_windows_that_step_by_one():
    found = first(pooled, pooled(X[None], 5, 1, 2)[..., :14], X[None], 5, 3, 2)
    assert found.name is P.IGNORED_ARGUMENT and "`stride`" in found.words


def test_results_stored_with_wrong_strides():
    out = Draw(2).normal(6, 20)[:, ::2]
    room = out.as_strided((120,), (1,)).clone()
    for row in range(6):
        room[row : row + 20 : 2] = X[row, :10] * 2.0

    def double(out, x):
        out.copy_(x * 2.0)

    got = room.as_strided((6, 10), (20, 2))
    task, looked = seen(double, got, out, X[:6, :10], mutates=("out",), returns=False)
    assert patterns_of(task, looked)[0].name is P.STRIDES


@pytest.mark.parametrize(
    ("reference", "arguments"),
    [(gated, (X, Y)), (normalised, (X, WEIGHT, BIAS)), (quantised, (X,)), (lambda x: x.softmax(1), (X,))],
)
def test_noise_is_no_step_of_a_formula(reference, arguments):
    right = reference(*arguments)
    for seed in range(3):
        noise = Draw(seed).normal(*right.shape)
        for got in (noise, right + noise, right * (1 + noise)):
            task, looked = seen(reference, got, *arguments)
            leaf = first_wrong(task, looked)
            assert list(formula(Bench(task, looked.case, leaf))) == []


def test_work_is_bounded(monkeypatch):
    task, looked = seen(lambda x: x.softmax(1), torch.rand(100, 190), Draw(1).normal(100, 190))
    counted, again = [], Bench.again
    monkeypatch.setattr(Bench, "again", lambda self, *args, **how: counted.append(1) or again(self, *args, **how))
    assert list(formula(Bench(task, looked.case, first_wrong(task, looked)))) == []
    assert 10 < len(counted) < 400


def halved(x):
    """A loop that a change of its step keeps from ending."""
    while bool((x.abs() > 1).any()):
        x = x / 2
    return x


def test_loops_that_would_not_end_are_left():
    task, looked = seen(halved, X + 5, X)
    assert patterns_of(task, looked)[0].name is not P.DIVISOR_LEFT_OUT
