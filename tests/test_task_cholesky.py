"""The reconstruction judge of LinearAlgebra/cholesky."""

import pytest
import torch

from tasks.calls import Observed
from tasks.catalog import load
from tasks.draw import Draw
from tasks.judges import compare, truth_of
from tasks.LinearAlgebra.cholesky import positive_definite
from tasks.outcomes import Reason
from tasks.task import Case

CHOLESKY = load("LinearAlgebra/cholesky")
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]


def verdict(matrix, factor, upper=False):
    case = Case("case", (matrix, upper))
    return compare(CHOLESKY, case, Observed(factor, {}), truth_of(CHOLESKY, case))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 17, 64])
@pytest.mark.parametrize("condition", [2.0, 1e4])
def test_the_library_s_factors_pass(dtype, n, condition):
    matrix = positive_definite(Draw(n), 3, n, n, dtype=dtype, condition=condition)
    assert torch.equal(matrix, matrix.mH)
    lower = torch.linalg.cholesky(matrix)
    assert verdict(matrix, lower) is None
    assert verdict(matrix, lower.mH.resolve_conj(), upper=True) is None


def plain_columns(matrix):
    """The textbook algorithm in the matrix's own precision, an honest rival to LAPACK's blocked one."""
    rest, factor = matrix.clone(), torch.zeros_like(matrix)
    for k in range(matrix.shape[-1]):
        factor[k:, k] = rest[k:, k] / rest[k, k].real.sqrt()
        rest -= torch.outer(factor[:, k], factor[:, k].conj())
    return factor


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_textbook_algorithm_passes(dtype):
    for seed in range(10):
        matrix = positive_definite(Draw(seed), 40, 40, dtype=dtype, condition=1e3)
        assert verdict(matrix, plain_columns(matrix)) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_wrong_factors_are_refused_with_the_reason(dtype):
    matrix = positive_definite(Draw(1), 9, 9, dtype=dtype)
    factor = torch.linalg.cholesky(matrix)
    off, outside, negative, missing = (factor.clone() for _ in range(4))
    off[5, 2] += 1e-4
    outside[2, 5] = 1e-30
    negative[:, 3] *= -1
    missing[8] = 0
    assert "must equal A" in verdict(matrix, off).message
    assert (
        "zero above its diagonal, got" in verdict(matrix, outside).message
        and "(2, 5)" in verdict(matrix, outside).message
    )
    assert "real and positive" in verdict(matrix, negative).message
    assert "real and positive" in verdict(matrix, missing).message
    assert "NaN" in verdict(matrix, factor * torch.nan).message
    assert verdict(matrix, factor, upper=True).reason is Reason.PROPERTY


def test_a_factor_of_another_phase_is_refused():
    matrix = positive_definite(Draw(2), 5, 5, dtype=torch.complex128)
    turned = torch.linalg.cholesky(matrix)
    turned[:, 1] *= 1j
    assert torch.allclose(turned @ turned.mH, matrix)
    assert "real and positive" in verdict(matrix, turned).message


def test_float32_arithmetic_is_not_enough_for_float64():
    matrix = positive_definite(Draw(3), 8, 8, dtype=torch.float64)
    assert "must equal A" in verdict(matrix, torch.linalg.cholesky(matrix.float()).double()).message


def test_each_matrix_of_a_batch_is_judged_by_its_own_size():
    small, large = positive_definite(Draw(4), 2, 6, 6, dtype=torch.float64).unbind()
    matrices = torch.stack((small * 1e-12, large))
    factors = torch.linalg.cholesky(matrices)
    factors[0] *= 1.001
    found = verdict(matrices, factors)
    assert found and "at (0, " in found.message


def test_the_result_is_out():
    matrix = positive_definite(Draw(5), 4, 4, dtype=torch.float32)
    out = torch.zeros(4, 4).t()
    assert CHOLESKY.reference(matrix, out=out) is out
    assert torch.equal(out, torch.linalg.cholesky(matrix))
