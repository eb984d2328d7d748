"""What a pattern is looked for in: one judged tensor of a failing case, and which of its elements are wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import torch

from tasks.calls import Observed, bound
from tasks.judges import Elementwise, Exact, Truth, raised_difference
from tasks.outcomes import Reason
from tasks.task import Case, Task

NEARLY_ALL = 0.98
MOST_BITS = 20  # that one element can give
ENOUGH_BITS = 14  # hundreds of guesses are made at a case
EPS = float(torch.finfo(torch.float32).eps)
HALVES = (torch.float16, torch.bfloat16)
AFTER = " after the call"
# of the largest value, for results that a validator judges: their own budget is not known element by element; the
# second is for those that have no wrong element by the first
COARSE = (1e-3, 3e-5)


class PatternName(StrEnum):
    """The kinds of numerical mistakes that values can tell."""

    OUT_OF_BOUNDS_WRITE = "out_of_bounds_write"
    OUT_OF_BOUNDS_READ = "out_of_bounds_read"
    NEVER_WRITTEN = "never_written"
    LAST_TILE = "last_tile"
    EVERY_KTH = "every_kth"
    WHOLE_SLICES = "whole_slices"
    TRANSPOSED = "transposed"
    SHIFTED = "shifted"
    STRIDES = "strides"
    REPEATED = "repeated"
    MISPLACED = "misplaced"
    CONSTANT_FACTOR = "constant_factor"
    SLICE_FACTOR = "slice_factor"
    CONSTANT_OFFSET = "constant_offset"
    SIGN = "sign"
    TERM_LEFT_OUT = "term_left_out"
    FACTOR_LEFT_OUT = "factor_left_out"
    DIVISOR_LEFT_OUT = "divisor_left_out"
    STAGE_LEFT_OUT = "stage_left_out"
    SWAPPED_STAGES = "swapped_stages"
    PADDED_LANES = "padded_lanes"
    TILE_LEFT_OUT = "tile_left_out"
    OVERFLOW = "overflow"
    NAN_EXPECTED_FINITE = "nan_expected_finite"
    FINITE_EXPECTED_NAN = "finite_expected_nan"
    LOW_PRECISION = "low_precision"
    ROUNDING = "rounding"
    NOT_QUANTISED = "not_quantised"
    WRONG_BASE = "wrong_base"
    NOT_RESCALED = "not_rescaled"
    CLAMP = "clamp_left_out"
    SCALE_PER_TENSOR = "scale_per_tensor"
    IGNORED_ARGUMENT = "ignored_argument"
    WRONG_AXIS = "wrong_axis"


@dataclass(frozen=True)
class Pattern:
    """A kind of mistake and one line about it, which gives no value and no size of the case away."""

    name: PatternName
    words: str


@dataclass(frozen=True)
class Seen:
    """One judged case: what the candidate left, what it should have left, and the accesses outside its tensors."""

    case: Case
    got: Observed
    truth: Truth
    strays: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Leaf:
    """One judged tensor. `got`, `native` are as they came; `exact` is float64 or complex128, `budget` float64 and
    `wrong` bool of the same shape; `before` is what an argument that is changed in place held ahead of the call."""

    name: str
    got: torch.Tensor
    native: torch.Tensor
    exact: torch.Tensor
    budget: torch.Tensor
    wrong: torch.Tensor
    before: torch.Tensor | None = None

    @property
    def argument(self) -> str | None:
        """The argument that is changed in place, where this is one."""
        return self.name.removesuffix(AFTER) if self.name.endswith(AFTER) else None

    @cached_property
    def wide(self) -> torch.Tensor:
        """What was got, in the dtype of `exact`."""
        return self.got.to(self.exact.dtype)

    @cached_property
    def filling(self) -> torch.Tensor:
        """Where every byte is 0xFF, which fills memory that nobody has written; bool of the same shape."""
        if self.got.numel() == 0 or self.got.dtype is torch.bool:
            return torch.zeros_like(self.wrong)
        raw = self.got.contiguous().reshape(-1, 1).view(torch.uint8)
        return (raw == 0xFF).all(1).reshape(self.got.shape)

    @cached_property
    def poisoned(self) -> torch.Tensor:
        """The wrong elements that nobody has written."""
        return self.filling & self.wrong

    @cached_property
    def error(self) -> torch.Tensor:
        """|got - exact|, float64."""
        return (self.wide - self.exact).abs()

    @property
    def is_floating(self) -> bool:
        return self.native.is_floating_point() or self.native.is_complex()

    @property
    def eps(self) -> float:
        return float(torch.finfo(self.native.dtype).eps) if self.is_floating else 0.0

    def explained_by(self, values: torch.Tensor, known: torch.Tensor | None = None, *, likely: bool = False) -> bool:
        """Whether `values` (this shape) are what was got: at nearly all wrong elements much nearer than the right
        ones are, and at nearly all others too. Only elements that are `known` count, half of the wrong ones at least.
        The agreement must be no coincidence (see `_evidence_bits`), unless the mistake is a `likely` one."""
        if values.shape != self.wide.shape or not self.wrong.any():
            return False
        values = values.to(self.exact.dtype)
        if self.native.dtype in HALVES and self._rounds_to(values, known):
            return True
        known = torch.ones_like(self.wrong) if known is None else known
        wrong, others = self.wrong & known, ~self.wrong & known
        if 2 * int(wrong.sum()) < int(self.wrong.sum()):
            return False
        off = (self.wide - values).abs()
        room = 2 * self.budget + 16 * min(self.eps, EPS) * values.abs()
        near = (off <= room) & torch.isfinite(values)
        same = self._same_special(values)
        nearer = near & ((off <= self.error / 4) | ~torch.isfinite(self.error)) | same
        if _share(nearer, wrong) < NEARLY_ALL or _share(near | same, others) < NEARLY_ALL:
            return False
        # agreement that is closer than it need be is less of a coincidence
        tight = torch.maximum(4 * off, 4 * min(self.eps, EPS) * values.abs())
        return likely or self._evidence_bits(wrong & nearer, others, values, tight.minimum(room)) >= ENOUGH_BITS

    def _rounds_to(self, values: torch.Tensor, known: torch.Tensor | None) -> bool:
        """Whether `values`, rounded to a dtype of few bits, are just what was got, at enough distinct wrong elements:
        there the neighbour of a right value is a likely guess, which counts for one bit."""
        known = torch.ones_like(self.wrong) if known is None else known
        same = (self.got == values.to(self.got.dtype)) | self._same_special(values)
        agreeing = self.wrong & known & same
        if _share(same, self.wrong & known) < NEARLY_ALL or _share(same, ~self.wrong & known) < NEARLY_ALL:
            return False
        distinct = torch.unique(self.got[agreeing & torch.isfinite(self.wide)])
        return int(distinct.numel()) >= 2 * ENOUGH_BITS

    def _evidence_bits(
        self, agreeing: torch.Tensor, others: torch.Tensor, values: torch.Tensor, room: torch.Tensor
    ) -> float:
        """How unlikely it is that wrong values agree with what was got by chance, in bits: for each distinct value
        besides 0, how many times the room between the two goes into the error. NaN counts for little: it spreads."""
        if self.native.dtype is torch.bool:
            # each element that agrees tells as much as its value is rare among those that were guessed
            share = values.double().mean()
            rare = torch.where(values != 0, share, 1 - share)[agreeing]
            return float(-rare.log2().sum())
        finite = agreeing & torch.isfinite(self.error)
        if not finite.any():
            # the same elements NaN or infinite, and not all of them
            return float(min(int(others.sum()), int(agreeing.sum())) * 2)
        least = 0.5 if not self.is_floating else torch.finfo(torch.float64).tiny
        # values that are small beside the room would agree with anything that is
        apart = torch.minimum(self.error, values.abs()) if self.is_floating else self.error
        bits = (apart / room.clamp_min(least))[finite].log2().clamp(0, MOST_BITS)
        there = values[finite]
        sizes = there.abs().sort().values
        distinct = int((sizes[:1] > 0).sum() + (sizes.diff() > 0).sum())
        return float(bits.mean()) * distinct

    def equal_to(self, values: torch.Tensor) -> bool:
        """Whether nearly all wrong elements, and nearly all others, are exactly `values`."""
        if values.shape != self.got.shape:
            return False
        same = self.got == values.to(self.got.dtype)
        return _share(same, self.wrong) >= NEARLY_ALL and self.explained_by(values, likely=True)

    def _same_special(self, values: torch.Tensor) -> torch.Tensor:
        both_nan = self.wide.isnan() & values.isnan()
        return both_nan | (~torch.isfinite(self.wide) & (self.wide == values))


def first_wrong(task: Task, seen: Seen, coarse: float = COARSE[0]) -> Leaf | None:
    """The first judged tensor with wrong elements; None where no element can be called wrong by itself. `coarse` is
    the room, relative to the largest value, that elements have where only a validator judges them."""
    got, truth = seen.got.leaves(), seen.truth
    if [name for name, _ in got] != [name for name, _ in truth.native.leaves()]:
        return None
    budgets = _budgets(task, seen, coarse)
    if budgets is None:
        return None
    arguments = bound(task, seen.case)
    for (name, have), (_, native), (_, exact) in zip(got, truth.native.leaves(), truth.exact.leaves(), strict=True):
        if not isinstance(native, torch.Tensor) or not isinstance(have, torch.Tensor):
            continue
        if have.shape != native.shape or have.dtype != native.dtype:
            return None
        wide = exact.to(torch.complex128 if native.is_complex() else torch.float64)
        budget = budgets[name].expand(wide.shape)
        if _wrong(native, native, wide, budget).any():
            continue  # signs or an order are free: its elements are not wrong by themselves
        wrong = _wrong(have, native, wide, budget)
        if wrong.any():
            before = arguments.get(name.removesuffix(AFTER)) if name.endswith(AFTER) else None
            return Leaf(name, have, native, wide, budget, wrong, before)
    return None


def first_unwritten(seen: Seen) -> Leaf | None:
    """The first judged tensor with elements that nobody wrote, which are its wrong ones; for results that have no
    other elements that are wrong by themselves."""
    for name, value in seen.got.leaves():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            nowhere = torch.zeros(value.shape, dtype=torch.float64)
            leaf = Leaf(name, value, value, nowhere, nowhere, torch.ones(value.shape, dtype=torch.bool))
            if leaf.poisoned.any():
                return Leaf(name, value, value, nowhere, nowhere, leaf.poisoned)
    return None


def _budgets(task: Task, seen: Seen, coarse: float) -> dict[str, torch.Tensor] | None:
    """The room that each element of each judged tensor has; None for what is judged by its distribution."""
    judge = task.judge
    if getattr(judge, "reason", None) is Reason.DISTRIBUTION:
        return None
    tensors = {name: v for name, v in seen.truth.native.leaves() if isinstance(v, torch.Tensor)}
    exact = {name: v for name, v in seen.truth.exact.leaves() if isinstance(v, torch.Tensor)}
    found: dict[str, torch.Tensor] = {}
    arguments = bound(task, seen.case)
    sizes: Any = judge.magnitude(**arguments) if isinstance(judge, Elementwise) and judge.magnitude else {}
    if isinstance(sizes, torch.Tensor):
        sizes = {next(iter(tensors)): sizes}
    for name, native in tensors.items():
        zero = torch.zeros((), dtype=torch.float64).expand(native.shape)
        if isinstance(judge, Exact) or not (native.is_floating_point() or native.is_complex()):
            found[name] = zero
        elif isinstance(judge, Elementwise):
            slack = judge.slack(**arguments) if judge.slack else 0.0
            budget = judge._budget(native, exact[name], slack, sizes.get(name, exact[name].abs()))
            found[name] = budget.nan_to_num(0.0, 0.0, 0.0)  # no room where the right value is NaN or infinite
        else:
            largest = exact[name].abs().nan_to_num(0.0, 0.0, 0.0).max() if native.numel() else zero
            found[name] = zero + coarse * largest.double()
    return found


def _wrong(have: torch.Tensor, native: torch.Tensor, exact: torch.Tensor, budget: torch.Tensor) -> torch.Tensor:
    if not (native.is_floating_point() or native.is_complex()):
        return have != native
    special = ~torch.isfinite(native) | ~torch.isfinite(exact.to(native.dtype)) | ~torch.isfinite(have)
    same = (have == native) | (have.isnan() & native.isnan()) | (have == exact.to(native.dtype))
    return torch.where(special, ~same, raised_difference(have, exact) > budget)


def _share(held: torch.Tensor, among: torch.Tensor) -> float:
    """The share of `among` where `held` is true; 1 where there is nothing to look at."""
    count = int(among.sum())
    return float((held & among).sum()) / count if count else 1.0
