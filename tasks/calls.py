"""Calling a task's reference: what a call returns, what it changes, and both in float64."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tasks.task import Case, Task

# a task means what torch warns of: no degrees of freedom left, a mean over all elements of a divergence
for meant in (r"(std|var)\(\): degrees of freedom", r"reduction: 'mean' divides"):
    warnings.filterwarnings("ignore", meant, UserWarning, module=r"tasks\.[A-Z]")

RAISED = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


@dataclass(frozen=True)
class Observed:
    """What one call left behind: its return value, and the arguments named in `Task.mutates` afterwards."""

    returned: Any
    mutated: Mapping[str, torch.Tensor]

    def leaves(self) -> list[tuple[str, Any]]:
        """Every judged value with its name: `result`, `result[1]`, `running_mean after the call`."""
        named = list(_flatten("result", self.returned))
        return named + [(f"{name} after the call", value) for name, value in self.mutated.items()]


def copied(value: Any) -> Any:
    """A copy of an argument that shares nothing with it and has the same strides (generators: same seed)."""
    if isinstance(value, torch.Tensor):
        room = torch.empty(0, dtype=torch.uint8).set_(value.untyped_storage()).clone()
        twin = torch.empty(0, dtype=value.dtype)
        return twin.set_(room.untyped_storage(), value.storage_offset(), value.size(), value.stride())
    if isinstance(value, torch.Generator):
        return torch.Generator().manual_seed(value.initial_seed())
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    return copy.copy(value)


def raised(value: Any) -> Any:
    """An argument raised to float64: tensors, floating dtypes, and lists and tuples of them."""
    if isinstance(value, torch.Tensor):
        return value.to(RAISED.get(value.dtype, value.dtype), copy=True)
    if isinstance(value, torch.dtype):
        return RAISED.get(value, value)
    if isinstance(value, (list, tuple)):
        return type(value)(raised(item) for item in value)
    if isinstance(value, Mapping):
        return {key: raised(item) for key, item in value.items()}
    return copied(value)


def bound(task: Task, case: Case) -> dict[str, Any]:
    """The case's arguments by parameter name, defaults included."""
    arguments = inspect.signature(task.reference).bind(*case.args, **case.kwargs)
    arguments.apply_defaults()
    return dict(arguments.arguments)


def call(task: Task, function: Callable[..., Any], case: Case) -> Observed:
    """Calls `function` on the case's own arguments, which it may change."""
    returned = function(*case.args, **case.kwargs)
    arguments = bound(task, case)
    mutated = {name: arguments[name] for name in task.mutates if arguments[name] is not None}
    return Observed(returned if task.returns else None, mutated)


def call_reference(task: Task, case: Case) -> Observed:
    """The reference on a copy of the case: fixes structure, shapes and dtypes."""
    return call(task, task.reference, Case(case.label, copied(case.args), copied(case.kwargs)))


def call_exact(task: Task, case: Case) -> Observed:
    """The same mathematics in float64 on a copy of the case."""
    twin = Case(case.label, raised(case.args), raised(case.kwargs))
    return call(task, task.exact or task.reference, twin)


def _flatten(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, (list, tuple)):
        return [leaf for i, item in enumerate(value) for leaf in _flatten(f"{name}[{i}]", item)]
    return [(name, value)]
