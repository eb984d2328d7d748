"""The least time that a call can take on a device: its bytes and operations over the peaks that were measured there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tasks.task import Case, Cost, Task

PASSES = 3  # TF32 products that make one of float32's precision
LIKE = {torch.complex64: "float32", torch.complex128: "float64", torch.float8_e4m3fn: "int8", torch.float8_e5m2: "int8"}


@dataclass(frozen=True)
class Machine:
    """A device's L2 cache, milliseconds of one flush of it, GB/s, and TFLOP/s of matrix products by operand."""

    l2_bytes: int
    flush_ms: float
    gbs: float
    tflops: Mapping[str, float]

    @classmethod
    def of(cls, facts: Mapping[str, Any], peaks: Mapping[str, Any]) -> Machine:
        """From what a baseline process says of its device, and its measured peaks."""
        return cls(facts["l2_bytes"], facts["flush_ms"], max(peaks["gbs"].values()), peaks["tflops"])


@dataclass(frozen=True)
class Bound:
    """`ms`: the bytes and operations at their peaks. `floor_ms`: what no call can be faster than.

    The floor is lower: as many bytes as the L2 cache holds may still be in it when a call has ended, and where float32
    is computed with one TF32 product. `in_l2`: all bytes fit the L2 cache, so that there is no floor from bandwidth.
    """

    ms: float
    floor_ms: float
    in_l2: bool


def bound_of(task: Task, case: Case, cost: Cost, machine: Machine) -> Bound:
    """The bound of one timed case."""
    kinds = _kinds(task, case)
    strict = max((_strict(kind, machine.tflops) for kind in kinds), default=0.0)
    fastest = max((_fastest(kind, machine.tflops) for kind in kinds), default=0.0)
    outside = max(0, cost.bytes_min - machine.l2_bytes)
    return Bound(
        ms=max(cost.bytes_min / machine.gbs / 1e6, cost.flops / strict / 1e9 if strict else 0.0),
        floor_ms=max(outside / machine.gbs / 1e6, cost.flops / fastest / 1e9 if fastest else 0.0),
        in_l2=cost.bytes_min <= machine.l2_bytes,
    )


def _kinds(task: Task, case: Case) -> set[str]:
    """The arithmetic that a call may use, by its operands. A quantised task computes in int8 whatever it is given."""
    kinds = {"int8"} if task.category == "Quantization" else set()
    for tensor in _tensors((case.args, dict(case.kwargs))):
        if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype is torch.int8:
            kinds.add(LIKE.get(tensor.dtype, str(tensor.dtype).removeprefix("torch.")))
    return kinds or {"float32"}


def _strict(kind: str, tflops: Mapping[str, float]) -> float:
    if kind == "float32":
        return max(tflops.get("float32", 0.0), tflops.get("tf32", 0.0) / PASSES)
    return tflops.get(kind, 0.0)


def _fastest(kind: str, tflops: Mapping[str, float]) -> float:
    return max(tflops.get("float32", 0.0), tflops.get("tf32", 0.0)) if kind == "float32" else tflops.get(kind, 0.0)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
