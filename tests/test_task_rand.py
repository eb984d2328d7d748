"""The statistical judge of Random/rand: true random numbers pass, usual mistakes of generators don't."""

import pytest
import torch

from tasks.calls import Observed
from tasks.catalog import load
from tasks.judges import compare, truth_of
from tasks.outcomes import Reason
from tasks.Random.rand import FALSE_ALARM, LAGS, _most
from tasks.task import Case

RAND = load("Random/rand")
N = 4096


def verdict(values):
    case = Case("case", tuple(values.shape), {"dtype": values.dtype})
    return compare(RAND, case, Observed(values, {}), truth_of(RAND, case))


def uniform(seed, *shape, dtype=torch.float32):
    return torch.rand(shape or (N,), generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(1,), (), (2,), (63,), (700,), (N,), (16, 11, 50)])
def test_true_random_numbers_pass(dtype, shape):
    for seed in range(20):
        values = torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)
        assert verdict(values) is None


def test_a_coarser_grid_and_a_large_sample_pass():
    assert verdict((uniform(1) * 2**23).floor() / 2**23) is None
    assert verdict((uniform(2, dtype=torch.float64) * 2**32).floor() / 2**32) is None
    assert verdict(uniform(3, 2**21 + 5)) is None


def same_stream_in_every_block(x):
    return x[:512].repeat(N // 512)


def one_touches_one(x):
    return x.clone().index_fill_(0, torch.tensor([17]), 1.0)


def walk(x):
    return (x[0] + 0.01 * torch.arange(N)) % 1


def neighbours_alike(x):
    return torch.stack((x[: N // 2], (x[: N // 2] + 2**-20) % 1), 1).flatten()


BROKEN = {
    "negative": lambda x: x - 0.001,
    "one": one_touches_one,
    "NaN": lambda x: torch.where(x > 0.999, torch.nan, x),
    "constant": lambda x: torch.full_like(x, 0.37),
    "sorted": lambda x: x.sort().values,
    "ramp": lambda x: torch.arange(N) / N,
    "walk": walk,
    "half as wide": lambda x: x / 2,
    "squared": lambda x: x * x,
    "towards the middle": lambda x: (x + x.flip(0)) / 2,
    "last mask dropped": lambda x: torch.cat((x[:-16], torch.zeros(16))),
    "same stream in every block": same_stream_in_every_block,
    "neighbours alike": neighbours_alike,
    "16 bits": lambda x: (x * 2**16).floor() / 2**16,
    "normal": lambda x: torch.randn(N, generator=torch.Generator().manual_seed(1)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_generators_are_refused(name):
    for seed in range(3):
        found = verdict(BROKEN[name](uniform(seed)))
        assert found and found.reason is Reason.DISTRIBUTION


def test_float32_numbers_are_no_float64_numbers():
    assert "float32" in verdict(uniform(1).double()).message


def test_the_middle_of_a_large_sample_is_looked_at_too():
    values = uniform(1, 2**22)
    values[2**21 : 2**21 + 1000] = 0
    assert "exactly zero" in verdict(values).message


@pytest.mark.parametrize("expected", [1e-6, 0.3, 1.0, 20.0])
def test_chernoffs_limit_on_rare_events_keeps_the_false_alarm_rate(expected):
    """Against the exact tail of the Poisson distribution with the same mean."""
    most = _most(expected)
    terms = torch.arange(most + 1, most + 400, dtype=torch.float64)
    log_tail = torch.logsumexp(terms * torch.tensor(expected).double().log() - expected - torch.lgamma(terms + 1), 0)
    assert log_tail.exp() <= FALSE_ALARM


def test_a_call_makes_few_enough_tests_for_the_stated_rate():
    tests = len(LAGS) + 6  # zeros, repeats, most frequent value, distribution, mean, variance
    assert tests * FALSE_ALARM < 1e-9
    assert "10^9" in RAND.text


def test_shape_and_dtype_come_by_contract():
    case = Case("case", (3, 5), {"dtype": torch.float64})
    truth = truth_of(RAND, case)
    assert compare(RAND, case, Observed(uniform(1, 5, 3, dtype=torch.float64), {}), truth).reason is Reason.SHAPE
    assert compare(RAND, case, Observed(uniform(1, 3, 5), {}), truth).reason is Reason.DTYPE


@pytest.mark.parametrize("size", [(3, 5), ((3, 5),), ([3, 5],), (torch.Size((3, 5)),)])
def test_sizes_as_arguments_or_as_one_sequence(size):
    assert RAND.reference(*size).shape == (3, 5)
    assert RAND.cost(*size).bytes_min == 60


def test_the_reference_writes_into_out():
    out = torch.zeros(4, 6, dtype=torch.float64)[:, ::2]
    assert RAND.reference(4, 3, out=out) is out and (out != 0).all()
