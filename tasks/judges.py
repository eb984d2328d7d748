"""How the values of a call are judged. A judge sees values only: where they came from is the evaluator's business.

The elementwise budget follows the standard model of rounding error (Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed., sections 2.2 and 3.1): an error of a few units in the last place of the output, plus
the unit roundoff of the accumulation times the sum of the magnitudes that were added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from tasks.calls import Observed, bound, call_exact, call_reference
from tasks.outcomes import Reason
from tasks.task import Case, Task


@dataclass(frozen=True)
class Mismatch:
    """The first judged value that is not what it should be.

    `where` names it ("result[1]"); `fraction` is the share of its elements that are wrong; `index`, `got`
    and `expected` describe the worst element; errors are in the value's own units and relative to `expected`.
    """

    reason: Reason
    where: str
    message: str
    fraction: float | None = None
    index: tuple[int, ...] | None = None
    got: str | None = None
    expected: str | None = None
    max_abs: float | None = None
    max_rel: float | None = None


@dataclass(frozen=True)
class Truth:
    """What a case should give: at the task's own precision, and in float64."""

    native: Observed
    exact: Observed


class Judge(Protocol):
    """Judges the values of one call whose structure, shapes and dtypes are already right."""

    def compare(self, task: Task, case: Case, got: Observed, truth: Truth) -> Mismatch | None: ...


def truth_of(task: Task, case: Case) -> Truth:
    return Truth(call_reference(task, case), call_exact(task, case))


def compare(task: Task, case: Case, got: Observed, truth: Truth) -> Mismatch | None:
    """The contract of structure, shape and dtype, then the task's judge. None means right."""
    return contract(got, truth.native) or task.judge.compare(task, case, got, truth)


def numerically_right(task: Task, case: Case, got: Observed) -> bool:
    """Whether these values would be accepted, whoever made them."""
    return compare(task, case, got, truth_of(task, case)) is None


def contract(got: Observed, native: Observed) -> Mismatch | None:
    """Exact structure, shape and dtype of every judged value."""
    ours, theirs = native.leaves(), got.leaves()
    if [name for name, _ in ours] != [name for name, _ in theirs]:
        return Mismatch(
            Reason.STRUCTURE,
            "result",
            f"expected {_structure(native)}, got {_structure(got)}",
        )
    for (name, want), (_, have) in zip(ours, theirs, strict=True):
        if isinstance(want, torch.Tensor) != isinstance(have, torch.Tensor):
            message = f"{name} must be {_kind(want)}, got {_kind(have)}"
            return Mismatch(Reason.STRUCTURE, name, message)
        if not isinstance(want, torch.Tensor):
            if type(want) is not type(have):
                return Mismatch(Reason.STRUCTURE, name, f"{name} must be {_kind(want)}, got {_kind(have)}")
            continue
        if want.shape != have.shape:
            message = f"{name} must have shape {tuple(want.shape)}, got {tuple(have.shape)}"
            return Mismatch(Reason.SHAPE, name, message)
        if want.dtype != have.dtype:
            message = f"{name} must have dtype {want.dtype}, got {have.dtype}"
            return Mismatch(Reason.DTYPE, name, message)
    return None


@dataclass(frozen=True)
class Elementwise:
    """Each element within an error budget of the float64 reference.

    budget = `ulps` * eps(output dtype) * |exact|
           + `slack(arguments)` * eps(accumulation) * `magnitude(arguments)`
    and never less than `baseline` times the error of the PyTorch reference at that element. The accumulation
    is float64 for float64 outputs, float32 for all others. `magnitude` gets the case's arguments by name and
    returns the float64 sum of the absolute values of the terms behind each element (|A| @ |B| for a
    product), broadcastable to the first output, or several of them by the judged value's name
    ("param after the call"); default: |exact|. `slack` grows with the reduction
    length, typically `4 * sqrt(n)`. Integer and boolean outputs must be equal. NaN and infinity must stand
    exactly where the reference has them.
    """

    ulps: float = 4.0
    slack: Callable[..., float] | None = None
    magnitude: Callable[..., torch.Tensor | Mapping[str, torch.Tensor]] | None = None
    baseline: float = 2.0

    def compare(self, task: Task, case: Case, got: Observed, truth: Truth) -> Mismatch | None:
        arguments = bound(task, case)
        slack = self.slack(**arguments) if self.slack else 0.0
        sizes = self.magnitude(**arguments) if self.magnitude else {}
        if isinstance(sizes, torch.Tensor):
            sizes = {got.leaves()[0][0]: sizes}
        for (name, have), (_, native), (_, exact) in zip(
            got.leaves(), truth.native.leaves(), truth.exact.leaves(), strict=True
        ):
            if not isinstance(native, torch.Tensor):
                if have != native:
                    return Mismatch(Reason.MISMATCH, name, f"{name} must be {native!r}, got {have!r}")
                continue
            if not (native.is_floating_point() or native.is_complex()):
                found = _first_difference(name, have, native, have != native)
            else:
                size = sizes.get(name)
                budget = self._budget(native, exact, slack, exact.abs() if size is None else size)
                found = _compare_floats(name, have, native, exact, budget)
            if found:
                return found
        return None

    def _budget(self, native: torch.Tensor, exact: torch.Tensor, slack: float, size: torch.Tensor) -> torch.Tensor:
        real = torch.finfo(native.dtype)
        accumulation = real.eps if real.eps < 1e-10 else torch.finfo(torch.float32).eps
        budget = self.ulps * real.eps * exact.abs() + slack * accumulation * size + real.tiny
        honest = self.baseline * (raised_difference(native, exact)).nan_to_num(0.0, 0.0, 0.0)
        return torch.maximum(budget.expand_as(honest), honest)


