"""Patterns in where the wrong elements are: the last tile, whole slices, every k-th element."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from evaluator.patterns_leaf import Leaf, Pattern, PatternName
from evaluator.patterns_relations import along

DENSE = 0.9  # of a place's elements must be wrong; the others may be right by chance
FEWEST = 4
LARGEST_STEP = 128
POWERS = (4, 8, 16, 32, 64, 128)


def places(leaf: Leaf) -> Iterator[Pattern]:
    """At most one: where the wrong elements lie, told only when nothing outside of it is wrong."""
    wrong = leaf.wrong
    if wrong.all() or wrong.dim() == 0:
        return
    unwritten = bool(leaf.poisoned.sum() == wrong.sum())
    found = _end(wrong) or _kth(wrong, unwritten) or _slices(wrong)
    if found:
        yield found


def _views(wrong: torch.Tensor) -> Iterator[tuple[torch.Tensor, str]]:
    """Each dimension, then memory order, as lines (length, the rest) with its name."""
    for dim in range(wrong.dim()):
        yield wrong.movedim(dim, 0).reshape(wrong.shape[dim], -1), f"along {along(wrong, dim)}"
    if wrong.dim() > 1:
        yield wrong.reshape(-1, 1), "in memory order"


def _end(wrong: torch.Tensor) -> Pattern | None:
    """Only a tail or a head, along one dimension or in memory order."""
    for lines, where in _views(wrong):
        hit = lines.any(1).nonzero().flatten()
        length, first, last = lines.shape[0], int(hit[0]), int(hit[-1])
        if length < FEWEST or last - first + 1 > length // 2 or lines[first : last + 1].double().mean() < DENSE:
            continue
        if last == length - 1 and (first == last or _whole_tiles(first, length - first)):
            end = "the last index" if first == last else "the last tile"
            words = f"only {end} {where} is wrong: the grid or a loop misses a partial tile, or its mask is off"
            return Pattern(PatternName.LAST_TILE, words)
        if last == 0:
            words = f"only the first index {where} is wrong: indices must start at 0"
            return Pattern(PatternName.SHIFTED, words)
    return None


def _whole_tiles(first: int, tail: int) -> bool:
    """Whether tiles of one size, a power of two that holds the tail, end just ahead of it."""
    tile = first & -first
    return tile >= max(FEWEST, tail)


def _kth(wrong: torch.Tensor, unwritten: bool) -> Pattern | None:
    """An arithmetic progression along one dimension or in memory order; of unwritten elements two are enough."""
    for lines, where in _views(wrong):
        hit = lines.any(1).nonzero().flatten()
        if hit.numel() < (2 if unwritten else FEWEST) or lines[hit].double().mean() < DENSE:
            continue
        steps, first, last = hit.diff(), int(hit[0]), int(hit[-1])
        step = int(steps[0])
        regular = bool((steps == step).all()) and 1 < step <= LARGEST_STEP
        if not regular or first >= step or last + step < lines.shape[0]:
            continue
        if unwritten and first == 0:
            words = f"only the first element of each tile {where} is never written: indices must start at 0"
            return Pattern(PatternName.SHIFTED, words)
        # a power of two is a tile or a vector; another number may be the size of a hidden case
        named = "every second element" if step == 2 else f"every {step if step in POWERS else 'k-'}th element"
        words = f"only {named} {where} is wrong: a stride, a vector width or a tile border"
        return Pattern(PatternName.EVERY_KTH, words)
    return None


def _slices(wrong: torch.Tensor) -> Pattern | None:
    """Some slices wrong throughout and the others right throughout."""
    if wrong.dim() < 2:
        return None
    for dim in range(wrong.dim()):
        lines = wrong.movedim(dim, 0).reshape(wrong.shape[dim], -1)
        if lines.shape[0] < 3 or lines.shape[1] < FEWEST:
            continue
        hit = lines.any(1)
        if not hit.all() and lines[hit].double().mean() >= DENSE:
            one = ("rows", "columns")[dim] if wrong.dim() == 2 else f"slices along dimension {dim}"
            words = f"whole {one} are wrong and the others right: look at what is computed once for each of them"
            return Pattern(PatternName.WHOLE_SLICES, words)
    return None
