"""Patterns in wrong values: each is recognised where it was put, and noise is left without a name."""

import dataclasses
import math

import pytest
import torch
from first_tasks import sampled

from evaluator.patterns import PatternName as P
from evaluator.patterns import Seen, patterns_of
from tasks.calls import Observed, call_reference
from tasks.catalog import load
from tasks.draw import Draw
from tasks.judges import Elementwise, Exact, compare, truth_of
from tasks.precision import all_bfloat16
from tasks.task import Case

SOFTMAX = load("Math/softmax")
STORE = {"store": True, "nearest": "y_ptr"}
LOAD = {"store": False, "nearest": "x_ptr"}


def task(reference, judge=None, **changes):
    return dataclasses.replace(SOFTMAX, reference=reference, judge=judge or Elementwise(), **changes)


def seen(task, got, *args, strays=(), mutated=None, **kwargs):
    case = Case("case", args, kwargs)
    return Seen(case, Observed(got, mutated or {}), truth_of(task, case), strays)


def names(task, got, *args, others=(), **kwargs):
    return [p.name for p in patterns_of(task, seen(task, got, *args, **kwargs), others)]


def identity(x):
    return x.clone()


IDENTITY = task(identity)
X = Draw(5).normal(12, 20)
FACTORS = Draw(6).uniform(12, 1, low=1.5, high=4.0)


@pytest.mark.parametrize(
    ("got", "name"),
    [
        (X.T.reshape(12, 20), P.TRANSPOSED),
        (X.roll(1, 1), P.SHIFTED),
        (X.roll(-1, 0), P.SHIFTED),
        (X[:1].expand(12, 20).clone(), P.REPEATED),
        (X.flip(1), P.MISPLACED),
        (X.flatten()[torch.randperm(240, generator=torch.Generator().manual_seed(1))].view(12, 20), P.MISPLACED),
        (-X, P.SIGN),
        (X * 2.5, P.CONSTANT_FACTOR),
        (X + 0.7, P.CONSTANT_OFFSET),
        (X * FACTORS, P.SLICE_FACTOR),
        (X * FACTORS + FACTORS.flip(0), P.SLICE_FACTOR),
    ],
)
def test_relations_to_the_right_values(got, name):
    assert names(IDENTITY, got, X)[0] is name


def spoilt(*index):
    got = X.clone()
    got[index] += Draw(9).normal(*got[index].shape) + 3
    return got


@pytest.mark.parametrize(
    ("got", "name"),
    [
        (spoilt(-1), P.LAST_TILE),
        (spoilt(slice(None), slice(16, None)), P.LAST_TILE),
        (spoilt(slice(None), 0), P.SHIFTED),
        (spoilt(slice(None), slice(1, None, 4)), P.EVERY_KTH),
        (spoilt([2, 3, 9]), P.WHOLE_SLICES),
        (spoilt(slice(None), [2, 5, 6, 17]), P.WHOLE_SLICES),
    ],
)
def test_places_of_wrong_elements(got, name):
    assert names(IDENTITY, got, X) == [name]


def test_what_nobody_wrote():
    poison = torch.full_like(X, -1).view(torch.int32).fill_(-1).view(torch.float32)
    tail = torch.where(torch.arange(20) < 16, X, poison)
    assert names(IDENTITY, tail, X)[:2] == [P.NEVER_WRITTEN, P.LAST_TILE]
    head = torch.where(torch.arange(20) > 0, X, poison)
    assert names(IDENTITY, head, X)[:2] == [P.SHIFTED, P.NEVER_WRITTEN]
    assert names(IDENTITY, tail, X, strays=[LOAD])[0] is P.OUT_OF_BOUNDS_READ
    assert names(IDENTITY, tail, X, strays=[STORE])[0] is P.OUT_OF_BOUNDS_WRITE
    whole = torch.arange(240).view(12, 20)
    assert names(task(identity, Exact()), torch.where(whole < 230, whole, -1), whole)[:1] == [P.NEVER_WRITTEN]
    assert names(IDENTITY, torch.zeros_like(X), X) == [P.NEVER_WRITTEN]


def test_an_argument_that_was_not_changed():
    def step(p, g):
        p.sub_(0.1 * g)

    judged = task(step, mutates=("p",), returns=False)
    assert names(judged, None, X, X.flip(0), mutated={"p": X.clone()})[0] is P.NEVER_WRITTEN


def test_values_of_a_distribution_that_nobody_wrote():
    rand = load("Random/rand")
    case = next(iter(rand.public(Draw(1))))
    got = call_reference(rand, case).returned.clone()
    looked = Seen(case, Observed(got, {}), truth_of(rand, case))
    assert patterns_of(rand, looked) == []
    got.view(torch.uint8).flatten()[-64:] = 0xFF
    assert patterns_of(rand, looked)[0].name is P.NEVER_WRITTEN


