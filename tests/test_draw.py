import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.draw import BLOCK, Draw

# a deadline would measure the machine
SOME = settings(deadline=None, max_examples=30)
SEEDS = st.integers(min_value=0, max_value=2**70)


def stream(seed):
    draw = Draw(seed)
    return draw.normal(7), draw.uniform(7), draw.integers(0, 10**9, 7), draw.mask(40), torch.tensor(draw.seed())


@SOME
@given(SEEDS)
def test_a_seed_fixes_the_stream(seed):
    assert all(torch.equal(a, b) for a, b in zip(stream(seed), stream(seed), strict=True))


def test_other_seeds_give_other_values():
    assert not any(torch.equal(a, b) for a, b in zip(stream(1), stream(2), strict=True))


@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_many_values_are_the_same_on_any_machine(kind, monkeypatch):
    def many(seed, cores):
        monkeypatch.setattr("os.cpu_count", lambda: cores)
        return getattr(Draw(seed), kind)(3, BLOCK // 2, dtype=torch.float16)

    first = many(1, cores=4)
    assert torch.equal(first, many(1, cores=1)) and not torch.equal(first, many(2, cores=4))
    blocks = first.view(-1)[: BLOCK // 2], first.view(-1)[BLOCK:]
    assert first.shape == (3, BLOCK // 2) and not torch.equal(*blocks)


def test_many_values_are_distributed_as_few_are():
    values = Draw(3).normal(2, BLOCK, mean=3.0, std=2.0)
    assert values.dtype == torch.float32
    assert values.mean().item() == pytest.approx(3, abs=0.02) and values.std().item() == pytest.approx(2, abs=0.02)
    values = Draw(3).uniform(2, BLOCK, low=-1.0, high=3.0)
    assert -1 <= values.min() < -0.99 and 2.99 < values.max() < 3
    assert values.mean().item() == pytest.approx(1, abs=0.02)


def test_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    stream(5)
    assert torch.equal(torch.get_rng_state(), before)


@SOME
@given(SEEDS, st.integers(-5, 5), st.integers(0, 4))
def test_sizes_stay_within_both_bounds(seed, low, more):
    assert low <= Draw(seed).size(low, low + more) <= low + more


def test_both_bounds_occur():
    draw = Draw(3)
    assert {draw.size(2, 4) for _ in range(100)} == {2, 3, 4}
    assert set(draw.integers(2, 4, 100).tolist()) == {2, 3, 4}
    assert {draw.pick("abc") for _ in range(100)} == set("abc")


def test_uniform_values_stay_in_their_range():
    values = Draw(4).uniform(1000, low=-3.0, high=-1.0)
    assert values.min() >= -3 and values.max() < -1 and values.std() > 0.4


def test_normal_values_have_the_moments_asked_for():
    values = Draw(5).normal(4000, mean=100.0, std=5.0, dtype=torch.float64)
    assert values.mean() == pytest.approx(100, abs=0.5) and values.std() == pytest.approx(5, rel=0.1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtypes_round_the_same_values(dtype):
    assert torch.equal(Draw(6).normal(50, dtype=dtype), Draw(6).normal(50, dtype=torch.float64).to(dtype))


def test_masks_are_boolean_with_the_probability_asked_for():
    mask = Draw(7).mask(4000, p=0.2)
    assert mask.dtype == torch.bool and 0.15 < mask.double().mean() < 0.25


@SOME
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_a_strided_view_keeps_the_values_and_is_not_contiguous(shape):
    values = Draw(8).normal(*shape)
    view = Draw(9).strided(values)
    assert torch.equal(view, values)
    assert view.storage_offset() == 1
    assert view.is_contiguous() == (values.numel() == 1)
    assert view.stride(-1) == 2


def test_what_lies_between_a_views_elements_is_not_zero():
    view = Draw(10).strided(torch.zeros(4, 6))
    whole = torch.empty(0).set_(view.untyped_storage())
    assert (whole != 0).sum() == whole.numel() - view.numel()


def test_a_view_of_integers_keeps_its_dtype():
    values = Draw(11).integers(-(2**40), 2**40, 3, 5)
    assert torch.equal(Draw(12).strided(values), values)
