"""NaN in the interpreter is what it is on a GPU: `max.f32` gives the other operand, and comparisons are false."""

from collections.abc import Iterator

import pytest

from evaluator.judge import Evaluator
from tasks.catalog import load
from tasks.outcomes import Reason, Status

RELU = """\
import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, MAXIMUM, mask=mask)


def relu(input, inplace=False):
    x = input.contiguous()
    y = x if inplace else torch.empty_like(x)
    if x.numel():
        relu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    if inplace and x is not input:
        input.copy_(y)
    return input if inplace else y
"""

LARGEST = """\
import torch
import triton
import triton.language as tl


@triton.jit
def largest_kernel(x_ptr, y_ptr, n, inner, BLOCK: tl.constexpr):
    row, lane = tl.program_id(0) // inner, tl.program_id(0) % inner
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (row * n + offs) * inner + lane, mask=offs < n, other=-float("inf"))
    tl.store(y_ptr + tl.program_id(0), tl.argmax(x, axis=0))


def argmax(input_tensor, dim, keepdim=False):
    x = input_tensor.contiguous() if dim is not None else input_tensor.contiguous().view(-1)
    at = 0 if dim is None else dim % max(x.dim(), 1)
    n, inner = x.size(at), 1
    for size in x.shape[at + 1 :]:
        inner *= size
    shape = [size for i, size in enumerate(x.shape) if i != at]
    if keepdim:
        shape = [1] * input_tensor.dim() if dim is None else [*x.shape[:at], 1, *x.shape[at + 1 :]]
    y = torch.empty(shape, dtype=torch.int64, device=x.device)
    if y.numel():
        largest_kernel[(y.numel(),)](x, y, n, inner, BLOCK=triton.next_power_of_2(n))
    return y
"""


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    with Evaluator(device="cpu", workers=1) as one:
        yield one


@pytest.mark.parametrize("spelling", ["tl.maximum(x, 0.0)", "tl.maximum(0.0, x)", "max(x, 0.0)"])
def test_a_maximum_drops_nan(evaluator: Evaluator, spelling: str) -> None:
    verdict = evaluator.evaluate(load("Activation/relu"), RELU.replace("MAXIMUM", spelling))
    assert (verdict.status, verdict.reason) == (Status.WRONG, Reason.MISMATCH), verdict.diagnosis
    assert all(row.right or "special" in row.label for row in verdict.cases)


@pytest.mark.parametrize(
    "spelling", ["tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)", "tl.where(x < 0, 0.0, x)"]
)
def test_a_maximum_that_is_asked_to_keeps_nan(evaluator: Evaluator, spelling: str) -> None:
    verdict = evaluator.evaluate(load("Activation/relu"), RELU.replace("MAXIMUM", spelling))
    assert verdict.correct, verdict.diagnosis


def test_an_argmax_does_not_find_nan(evaluator: Evaluator) -> None:
    verdict = evaluator.evaluate(load("Reduce/argmax"), LARGEST)
    assert (verdict.status, verdict.reason) == (Status.WRONG, Reason.MISMATCH), verdict.diagnosis
    wrong = [row.label for row in verdict.cases if row.right is False]
    assert wrong and all("special" in label or "NaN" in label for label in wrong), wrong
