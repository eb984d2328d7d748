"""Negative controls: wrong values made from a case's right ones. A task is worth having only if it refuses them all.

They are judged as values, by `tasks.judges` alone: to be refused for lack of a kernel would prove nothing.
A control doesn't fit a case where it has nothing to work on, or where its values are the right ones (zeros, where the
result is zero). A control must be refused in at least one public or hidden case that it fits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from tasks.calls import Observed, call, call_reference, copied
from tasks.draw import Draw
from tasks.judges import Truth, compare, truth_of
from tasks.outcomes import Reason
from tasks.precision import HALF, all_bfloat16, half_rounded
from tasks.task import Case, Task

TILE = 16
WIDE = torch.complex128


@dataclass(frozen=True)
class Setting:
    """One case with what the reference makes of it, and the same family's case of another seed."""

    task: Task
    case: Case
    truth: Truth
    other: Case

    @property
    def native(self) -> Observed:
        return self.truth.native

    def inputs(self) -> dict[str, Any]:
        """The arguments by parameter name, without the one that only receives the result."""
        given = inspect.signature(self.task.reference).bind(*self.case.args, **self.case.kwargs)
        given.apply_defaults()
        return {name: value for name, value in given.arguments.items() if name != self.task.writes_to}


Wrong = Callable[[Setting], Observed | None]
"""The control's values for a case; None where it doesn't fit."""


@dataclass(frozen=True)
class Control:
    """A way of being wrong. `senseless` says why no case of a task can tell (None: it can)."""

    name: str
    wrong: Wrong
    senseless: Callable[[Task], str | None] = lambda task: None


@dataclass(frozen=True)
class Finding:
    """What became of one control: `refused` is True, False (the task is too lax) or None (it fits no case)."""

    control: str
    refused: bool | None
    detail: str


def admit(task: Task, seed: int) -> list[Finding]:
    """One finding for each control that this task may meet, over its public and hidden cases of `seed`.

    The task may enter the suite if no finding has `refused` False.
    """
    settings = list(_settings(task, seed))
    return [_finding(control, settings) for control in (*CONTROLS, *ignored_parameters(settings))]


def zeros(setting: Setting) -> Observed | None:
    return _mapped(setting.native, lambda name, value: torch.zeros_like(value))


def constant_mean(setting: Setting) -> Observed | None:
    """Every element the mean of the finite ones."""

    def mean(name: str, value: torch.Tensor) -> torch.Tensor:
        wide = value if value.is_complex() else value.double()
        finite = wide[torch.isfinite(wide)]
        return torch.full_like(value, (finite.mean() if finite.numel() else wide.new_zeros(())).item())

    return _mapped(setting.native, mean)


def identity(setting: Setting) -> Observed | None:
    """What the call changes in place left as it was; other values the first floating input of their shape and dtype."""
    inputs = _tensors(setting.inputs())

    def unchanged(name: str, value: torch.Tensor) -> torch.Tensor:
        own = name.removesuffix(" after the call")
        candidates = [t for key, t in inputs if key == own] or [t for _, t in inputs if t.is_floating_point()]
        return next((t for t in candidates if t.shape == value.shape and t.dtype == value.dtype), value)

    return _mapped(setting.native, unchanged)


def last_tile_dropped(setting: Setting) -> Observed | None:
    """The last elements never written: zero, or as before where the call works in place. Results of few elements,
    which have no last tile, are computed from a floating input that lost its own."""
    before = dict(_tensors(setting.inputs()))

    def cut(name: str, value: torch.Tensor) -> torch.Tensor:
        if value.numel() <= TILE:
            return value
        return _tail_from(value, before.get(name.removesuffix(" after the call"), torch.zeros_like(value)))

    if any(isinstance(value, torch.Tensor) and value.numel() > TILE for _, value in setting.native.leaves()):
        return _mapped(setting.native, cut)
    name = next((n for n, t in before.items() if t.is_floating_point() and t.numel() > TILE), None)
    if name is None:
        return None
    return _reference_with(setting, lambda key, t: _tail_from(t, torch.zeros_like(t)) if key == name else t)


def half_precision(setting: Setting) -> Observed | None:
    """float16 or bfloat16 results: the reference with every intermediate result rounded to bfloat16. Others: the
    reference on inputs rounded to float16, or its result rounded to float16 where no input is floating."""
    dtypes = {value.dtype for _, value in setting.native.leaves() if isinstance(value, torch.Tensor)}
    if dtypes & set(HALF):
        return all_bfloat16(setting.task, setting.case, setting.native)
    if any(t.is_floating_point() or t.is_complex() for _, t in _tensors(setting.inputs())):
        return _reference_with(setting, lambda name, t: half_rounded(t))
    return _mapped(setting.native, lambda name, value: half_rounded(value))


def another_seed(setting: Setting) -> Observed | None:
    """The answer to the same family's case of another seed, where its shapes agree."""
    other = call_reference(setting.task, setting.other)
    shapes = [[getattr(value, "shape", None) for _, value in each.leaves()] for each in (other, setting.native)]
    return other if shapes[0] == shapes[1] else None


def empty_tuple(setting: Setting) -> Observed | None:
    return Observed((), setting.native.mutated) if setting.task.returns else None


