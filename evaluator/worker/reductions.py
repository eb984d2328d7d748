"""Reductions and scans with a function of the kernel's own, by halves; and those of Triton's own where NaN is among the
values, since `tl.argmax` and its kin compare, and NaN is neither larger nor smaller.

Triton's interpreter calls the function for one element after another, in Python. A GPU combines in an order of its own,
so the function may as well be called on halves of a block at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

STANDARD, APPLY = tl.standard, interpreter.ReduceOps.apply_impl


def _reduced(self: Any, input: Any) -> list[Any]:
    """Neighbours are combined pairwise until one is left: any associative function gives what it gives one by one."""
    shape = input[0].handle.data.shape
    whole = self.axis is None
    input, axis = self.unravel(input, self.axis)
    types_ = [arg.dtype for arg in input]
    parts = [np.moveaxis(arg.handle.data, axis, 0) for arg in input]
    while len(parts[0]) > 1:
        parts = _combined(self, [p[0::2] for p in parts], [p[1::2] for p in parts], types_)
    results = [part[0] for part in parts]
    if self.keep_dims:
        results = [data.reshape([1] * len(shape)) if whole else np.expand_dims(data, axis) for data in results]
    return [self.to_tensor(data, dtype) for data, dtype in zip(results, types_, strict=True)]


def _scanned(self: Any, input: Any) -> list[Any]:
    """Doubling distances (Hillis and Steele, Communications of the ACM 29, 1986)."""
    types_ = [arg.dtype for arg in input]
    parts = [np.moveaxis(arg.handle.data, self.axis, 0).copy() for arg in input]
    distance = 1
    while distance < len(parts[0]):
        # the first ones are combined with anything and not used: a block's length stays a power of two
        merged = _combined(self, [np.roll(p, distance, axis=0) for p in parts], parts, types_)
        parts = [np.concatenate([p[:distance], m[distance:]]) for p, m in zip(parts, merged, strict=True)]
        distance *= 2
    moved = [np.moveaxis(part, 0, self.axis) for part in parts]
    return [self.to_tensor(data, dtype) for data, dtype in zip(moved, types_, strict=True)]


def _combined(self: Any, left: list[np.ndarray], right: list[np.ndarray], types_: list[Any]) -> list[np.ndarray]:
    tensors = [self.to_tensor(d, t) for side in (left, right) for d, t in zip(side, types_, strict=True)]
    found = self.combine_fn(*tensors)
    found = found if isinstance(found, tuple) else (found,)
    data = [one.handle.data if isinstance(one, tl.tensor) else np.asarray(one) for one in found]
    return [np.broadcast_to(d, p.shape).astype(p.dtype) for d, p in zip(data, left, strict=True)]


def _applied(self: Any, input: Any) -> Any:
    """As the interpreter does it, but with the function itself where NumPy would take a NaN for the largest."""
    with_index = self.combine_fn in (STANDARD._argmin_combine_tie_break_left, STANDARD._argmax_combine_tie_break_left)
    values = input[0].handle.data
    if with_index and np.issubdtype(values.dtype, np.floating) and np.isnan(values).any():
        return tuple(self.generic_reduce(input))
    return APPLY(self, input)


def install() -> None:
    """Replaces the interpreter's element-by-element reductions and scans in this process."""
    interpreter.ReduceOps.apply_impl = _applied
    interpreter.ReduceOps.generic_reduce = _reduced
    interpreter.ScanOps.generic_scan = _scanned
