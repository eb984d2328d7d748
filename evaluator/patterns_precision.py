"""Patterns of rounding: precision too low, another rounding mode, no quantisation, one scale for a whole tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from evaluator.patterns_leaf import EPS, NEARLY_ALL, Leaf, Pattern, PatternName, Seen, first_wrong
from evaluator.patterns_recomputed import Bench, floating
from tasks.task import Task

SMALL = 1 / 64  # relative errors beyond this are no matter of precision
FEW = 8
CORRELATED = 0.7  # between errors and right values: then it is a scale that is off
AROUND_ONE = 16 * EPS  # errors that float32 makes in numbers near 1: no half leaves these in small results
FLOAT32_SIZED = 64 * EPS  # relative errors that float32 makes in short sums, and halves do not
LOST = "precision is lost on the way (a cast to half, tf32, or a difference of nearly equal numbers)"
CANCELLED = (
    "float32's own rounding is in the way: a difference of nearly equal numbers, as in 1 - erf(x) or log(1 + x), or "
    "another formula that loses digits"
)
IN_FLOAT32 = "they have the size of float32's in a float64 result: compute, accumulate and store in float64"
TF32 = ' or TF32 (the default of tl.dot for float32: write input_precision="ieee")'
ROUNDED = {torch.float16: "float16", torch.bfloat16: "bfloat16"}


def precision(bench: Bench) -> Iterator[Pattern]:
    """What a reference of lower precision reproduces; failing that, small errors of both signs nearly everywhere."""
    leaf = bench.leaf
    if not leaf.is_floating or float((leaf.error[leaf.wrong]).median()) > 4 * SMALL * _usual_size(leaf.exact):
        return
    found = _recomputed(bench) or _small_errors(leaf)
    if found:
        yield Pattern(PatternName.LOW_PRECISION, found)


def rounding(leaf: Leaf) -> Iterator[Pattern]:
    """Integers off by one step, or floating results of few bits that were truncated."""
    if leaf.native.dtype in (torch.int8, torch.uint8, torch.int16, torch.int32):
        steps = (leaf.got.long() - leaf.native.long())[leaf.wrong].abs()
        if steps.numel() >= FEW // 2 and bool((steps == 1).double().mean() >= NEARLY_ALL):
            words = "wrong elements are off by one step of the grid: the rounding mode differs from the task's"
            yield Pattern(PatternName.ROUNDING, words)
    elif leaf.native.dtype in ROUNDED and int(leaf.wrong.sum()) >= FEW and leaf.equal_to(_truncated(leaf)):
        words = "results are truncated to the output's dtype where they must be rounded to nearest"
        yield Pattern(PatternName.ROUNDING, words)


def quantisation(bench: Bench) -> Iterator[Pattern]:
    """What the reference with another rounding, none at all, or scales over whole tensors reproduces."""
    for mode, words in ((Truncating, "toward zero"), (AwayFromZero, "half away from zero"), (Upward, "half up")):
        if bench.explains({}, under=mode, exact=False):
            words = f"the values are those of quantising with rounding {words}: the task says how to round"
            yield Pattern(PatternName.ROUNDING, words)
    if bench.explains({}, under=Unquantised, exact=False):
        words = "the values are those of a computation without quantisation: round to the grid, as the task says"
        yield Pattern(PatternName.NOT_QUANTISED, words)
    if bench.explains({}, under=WholeScales, exact=False):
        words = "the values are those of one scale for a whole tensor, where the task wants one for each row or column"
        yield Pattern(PatternName.SCALE_PER_TENSOR, words)


def pooled(task: Task, cases: Sequence[Seen]) -> Iterator[Pattern]:
    """Small errors of both signs in several cases whose results are too short to tell one by one."""
    leaves = [leaf for seen in cases if (leaf := first_wrong(task, seen)) is not None and leaf.is_floating]
    short = [leaf for leaf in leaves if leaf.exact.numel() < FEW and not leaf.exact.is_complex()]
    shares = [((leaf.wide - leaf.exact) / leaf.exact)[leaf.wrong] for leaf in short]
    off = torch.cat(shares) if shares else torch.zeros(0)
    if off.numel() < FEW or not torch.isfinite(off).all() or float(off.abs().max()) > SMALL:
        return
    if 0.15 < float((off > 0).double().mean()) < 0.85:
        wide = all(leaf.native.dtype is torch.float64 for leaf in short)
        cause = _cause(float(off.abs().max()), float64=wide)
        words = f"errors are small and of both signs in every case: {cause}"
        yield Pattern(PatternName.LOW_PRECISION, words)


def grows(task: Task, cases: Sequence[Seen]) -> bool:
    """Whether the largest error, relative to the value's size, grows with the terms behind an element: over three
    failing cases at least, in step with the root of their number or more."""
    points = []
    for seen in cases:
        leaf = first_wrong(task, seen)
        if leaf is None or leaf.exact.numel() == 0 or not torch.isfinite(leaf.error).all():
            continue
        size = leaf.exact.abs().mean().clamp_min(torch.finfo(torch.float64).tiny)
        given = [value for value in (*seen.case.args, *seen.case.kwargs.values()) if isinstance(value, torch.Tensor)]
        if given:  # not so where all tensors are in a list
            points.append((max(t.numel() for t in given) / leaf.exact.numel(), float(leaf.error.mean() / size)))
    points.sort()
    terms = [n for n, _ in points]
    if len(points) < 3 or terms[-1] < 4 * terms[0]:
        return False
    ordered = all(a[1] < b[1] for a, b in pairwise(points) if b[0] > 1.5 * a[0])
    return ordered and points[-1][1] > points[0][1] * (terms[-1] / terms[0]) ** 0.5 / 2


def _recomputed(bench: Bench) -> str | None:
    for dtype, named in ROUNDED.items():
        inputs = {
            name: value.to(dtype).to(value.dtype) for name, value in floating(bench.tensors()) if not value.is_complex()
        }
        if inputs and bench.explains(inputs):
            if dtype is torch.float16 and all(bench.tensors()[name].dtype is torch.float32 for name in inputs):
                named += TF32  # both keep ten bits
            return f"the values are those of inputs rounded to {named}: keep the task's own precision throughout"
    if bench.leaf.native.dtype is torch.float64 and bench.leaf.explained_by(bench.leaf.exact.float().double()):
        return "the values have float32 precision in a float64 result: compute and store in float64"
    return None


def _usual_size(values: torch.Tensor) -> float:
    """The root mean square of `values`, as far as they are finite; never 0."""
    finite = values[torch.isfinite(values)].abs()
    return max(float(finite.square().mean().sqrt()) if finite.numel() else 1.0, torch.finfo(torch.float64).tiny)


def _small_errors(leaf: Leaf) -> str | None:
    """Errors at many elements, of both signs, no function of the right values, and all small beside these; where an
    argument is changed in place, beside its changes."""
    wrong = leaf.wrong & torch.isfinite(leaf.error)
    if leaf.exact.is_complex() or int(wrong.sum()) < FEW or wrong.double().mean() < 0.25:
        return None
    error, exact = (leaf.wide - leaf.exact)[wrong], leaf.exact[wrong]
    above = float((error > 0).double().mean())
    size = _usual_size(exact) if leaf.before is None else _usual_size(leaf.exact - leaf.before.to(leaf.exact.dtype))
    room = exact.abs().clamp_min(size) if leaf.before is None else torch.tensor(size)
    largest = float((error.abs() / room).max())
    if largest > SMALL or not 0.15 < above < 0.85:
        return None
    if float(exact.std()) > 0 and abs(float(torch.corrcoef(torch.stack([error, exact]))[0, 1])) > CORRELATED:
        return None
    cancels = leaf.native.dtype is torch.float32 and float(error.abs().max()) < AROUND_ONE
    cancels = cancels and float((error / exact).abs().max()) > SMALL
    cause = CANCELLED if cancels else _cause(largest, float64=leaf.native.dtype is torch.float64)
    return f"errors are small, of both signs and nearly everywhere: {cause}"


def _cause(largest: float, *, float64: bool) -> str:
    """Where precision is lost, by the largest relative error."""
    if largest < FLOAT32_SIZED:  # too small for a half or TF32
        return IN_FLOAT32 if float64 else CANCELLED
    return LOST


def _truncated(leaf: Leaf) -> torch.Tensor:
    """`exact` in the output's dtype, rounded toward zero."""
    rounded = leaf.exact.to(leaf.native.dtype)
    beyond = rounded.to(leaf.exact.dtype).abs() > leaf.exact.abs()
    return torch.where(beyond, torch.nextafter(rounded, torch.zeros_like(rounded)), rounded)


