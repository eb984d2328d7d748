"""Patterns in what was stored where: elements that nobody wrote, and results stored with wrong strides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from evaluator.patterns_arguments import memory_of, places_of, read, wrong_places
from evaluator.patterns_leaf import NEARLY_ALL, Leaf, Pattern, PatternName, Seen, first_wrong
from evaluator.patterns_recomputed import Bench
from tasks.calls import bound
from tasks.task import Task

STARTS_LATE = "the first element is never written, or never computed, and the last one is: indices must start at 0"
STORED = "results are stored with wrong strides: check how the output's address is made"
FEWEST = 8
FAR = 16


def starts_late(task: Task, looks: Sequence[Seen]) -> Iterator[Pattern]:
    """In every case where part of a result was never written its first element wasn't, and its last one was."""
    parts = []
    for seen in looks:
        leaf = first_wrong(task, seen)
        # of what is right because it must be NaN no one knows whether it was written
        unwritten = leaf.filling if leaf is not None and leaf.is_floating else None if leaf is None else leaf.poisoned
        if unwritten is not None and unwritten.any() and not unwritten.all():
            parts.append(unwritten.flatten())
    if parts and all(bool(part[0]) and not bool(part[-1]) and 2 * int(part.sum()) <= part.numel() for part in parts):
        yield Pattern(PatternName.SHIFTED, STARTS_LATE)


def misstored(bench: Bench) -> Iterator[Pattern]:
    """An argument that takes the result, read and written with other strides than its own."""
    leaf, inputs = bench.leaf, bench.inputs()
    name = leaf.argument or bench.task.writes_to
    own = bound(bench.task, bench.case).get(name) if name else None
    if not isinstance(own, torch.Tensor) or own.dim() == 0 or own.numel() < FEWEST or own.shape != leaf.got.shape:
        return
    memory = memory_of(own)
    for places in wrong_places(own):
        inside = (places >= 0) & (places < memory.numel())
        found = bench.again({name: read(own, places)}) if name in inputs else None
        values = leaf.exact if found is None else found
        if values.shape != own.shape:
            continue
        left = memory.to(leaf.exact.dtype)
        left[places[inside]] = values[inside].to(left.dtype)
        if bench.matches(left[places_of(own, own.stride())]):
            yield Pattern(PatternName.STRIDES, STORED)
            return


def held_by(task: Task, seen: Seen) -> Iterator[Pattern]:
    """Of results that have no right values of their own: those elements still hold what they held that stores with
    wrong strides would leave."""
    name = task.writes_to
    own = bound(task, seen.case).get(name) if name else None
    got = next((value for _, value in seen.got.leaves() if isinstance(value, torch.Tensor)), None)
    if not isinstance(own, torch.Tensor) or got is None or got.shape != own.shape or own.dim() == 0:
        return
    held = (got == own) | (got.isnan() & own.isnan())
    if not held.any() or held.all():
        return
    size = memory_of(own).numel()
    for places in wrong_places(own):
        written = torch.zeros(size, dtype=torch.bool)
        written[places[(places >= 0) & (places < size)]] = True
        left = ~written[places_of(own, own.stride())]
        if float((held == left).double().mean()) >= NEARLY_ALL:
            yield Pattern(PatternName.STRIDES, STORED)
            return
    yield Pattern(PatternName.NEVER_WRITTEN, "some elements still hold what they held before the call")


def wrong_size(seen: Seen) -> Iterator[Pattern]:
    """Of results that are judged by their distribution: values of another order of magnitude, or of the other sign."""
    pairs = zip(seen.got.leaves(), seen.truth.native.leaves(), strict=False)
    for (_, got), (_, right) in pairs:
        both = isinstance(got, torch.Tensor) and isinstance(right, torch.Tensor)
        if not both or not got.is_floating_point() or got.numel() < FEWEST or not torch.isfinite(got).all():
            continue
        size, usual = (float(value.double().abs().median()) for value in (got, right))
        if usual > 0 and size > 0 and not 1 / FAR < size / usual < FAR:
            words = (
                f"values are far too {'large' if size > usual else 'small'} throughout: a factor is missing or wrong"
            )
            yield Pattern(PatternName.CONSTANT_FACTOR, words)
        elif bool((right >= 0).all()) and bool((got <= 0).all()):
            yield Pattern(PatternName.SIGN, "every value has the opposite sign")


def zeros(leaf: Leaf, elements: int) -> Iterator[Pattern]:
    """Weaker than other filling: a computation may give zeros too, of `elements` in all that it reads."""
    wrong = leaf.wrong
    if int(wrong.sum()) <= 3 or float((leaf.got == 0)[wrong].double().mean()) < NEARLY_ALL:
        return
    if bool((leaf.got == 0).all()) and elements > leaf.got.numel():
        words = "every element is 0: a loop over tiles adds nothing up (it may never run), or the output isn't written"
        yield Pattern(PatternName.TILE_LEFT_OUT, words)
    else:
        words = "wrong elements are 0: never written, a loop that never runs adds nothing up, or divided by infinity"
        yield Pattern(PatternName.NEVER_WRITTEN, words)