def test_nan_and_finite_values_in_each_other_s_place():
    special = X.clone()
    special[3, 4] = special[8, 1] = math.nan
    assert names(IDENTITY, special, X) == [P.NAN_EXPECTED_FINITE]
    assert names(IDENTITY, X, special) == [P.FINITE_EXPECTED_NAN]


def mean(x):
    return x.mean(1)


def largest(x, dim):
    return x.amax(dim)


def softmax(x):
    return x.softmax(1)


def product(a, b):
    return a @ b


@pytest.mark.parametrize(
    ("reference", "got", "arguments", "name"),
    [
        (mean, X.sum(1) / 32, (X,), P.PADDED_LANES),
        (softmax, X.exp() / (X.exp().sum(1, keepdim=True) + 12), (X,), P.PADDED_LANES),
        (largest, torch.zeros(12), (-1 - X.abs(), 1), P.PADDED_LANES),
        (mean, X[:, :16].sum(1) / 20, (X,), P.TILE_LEFT_OUT),
        (mean, X[:, 1:].sum(1) / 20, (X,), P.SHIFTED),
        (product, X[:, :16] @ X.T[:16], (X, X.T), P.TILE_LEFT_OUT),
        (softmax, torch.full_like(X, math.nan), (X + 300,), P.OVERFLOW),
        (torch.nn.functional.cross_entropy, torch.tensor(math.inf), (X + 300, torch.arange(12)), P.OVERFLOW),
        (largest, X.flatten()[:144].view(12, 12).amax(1), (X[:, :12], 1), P.STRIDES),
        (largest, X[:, :12].amax(0), (X[:, :12], 1), P.WRONG_AXIS),
    ],
)
def test_reductions_and_addresses(reference, got, arguments, name):
    assert names(task(reference), got, *arguments)[0] is name


def scaled(x, y, weight=None, alpha=1.0):
    return (x - y) * (1 if weight is None else weight) * alpha


@pytest.mark.parametrize(
    ("got", "name", "told"),
    [
        ((X - X.flip(0)) * 2.5, P.IGNORED_ARGUMENT, "weight"),
        ((X - X.flip(0)) * FACTORS, P.IGNORED_ARGUMENT, "alpha"),
        (X * FACTORS * 2.5, P.IGNORED_ARGUMENT, "`y`"),
        ((X + X.flip(0)) * FACTORS * 2.5, P.SIGN, "`-y`"),
    ],
)
def test_arguments(got, name, told):
    judged = task(scaled, Elementwise(slack=lambda **_: 4.0, magnitude=lambda x, y, **_: 30 * (x.abs() + y.abs())))
    first = patterns_of(judged, seen(judged, got, X, X.flip(0), FACTORS, alpha=2.5))[0]
    assert first.name is name and told in first.words


def quantised(x, dim=1):
    scale = x.abs().amax(dim, keepdim=True) / 127
    return torch.round(x / scale).to(torch.int8) * scale


def grid(x, scale, rounded):
    return rounded(x / scale) * scale


SCALE = X.abs().amax(1, keepdim=True) / 127


@pytest.mark.parametrize(
    ("got", "name"),
    [
        (grid(X, SCALE, torch.trunc), P.ROUNDING),
        (X, P.NOT_QUANTISED),
        (grid(X, X.abs().max() / 127, torch.round), P.SCALE_PER_TENSOR),
    ],
)
def test_quantisation(got, name):
    assert names(task(quantised), got, X)[0] is name


def test_rounding_of_results():
    half = task(lambda x: x.bfloat16(), Elementwise(ulps=0.501, baseline=1.0), exact=identity)
    bits = X.view(torch.int32) & -65536
    assert names(half, bits.view(torch.float32).to(torch.bfloat16), X)[0] is P.ROUNDING
    codes = task(lambda x: torch.round(x * 40).to(torch.int8), Exact())
    assert names(codes, torch.floor(X * 40).to(torch.int8), X)[0] is P.ROUNDING


def inner(k, change):
    a, b = Draw(k).normal(12, k), Draw(k + 1).normal(k, 16)
    judged = task(product, Elementwise(slack=lambda a, b: 2 * math.sqrt(a.shape[1]), magnitude=magnitude))
    return judged, seen(judged, change(a, b), a, b)


def magnitude(a, b):
    return a.double().abs() @ b.double().abs()