class Replaced(TorchFunctionMode):
    """Calls of `torch.round` and of maxima along a dimension go through the methods below."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in ("round", "rint", "round_") and args:
            return self.rounded(args[0])
        if name in ("amax", "amin") and args:
            return self.extreme(func, args, options)
        if name in ("to", "char", "int") and args and self.keeps(*args[1:], **options):
            return args[0]
        return func(*args, **options)

    def rounded(self, value: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.round(value)  # type: ignore[no-any-return]

    def extreme(self, func: Any, args: Any, options: Any) -> Any:
        return func(*args, **options)

    def keeps(self, *args: Any, **options: Any) -> bool:
        """Whether a cast leaves its value as it is."""
        return False


class Truncating(Replaced):
    def rounded(self, value: torch.Tensor) -> torch.Tensor:
        return value.trunc()


class AwayFromZero(Replaced):
    def rounded(self, value: torch.Tensor) -> torch.Tensor:
        return torch.copysign((value.abs() + 0.5).floor(), value)


class Upward(Replaced):
    def rounded(self, value: torch.Tensor) -> torch.Tensor:
        return (value + 0.5).floor()


class Unquantised(Replaced):
    def rounded(self, value: torch.Tensor) -> torch.Tensor:
        return value

    def keeps(self, *args: Any, **options: Any) -> bool:
        return (args or tuple(options.values()))[:1] in ((torch.int8,), (torch.uint8,), (torch.int32,))


class WholeScales(Replaced):
    def extreme(self, func: Any, args: Any, options: Any) -> Any:
        each = func(*args, **options)
        return torch.full_like(each, (args[0].amax() if func.__name__ == "amax" else args[0].amin()).item())