def ignored_parameters(settings: list[Setting]) -> Iterator[Control]:
    """One control for each parameter that some case gives another value than its default: the reference without it.

    Left out is what can't show in values: the parameter that receives the result, and a random generator where the
    distribution is judged, since any stream of it is right.
    """
    for parameter in inspect.signature(settings[0].task.reference).parameters.values():
        given = [s.inputs()[parameter.name] for s in settings if parameter.name in s.inputs()]
        if parameter.default is inspect.Parameter.empty or all(_same(value, parameter.default) for value in given):
            continue
        if _by_distribution(settings[0].task) and any(isinstance(value, torch.Generator) for value in given):
            continue
        yield Control(f"{parameter.name} ignored", _without(parameter))


def _by_distribution(task: Task) -> str | None:
    judged = getattr(task.judge, "reason", None) is Reason.DISTRIBUTION
    return "judged by its distribution: the answer to another seed is as right" if judged else None


CONTROLS = (
    Control("zeros", zeros),
    Control("constant mean", constant_mean),
    Control("identity", identity),
    Control("last tile dropped", last_tile_dropped),
    Control("half-precision reference", half_precision),
    Control("another seed's answer", another_seed, _by_distribution),
    Control("empty tuple", empty_tuple),
)


def _settings(task: Task, seed: int) -> Iterator[Setting]:
    for cases in (task.public, task.hidden):
        for case, other in zip(cases(Draw(seed)), cases(Draw(seed + 1)), strict=True):
            yield Setting(task, case, truth_of(task, case), other)


def _finding(control: Control, settings: list[Setting]) -> Finding:
    if why := control.senseless(settings[0].task):
        return Finding(control.name, None, why)
    accepted: list[str] = []
    for setting in settings:
        values = control.wrong(setting)
        if values is None or (not control.name.endswith(" ignored") and _equal(values, setting.native)):
            continue
        mismatch = compare(setting.task, setting.case, values, setting.truth)
        if mismatch:
            return Finding(control.name, True, f"{setting.case.label}: {mismatch.message}")
        accepted.append(setting.case.label)
    if accepted:
        return Finding(control.name, False, f"accepted in {', '.join(accepted)}")
    return Finding(control.name, None, "fits no case, or gives the reference's own values in each")


def _without(parameter: inspect.Parameter) -> Wrong:
    def wrong(setting: Setting) -> Observed | None:
        signature = inspect.signature(setting.task.reference)
        given = signature.bind(*copied(setting.case.args), **copied(setting.case.kwargs))
        if _same(given.arguments.get(parameter.name, parameter.default), parameter.default):
            return None
        given.arguments[parameter.name] = parameter.default
        return _called(setting.task, Case(setting.case.label, given.args, given.kwargs))

    return wrong


def _called(task: Task, case: Case) -> Observed | None:
    """The reference's answer; None where it refuses the call, as it may when a parameter is missing."""
    try:
        return call(task, task.reference, case)
    except (TypeError, ValueError, RuntimeError, IndexError, AssertionError):
        return None


def _reference_with(setting: Setting, change: Callable[[str, torch.Tensor], torch.Tensor]) -> Observed | None:
    """The reference on a copy of the case whose tensor inputs went through `change(parameter name, tensor)`."""
    signature = inspect.signature(setting.task.reference)
    given = signature.bind(*copied(setting.case.args), **copied(setting.case.kwargs))
    for name, value in given.arguments.items():
        if name != setting.task.writes_to:
            given.arguments[name] = _changed(name, value, change)
    return _called(setting.task, Case(setting.case.label, given.args, given.kwargs))


def _changed(name: str, value: Any, change: Callable[[str, torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(name, value)
    if isinstance(value, (list, tuple)):
        return type(value)(_changed(name, item, change) for item in value)
    return value


def _mapped(observed: Observed, change: Callable[[str, torch.Tensor], torch.Tensor]) -> Observed:
    """The same structure with every judged tensor gone through `change(its name, its value)`."""
    mutated = {name: change(f"{name} after the call", value) for name, value in observed.mutated.items()}
    return Observed(_changed("result", observed.returned, change), mutated)


def _tensors(arguments: dict[str, Any]) -> list[tuple[str, torch.Tensor]]:
    """The tensors among the arguments, those in lists too, by parameter name."""
    flat = chain.from_iterable(
        ((name, item) for item in (value if isinstance(value, (list, tuple)) else (value,)))
        for name, value in arguments.items()
    )
    return [(name, item) for name, item in flat if isinstance(item, torch.Tensor)]


def _tail_from(value: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    flat = value.flatten().clone()
    tail = flat.numel() % TILE or TILE
    flat[-tail:] = before.flatten()[-tail:]
    return flat.view(value.shape)


def _same(value: Any, default: Any) -> bool:
    plain = not isinstance(value, torch.Tensor) and not isinstance(default, torch.Tensor)
    return value is default or (plain and type(value) is type(default) and bool(value == default))


def _equal(ours: Observed, theirs: Observed) -> bool:
    left, right = ours.leaves(), theirs.leaves()
    return len(left) == len(right) and all(_alike(a, b) for (_, a), (_, b) in zip(left, right, strict=True))


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a.to(WIDE), b.to(WIDE), 0, 0, True)
    return type(a) is type(b) and bool(a == b)