@dataclass(frozen=True)
class Exact:
    """Every element equal to the reference at its own precision; NaN equals NaN."""

    def compare(self, task: Task, case: Case, got: Observed, truth: Truth) -> Mismatch | None:
        for (name, have), (_, native) in zip(got.leaves(), truth.native.leaves(), strict=True):
            if isinstance(native, torch.Tensor):
                differs = have != native
                if native.is_floating_point() or native.is_complex():
                    differs &= ~(have.isnan() & native.isnan())
                found = _first_difference(name, have, native, differs)
                if found:
                    return found
            elif have != native:
                return Mismatch(Reason.MISMATCH, name, f"{name} must be {native!r}, got {have!r}")
        return None


@dataclass(frozen=True)
class Property:
    """A validator: `check(arguments, returned, native)` names the property that fails, or returns None.

    For results that are not unique (factorisations, ties) or random: reconstruction, orthogonality,
    moments. `reason` is PROPERTY, or DISTRIBUTION for a statistical check.
    """

    check: Callable[[dict[str, Any], Any, Any], str | None]
    reason: Reason = Reason.PROPERTY

    def compare(self, task: Task, case: Case, got: Observed, truth: Truth) -> Mismatch | None:
        failed = self.check(bound(task, case), got.returned, truth.native.returned)
        return Mismatch(self.reason, "result", failed) if failed else None


def raised_difference(have: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """|have - exact| in float64."""
    return (have.to(exact.dtype) - exact).abs()


def _compare_floats(
    name: str, have: torch.Tensor, native: torch.Tensor, exact: torch.Tensor, budget: torch.Tensor
) -> Mismatch | None:
    rounded = exact.to(native.dtype)
    special = ~torch.isfinite(native) | ~torch.isfinite(rounded) | ~torch.isfinite(have)
    odd = special & ~(_same_special(have, native) | _same_special(have, rounded))
    if odd.any():
        found = _first_difference(name, have, native, odd)
        assert found
        return Mismatch(
            Reason.NON_FINITE, name, f"{name}: {_directions(have[odd], native[odd])}",
            found.fraction, found.index, found.got, found.expected,
        )  # fmt: skip
    error = torch.where(special, torch.zeros_like(budget), raised_difference(have, exact))
    wrong = error > budget
    if not wrong.any():
        return None
    relative = error / exact.abs().clamp_min(torch.finfo(torch.float64).tiny)
    worst = int((error / budget).nan_to_num(0.0).argmax())
    index = _index(worst, have.shape)
    return Mismatch(
        Reason.MISMATCH,
        name,
        f"{name}: {int(wrong.sum())} of {wrong.numel()} elements differ by more than the error budget",
        float(wrong.double().mean()),
        index,
        f"{have[index].item():.9g}",
        f"{exact[index].item():.9g}",
        float(error.max()),
        float(relative[wrong].max()),
    )


def _directions(have: torch.Tensor, want: torch.Tensor) -> str:
    """What stands for what, of elements (one dimension) that are NaN or infinite on one side or differ in that."""
    there, meant = torch.isfinite(have), torch.isfinite(want)
    kinds = (
        (~there & meant, f"{_special_named(have[~there & meant])} where a finite value is expected"),
        (there & ~meant, f"a finite value where {_special_named(want[there & ~meant])} is expected"),
        (have.isnan() & ~meant, "NaN where infinity is expected"),
        (~there & want.isnan(), "infinity where NaN is expected"),
        (~there & ~meant & ~have.isnan() & ~want.isnan(), "infinity of the wrong sign"),
    )
    # finite on both sides is what overflows only when it is rounded
    told = [words for among, words in kinds if among.any()]
    return ", and ".join(told) or "a finite value where infinity is expected"


def _special_named(values: torch.Tensor) -> str:
    return "NaN" if values.isnan().all() else "NaN or infinity" if values.isnan().any() else "infinity"


def _same_special(have: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    return (have == want) | (have.isnan() & want.isnan())


def _first_difference(name: str, have: torch.Tensor, want: torch.Tensor, differs: torch.Tensor) -> Mismatch | None:
    if not differs.any():
        return None
    index = _index(int(differs.flatten().int().argmax()), differs.shape)
    return Mismatch(
        Reason.MISMATCH,
        name,
        f"{name}: {int(differs.sum())} of {differs.numel()} elements differ",
        float(differs.double().mean()),
        index,
        str(have[index].item()),
        str(want[index].item()),
    )


def _index(flat: int, shape: torch.Size) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        flat, place = divmod(flat, size)
        index.append(place)
    return tuple(reversed(index))


def _structure(observed: Observed) -> str:
    return "(" + ", ".join(f"{name}: {_kind(value)}" for name, value in observed.leaves()) + ")"


def _kind(value: Any) -> str:
    return "a tensor" if isinstance(value, torch.Tensor) else f"{type(value).__name__} {value!r}"[:60]
