"""The reference computed again with one thing changed, which is what a kernel with a known mistake would have left."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.patterns_leaf import Leaf
from evaluator.patterns_running import Bounded, Steps
from tasks.calls import Observed, call_exact, call_reference
from tasks.task import Case, Task

FEW = 4
REFUSALS = (TypeError, ValueError, RuntimeError, LookupError, AssertionError, ArithmeticError, AttributeError)
"""What a reference raises for arguments that don't fit; then there is nothing to compare with."""


@dataclass(frozen=True)
class Bench:
    """A failing case whose reference can be called again with other arguments or under another mode."""

    task: Task
    case: Case
    leaf: Leaf

    def inputs(self) -> dict[str, Any]:
        """The arguments by parameter name, defaults included, without the one that only receives the result."""
        given = self._bound()
        given.apply_defaults()
        return {name: value for name, value in given.arguments.items() if name != self.task.writes_to}

    def tensors(self) -> dict[str, torch.Tensor]:
        """The tensor arguments by parameter name."""
        return {name: value for name, value in self.inputs().items() if isinstance(value, torch.Tensor)}

    def again(
        self,
        changed: Mapping[str, Any],
        under: Callable[[], AbstractContextManager[Any]] = nullcontext,
        *,
        exact: bool = True,
    ) -> torch.Tensor | None:
        """This leaf's values with `changed` arguments, in float64 or (`exact` false) at the task's own precision; None
        where the reference refuses them. The shape may be another one."""
        given = self._bound()
        given.arguments.update(changed)
        case = Case(self.case.label, given.args, given.kwargs)
        value = self._leaf_of(case, under, exact=exact)
        if value is None and under is nullcontext:
            # a function that is written out has an answer where torch's own refuses, as a kernel has
            value = self._leaf_of(case, Steps, exact=exact)
            return value if value is not None and self.tells(value) else None
        return value

    def tells(self, values: torch.Tensor) -> bool:
        """Whether enough of `values` is finite where elements are wrong: NaN in the same places may have many
        causes."""
        wrong = self.leaf.wrong
        if values.shape != wrong.shape:
            return False
        finite = values.isfinite() & torch.isfinite(self.leaf.wide) & wrong
        return int(finite.sum()) >= min(FEW, -(-int(wrong.sum()) // 2))

    def explains(self, changed: Mapping[str, Any], **how: Any) -> bool:
        """Whether the reference with `changed` arguments gives what was got."""
        values = self.again(changed, **how)
        return values is not None and self.matches(values)

    def matches(self, values: torch.Tensor, *, likely: bool = False) -> bool:
        """Whether `values` are what was got, wherever anything was written."""
        return self.leaf.explained_by(values, ~self.leaf.poisoned, likely=likely)

    def _leaf_of(
        self, case: Case, under: Callable[[], AbstractContextManager[Any]], *, exact: bool
    ) -> torch.Tensor | None:
        try:
            with Bounded(), under():
                found: Observed = (call_exact if exact else call_reference)(self.task, case)
        except REFUSALS:
            return None
        value = dict(found.leaves()).get(self.leaf.name)
        return value if isinstance(value, torch.Tensor) else None

    def _bound(self) -> inspect.BoundArguments:
        return inspect.signature(self.task.reference).bind(*self.case.args, **self.case.kwargs)


def floating(tensors: Mapping[str, torch.Tensor]) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in tensors.items():
        if value.is_floating_point() or value.is_complex():
            yield name, value


def cut_to(values: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """The first elements along each dimension that is longer than in `shape`."""
    if values.dim() == len(shape):
        for dim, length in enumerate(shape):
            values = values.narrow(dim, 0, min(length, values.shape[dim]))
    return values