def test_precision_that_is_too_low():
    judged, looked = inner(40, lambda a, b: a.half().float() @ b.half().float())
    first = patterns_of(judged, looked)[0]
    assert first.name is P.LOW_PRECISION and "float16 or TF32" in first.words and "input_precision" in first.words

    def in_half(a, b):  # a running sum in bfloat16, which no reference reproduces
        total = torch.zeros(a.shape[0], b.shape[1], dtype=torch.bfloat16)
        for k in range(a.shape[1]):
            total += a[:, k : k + 1] * b[k : k + 1]
        return total.float()

    looks = [inner(k, in_half)[1] for k in (30, 120, 500)]
    first = patterns_of(judged, looks[0], looks[1:])[0]
    assert first.name is P.LOW_PRECISION and "grows" in first.words
    assert "grows" not in patterns_of(judged, looks[0])[0].words


def test_float32_in_a_float64_result():
    judged = task(lambda x: x.double().softmax(1))
    got = X.softmax(1).double()
    for looked in (seen(judged, got, X), seen(judged, got + Draw(9).normal(*got.shape) * 1e-9, X)):
        first = patterns_of(judged, looked)[0]
        assert first.name is P.LOW_PRECISION and "float32" in first.words and "half" not in first.words


def test_where_loads_outside_explain_all_a_last_tile_is_not_told():
    got = X.clone()
    got[:, 16:] = math.nan
    assert P.LAST_TILE in names(IDENTITY, got, X)
    assert names(IDENTITY, got, X, strays=(LOAD,)) == [P.OUT_OF_BOUNDS_READ]


def test_intermediate_results_in_bfloat16():
    gelu = load("Activation/gelu_bf16")
    case = next(iter(gelu.public(Draw(4))))
    truth = truth_of(gelu, case)
    looked = Seen(case, all_bfloat16(gelu, case, truth.native), truth)
    assert patterns_of(gelu, looked)[0].name is P.LOW_PRECISION


def test_another_case_may_tell_what_this_one_does_not():
    judged = task(mean)
    other = Draw(8).normal(5, 20)
    unclear = seen(judged, X.mean(1) + Draw(2).normal(12), X)
    clear = seen(judged, other[:, :16].sum(1) / 20, other)
    assert patterns_of(judged, unclear) == []
    first = patterns_of(judged, unclear, [clear])[0]
    assert first.name is P.TILE_LEFT_OUT and first.words.startswith("in another case")


def undivided(input, target):
    return 6 * torch.nn.functional.cross_entropy(input, target)


def swapped(input_tensor, dim, keepdim):
    return input_tensor.as_strided((21, 9), (1, 9)).argmax(0, keepdim)


MEANT = {
    "Fusion/fused_exp_mean": ("all dimensions", lambda input: (input.exp().sum() + 215) / 297, P.PADDED_LANES),
    "Loss/cross_entropy": ("mean", undivided, P.DIVISOR_LEFT_OUT),
    "MatrixMultiply/matmul": ("two matrices", lambda tensor1, tensor2: tensor1[:, :32] @ tensor2[:32], P.TILE_LEFT_OUT),
    "Reduce/argmax": ("first dimension, kept", swapped, P.STRIDES),
}


@pytest.mark.parametrize("name", sorted(MEANT))
def test_mistakes_in_tasks_of_the_suite(name):
    label, mistaken, meant = MEANT[name]
    task = load(name)
    case = next(case for case in task.public(Draw(3)) if case.label == label)
    got = Observed(mistaken(*case.args, **case.kwargs), {})
    truth = truth_of(task, case)
    assert compare(task, case, got, truth)
    assert meant in [p.name for p in patterns_of(task, Seen(case, got, truth))][:2]


FREE = ("LinearAlgebra/eig", "LinearAlgebra/svd")  # in signs, and an order


@pytest.mark.parametrize("name", sorted({*sampled(), *FREE}))
def test_noise_and_right_values_have_no_name(name):
    task, draw = load(name), Draw(11)
    for case in [*task.public(Draw(1)), next(iter(task.hidden(Draw(2))))]:
        truth = truth_of(task, case)
        assert patterns_of(task, Seen(case, truth.native, truth)) == []
        if any(
            not torch.isfinite(value).all() for _, value in truth.native.leaves() if isinstance(value, torch.Tensor)
        ):
            continue  # noise that has NaN in the right rows is wrong in the others only, and is said to be
        mutated = {key: noisy(value, draw) for key, value in truth.native.mutated.items()}
        looked = Seen(case, Observed(noisy(truth.native.returned, draw), mutated), truth)
        assert patterns_of(task, looked) == [], case.label


def noisy(value, draw):
    """Other values of the same shape and dtype."""
    if isinstance(value, (list, tuple)):
        return type(value)(noisy(item, draw) for item in value)
    if not isinstance(value, torch.Tensor):
        return value
    if not (value.is_floating_point() or value.is_complex()):
        return draw.integers(0, 10**6, *value.shape).to(value.dtype)
    return draw.normal(*value.shape, std=3.0).to(value.dtype)
