"""Patterns of moving windows: a padding, a stride or a dilation that is ignored, or a padding with the wrong sign."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from evaluator.patterns_leaf import Pattern, PatternName
from evaluator.patterns_recomputed import Bench, cut_to

STEPS = ("stride", "dilation")
MOST_DIMENSIONS = 3


def windows(bench: Bench) -> Iterator[Pattern]:
    """What the reference gives where windows start elsewhere, or step by 1; in all dimensions or in one."""
    inputs = bench.inputs()
    if any(isinstance(value, int) for name, value in inputs.items() if "padding" in name):
        yield from _padding(bench, inputs)
    for name in STEPS:
        value = inputs.get(name)
        # a stride of None is as long as the window
        length = inputs.get("kernel_size") if name == "stride" and value is None else value
        if not isinstance(length, int) or length == 1:
            continue
        for one in (1, *_tuples(length, 1)):
            values = bench.again({name: one})
            if values is not None and bench.matches(cut_to(values, bench.leaf.exact.shape)):
                words = f"the values are those of a call that ignores `{name}`{_where(one)}"
                yield Pattern(PatternName.IGNORED_ARGUMENT, words)
                break


def _padding(bench: Bench, inputs: dict[str, Any]) -> Iterator[Pattern]:
    """Windows that start at i * stride, or at i * stride + padding, in place of i * stride - padding."""
    name, by = next((name, value) for name, value in inputs.items() if "padding" in name)
    tensor, x = next(iter(bench.tensors().items()))
    if by < 1 or x.dim() < 2 or x.is_complex():
        return
    for off, label, words in (
        (by, PatternName.SIGN, f"`{name}` is added where it must be subtracted"),
        (0, PatternName.IGNORED_ARGUMENT, f"the values are those of a call that ignores `{name}`"),
    ):
        for zero in (0, *_tuples(by, 0)):
            moved = x
            rank = len(zero) if isinstance(zero, tuple) else min(x.dim() - 1, MOST_DIMENSIONS)
            for ranks in [rank] if isinstance(zero, tuple) else range(1, rank + 1):
                moved = x
                for i in range(ranks):
                    if not isinstance(zero, tuple) or zero[i] == 0:
                        moved = _ahead(moved, moved.dim() - ranks + i, off, by)
                if ranks < x.dim() and bench.explains({tensor: moved, name: zero}):
                    yield Pattern(label, words + _where(zero))
                    return


def _ahead(x: torch.Tensor, dim: int, off: int, by: int) -> torch.Tensor:
    """`x` from index `off` on, filled with 0 to its length and 2 * `by`."""
    shape = list(x.shape)
    shape[dim] += 2 * by
    longer = x.new_zeros(shape)
    kept = max(0, x.shape[dim] - off)
    longer.narrow(dim, 0, kept).copy_(x.narrow(dim, x.shape[dim] - kept, kept))
    return longer


def _tuples(value: int, other: int) -> Iterator[tuple[int, ...]]:
    """`value` for two or three dimensions, with `other` in one of them."""
    for rank in (2, MOST_DIMENSIONS):
        for place in range(rank):
            yield tuple(other if i == place else value for i in range(rank))


def _where(value: Any) -> str:
    return " in one of the dimensions" if isinstance(value, tuple) else ""
