"""What is asked, in words: a case as one line, with kinds of tensors instead of their values; how results are judged;
what counts as a Triton solution."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from tasks.judges import Elementwise, Exact
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


def judging(task: Task) -> str:
    """How close the result must come, in a sentence; the prompt says the same. Empty where only the text tells."""
    judge = task.judge
    if isinstance(judge, Elementwise):
        sums = ", plus the rounding of sums in float32 (float64 outputs: in float64)" if judge.slack else ""
        within = f"relative error at most {judge.ulps:g} epsilons of the output's dtype{sums}"
        belong = "integers equal; NaN and infinity where they belong."
        return f"Judged element by element against a float64 result: {within}; {belong}"
    if isinstance(judge, Exact):
        return "Judged exactly: every element equals PyTorch's, and NaN equals NaN."
    if hasattr(judge, "check") or hasattr(judge, "reason"):
        return "Judged by the properties that the words above name, not element by element."
    return ""


def launch_rules(task: Task) -> list[str]:
    """What counts as a Triton solution, a sentence or two each; the prompt says the same."""
    allowed = ", ".join(f"`{name}`" for name in sorted(task.allow))
    also = f"; here it may also call {allowed}" if allowed else ""
    chance = " and random" if task.stochastic else ""
    return [
        "Every call launches at least one kernel that this file defines with @triton.jit, and such a kernel writes the "
        "output. Keep no results between calls.",
        "torch only allocates, takes views, reads shapes and strides, and copies, casts or makes inputs contiguous"
        f"{also}.",
        "Outputs go on the input's device; look at no device name. Import torch, triton and the standard library's "
        f"math{chance} only.",
    ]


def _describe_tensor(value: torch.Tensor) -> str:
    kind = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if value.layout is not torch.strided or value.is_contiguous():
        return kind
    return f"{kind} strides {tuple(value.stride())}"
