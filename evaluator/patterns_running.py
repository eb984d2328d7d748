"""A reference run step by step: every call of torch is seen, and one of them can be made to go wrong.

The reference is Python that calls torch. A mode sees each call, writes known functions out in smaller steps, and tells
the places of the source that calls come from apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from evaluator.patterns_calls import Call, Change
from evaluator.patterns_spelled import SPELLED, Form
from evaluator.patterns_steps import STEPS

EACH = 1000  # elements that an operation costs besides its own
MOST_CALLS = 10_000  # of torch, in one run
PLAIN = Form()
TORCH = torch.__file__.rsplit("/", 1)[0]


@dataclass(frozen=True)
class Site:
    """A place in the source of a reference, or of a function that is written out, that calls an operation."""

    code: int
    instruction: int
    name: str


@dataclass(frozen=True)
class Mistake:
    """A change at some sites, all passes of them or (`nth`) one only."""

    sites: frozenset[Site]
    change: Change
    nth: int | None = None


class Bounded(TorchFunctionMode):
    """Lets MOST_CALLS calls pass, then raises RuntimeError: changed values may keep a loop from ending."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise RuntimeError("a loop that doesn't end")
        return func(*args, **(kwargs or {}))


class Steps(TorchFunctionMode):
    """Runs the formula in `form`, with or without a mistake.

    Afterwards `first`, `operands` and `results` hold the first call at each site, in order, with the tensor that it
    worked on and the one that it gave, `passes` how often each was passed, `spelled` the functions that were written
    out with their longest dimension, and `work` what all that took, in elements.
    """

    def __init__(self, form: Form = PLAIN, mistake: Mistake | None = None) -> None:
        super().__init__()
        self.form, self.mistake = form, mistake
        self.first: dict[Site, Call] = {}
        self.operands: dict[Site, Any] = {}
        self.results: dict[Site, Any] = {}
        self.passes: dict[Site, int] = {}
        self.spelled: dict[str, int] = {}
        self.made: dict[int, tuple[Any, Any]] = {}
        self.work = 0.0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.work += EACH + (args[0].numel() if args and isinstance(args[0], torch.Tensor) else 0)
        options = dict(kwargs or {})
        written = getattr(func, "__name__", "")
        name = written.strip("_")
        if name in SPELLED:
            with self:
                value = SPELLED[name](self.form, *args, **options)
            if value is not NotImplemented:
                self.spelled[name] = max(self.spelled.get(name, 0), max(args[0].shape, default=1) if args else 1)
                return value
        if name not in STEPS or not args or not isinstance(args[0], torch.Tensor):
            value = func(*args, **options)
            if self.mistake is None and args and isinstance(value, torch.Tensor) and value is not args[0]:
                self.made[id(value)] = value, args[0]
            return value
        return self._step(Call(name, func, args, options), in_place=written.endswith("_") and written[:1] != "_")

    def origin(self, value: Any) -> Any:
        """What `value` is a view or a cast of, or made of by another call that is no step; itself where there is
        none."""
        for _ in self.made:  # at most so many steps: calls with `out` may lead in a circle
            value = self.made.get(id(value), (value, value))[1]
        return value

    def _step(self, call: Call, *, in_place: bool) -> Any:
        site = _site(sys._getframe(2), call.name)
        self.first.setdefault(site, call if not in_place else _outside(call))
        self.operands.setdefault(site, call.args[0])
        passed = self.passes[site] = self.passes.get(site, 0) + 1
        mistake = self.mistake
        if mistake is None or site not in mistake.sites or mistake.nth not in (None, passed):
            value = call.right()
            self.results.setdefault(site, value)
            return value
        if not in_place:
            return mistake.change.result(call)
        return call.args[0].copy_(mistake.change.result(_outside(call)))


def _site(frame: FrameType | None, name: str) -> Site:
    """The nearest caller outside of torch."""
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(TORCH):
        frame = frame.f_back
    assert frame is not None
    return Site(id(frame.f_code), frame.f_lasti, name)


def _outside(call: Call) -> Call:
    """An operation in place as one that leaves its operand alone."""
    function: Callable[..., Any] = getattr(torch.Tensor, call.name)
    return replace(call, function=function, args=(call.args[0].clone(), *call.args[1:]))
