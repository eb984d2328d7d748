"""A case as one line of text: what was called, with kinds of tensors instead of their values."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from tasks.task import Case, Task

MOST_ITEMS = 8
MOST_CHARACTERS = 60


def describe_case(case: Case, task: Task) -> str:
    """The call that a case makes: `softmax(input=float32[5, 33], dim=1)`.

    Only the arguments that the case sets appear, under their parameter names (`*args` without). No element of a
    tensor and no seed of a generator is shown.
    """
    signature = inspect.signature(task.reference)
    given = signature.bind(*case.args, **case.kwargs).arguments
    parts: list[str] = []
    for name, value in given.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            parts += [describe_value(item) for item in value]
        elif kind is inspect.Parameter.VAR_KEYWORD:
            parts += [f"{key}={describe_value(item)}" for key, item in value.items()]
        else:
            parts.append(f"{name}={describe_value(value)}")
    return f"{task.entry}({', '.join(parts)})"


def describe_value(value: Any) -> str:
    """An argument or a result in kind: `float32[5, 33]`, `[float32[3], int64[]]`, `torch.float64`, `-1`, `'mean'`.

    Tensors that are not contiguous show their strides in elements: `float32[4, 9] strides (19, 2)`.
    """
    if isinstance(value, torch.Tensor):
        return _describe_tensor(value)
    if isinstance(value, torch.Generator):
        return "torch.Generator"
    if isinstance(value, (list, tuple)):
        items = [describe_value(item) for item in value[:MOST_ITEMS]]
        if len(value) > MOST_ITEMS:
            items.append(f"... {len(value)} in all")
        opening, closing = "[]" if isinstance(value, list) else "()"
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return f"{opening}{', '.join(items)}{comma}{closing}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {describe_value(item)}" for key, item in value.items()) + "}"
    text = repr(value)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


def _describe_tensor(value: torch.Tensor) -> str:
    kind = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if value.layout is not torch.strided or value.is_contiguous():
        return kind
    return f"{kind} strides {tuple(value.stride())}"
