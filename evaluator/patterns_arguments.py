"""Patterns in the arguments: one ignored, with the wrong sign, a dimension mistaken, or read at wrong addresses."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from typing import Any

import torch

from evaluator.patterns_leaf import Pattern, PatternName
from evaluator.patterns_recomputed import Bench, floating

AXES = ("dim", "axis")
MOST_DIMENSIONS = 5


def options(bench: Bench) -> Iterator[Pattern]:
    """An option that is ignored: the values are those of a call with its default."""
    yield from _ignored(bench, [name for name, value in bench.inputs().items() if isinstance(value, (bool, str))])


def arguments(bench: Bench) -> Iterator[Pattern]:
    """All that the reference with one argument changed reproduces, the likeliest mistake first."""
    yield from _ignored(bench, [name for name, value in bench.inputs().items() if not isinstance(value, (bool, str))])
    yield from _other_axis(bench)
    yield from _misread(bench)
    yield from _opposite_sign(bench)
    yield from _another(bench)


def _ignored(bench: Bench, names: Collection[str]) -> Iterator[Pattern]:
    for name, value in bench.inputs().items():
        if name in AXES or name not in names:
            continue
        if any(bench.explains({name: neutral}) for neutral in _neutrals(bench, name, value)):
            yield Pattern(PatternName.IGNORED_ARGUMENT, f"the values are those of a call that ignores `{name}`")


def _neutrals(bench: Bench, name: str, value: Any) -> Iterator[Any]:
    """What an argument counts as when it is ignored; 0 is no candidate for ints, which may be sizes."""
    default = inspect.signature(bench.task.reference).parameters[name].default
    if default is not inspect.Parameter.empty and not isinstance(value, torch.Tensor) and default != value:
        yield default
    elif isinstance(value, torch.Tensor):
        if default is None:
            yield None
        yield from (torch.zeros_like(value), torch.ones_like(value))
    if isinstance(value, bool):
        if default is inspect.Parameter.empty:
            yield not value
    elif isinstance(value, int):
        yield from (neutral for neutral in (1,) if neutral != value)
    elif isinstance(value, float):
        yield from (neutral for neutral in (0.0, 1.0) if neutral != value)


def _other_axis(bench: Bench) -> Iterator[Pattern]:
    """Another dimension than the one that was asked for."""
    inputs = bench.inputs()
    most = max((value.dim() for value in bench.tensors().values()), default=0)
    for name in AXES:
        if name not in inputs or most > MOST_DIMENSIONS:
            continue
        others: list[Any] = [*range(most), None]
        if any(bench.explains({name: other}) for other in others if other != inputs[name]):
            words = f"the values are those of a call with another `{name}`: the reduction runs along the wrong axis"
            yield Pattern(PatternName.WRONG_AXIS, words)


def _misread(bench: Bench) -> Iterator[Pattern]:
    """An input read with other strides than its own, or from one element further on."""
    for name, value in bench.tensors().items():
        if value.dim() == 0 or value.numel() < 2:
            continue
        if any(bench.explains({name: read(value, places)}) for places in wrong_places(value)):
            words = (
                f"the values are those of a call that reads `{name}` with wrong strides: check how its address is made"
            )
            yield Pattern(PatternName.STRIDES, words)
        own = places_of(value, value.stride())
        shifts = [by * value.stride(dim) for dim in range(value.dim()) for by in (1, -1) if value.shape[dim] > 1]
        if any(bench.explains({name: read(value, own + shift)}) for shift in shifts):
            yield Pattern(PatternName.SHIFTED, f"the values are those of a call that reads `{name}` one index off")


def wrong_places(value: torch.Tensor) -> Iterator[torch.Tensor]:
    """Where in memory the elements of `value` would lie by wrong strides (int64, of its shape); also where a kernel
    takes all dimensions but the last as one."""
    yield from (places_of(value, strides) for strides in _wrong_strides(value))
    if value.dim() > 2:
        try:
            rows = value.view(-1, value.shape[-1])
        except RuntimeError:  # no view of these strides
            return
        yield from (places_of(rows, strides).view(value.shape) for strides in _wrong_strides(rows))


def places_of(value: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """Where in memory the elements of `value` lie by these strides: int64, of its shape."""
    places = torch.full(value.shape, int(value.storage_offset()))
    for dim, stride in enumerate(strides):
        steps = torch.arange(value.shape[dim]) * stride
        places += steps.reshape([-1 if i == dim else 1 for i in range(value.dim())])
    return places


def memory_of(value: torch.Tensor) -> torch.Tensor:
    """A copy of all that the memory of `value` holds, flat."""
    return torch.empty(0, dtype=value.dtype).set_(value.untyped_storage()).clone()


def read(value: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """What lies at `places` of the memory of `value`; NaN or -1 outside of it."""
    memory = memory_of(value)
    inside = (places >= 0) & (places < memory.numel())
    found: torch.Tensor = memory[places.clamp(0, memory.numel() - 1)]
    wild = float("nan") if value.is_floating_point() or value.is_complex() else -1
    return found if value.dtype is torch.bool else found.masked_fill(~inside, wild)


def _wrong_strides(value: torch.Tensor) -> Iterator[tuple[int, ...]]:
    """As if contiguous, two strides swapped, one stride taken as 1 or 0."""
    own = value.stride()
    seen = {own}
    dims = range(value.dim())
    made = [torch.empty(value.shape, device="meta").stride()]
    for i in dims:
        for j in range(i):
            swapped = list(own)
            swapped[i], swapped[j] = own[j], own[i]
            made.append(tuple(swapped))
    made += [tuple(step if i == dim else s for i, s in enumerate(own)) for dim in dims for step in (1, 0)]
    for strides in made:
        real = tuple(s if n > 1 else 0 for s, n in zip(strides, value.shape, strict=True))
        if strides not in seen and real != tuple(s if n > 1 else 0 for s, n in zip(own, value.shape, strict=True)):
            seen.add(strides)
            yield strides


def _opposite_sign(bench: Bench) -> Iterator[Pattern]:
    inputs = bench.inputs()
    signed = [name for name, _ in floating(bench.tensors())]
    signed += [name for name, value in inputs.items() if isinstance(value, float) and value]
    for name in signed:
        if bench.explains({name: -inputs[name]}):
            yield Pattern(PatternName.SIGN, f"the values are those of a call with `-{name}` in place of `{name}`")


def _another(bench: Bench) -> Iterator[Pattern]:
    """One tensor read in place of another of its shape."""
    tensors = bench.tensors()
    for name, value in tensors.items():
        for other, instead in tensors.items():
            alike = other != name and instead.shape == value.shape and instead.dtype == value.dtype
            if alike and bench.explains({name: instead}):
                words = f"the values are those of a call that reads `{other}` where it should read `{name}`"
                yield Pattern(PatternName.IGNORED_ARGUMENT, words)
