"""One call of a torch operation, a mistake that it may have, and what reductions give of a part of their terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.patterns_leaf import PatternName as P

TILES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
PRODUCTS = ("matmul", "mm", "bmm")
REDUCTIONS = ("sum", "mean", "var", "amax", "amin", "prod")


@dataclass(frozen=True)
class Call:
    """One operation as it was called: its name without underscores, and its arguments by position and name."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any]

    def right(self) -> Any:
        return self.function(*self.args, **self.options)

    @property
    def operands(self) -> tuple[Any, Any]:
        """Of an operation on two, in the order of the formula."""
        first, second = self.args[:2]
        return (second, first) if self.name in ("rsub", "rdiv", "rtruediv") else (first, second)


@dataclass(frozen=True)
class Change:
    """A mistake in one step: its label, what it is in words, and the result that it leads to."""

    label: P
    words: str
    result: Callable[[Call], Any]


def shorter(call: Call) -> Iterator[tuple[int, Change]]:
    """A reduction that leaves out its last, partial tile, with the tile; a mean of fewer terms is divided by their
    number, or by the number of all."""
    length = reduced_length(call)
    known = set()
    for tile in (1, *TILES):
        kept = length // tile * tile
        if tile < length and call.name in ("sum", "mean", *PRODUCTS):
            words = "only the last tile of a reduction counted: the running sum is overwritten (= where += is meant)"
            yield tile, Change(P.TILE_LEFT_OUT, words, lambda c, tile=tile: _last(c, tile))  # type: ignore[misc]
        if kept == length or kept in known or (kept == 0 and call.name not in ("sum", "mean", "var")):
            continue
        known.add(kept)
        words = "the last, partial tile of a reduction left out: the loop must run to cdiv(n, BLOCK)"
        for by in (False, True) if call.name in ("mean", "var") and kept else (True,):
            yield tile, Change(P.TILE_LEFT_OUT, words, lambda c, tile=tile, by=by: _cut(c, tile, divide_by_all=by))  # type: ignore[misc]


def reduced_length(call: Call) -> int:
    """How many terms each result of a reduction or a product has; 0 where it is neither."""
    x = call.args[0]
    if call.name in PRODUCTS:
        return int(x.shape[-1])
    if call.name not in REDUCTIONS or x.dim() == 0:
        return 0
    return math.prod(x.shape[dim] for dim in dims_of(call))


def dims_of(call: Call) -> list[int]:
    given = call.options.get("dim", call.args[1] if len(call.args) > 1 else None)
    every = call.args[0].dim()
    if given is None or isinstance(given, (bool, torch.dtype)):
        return list(range(every))
    return [dim % every for dim in ([given] if isinstance(given, int) else given)] or list(range(every))


def _cut(call: Call, tile: int, *, divide_by_all: bool) -> Any:
    length = reduced_length(call)
    kept = length // tile * tile
    if call.name in PRODUCTS:
        a, b = call.args[:2]
        return torch.matmul(a[..., :kept], b[:kept] if b.dim() == 1 else b[..., :kept, :])
    lines = lines_of(call)
    share = kept / length if divide_by_all and call.name in ("mean", "var") else 1.0
    part = lines[..., :kept]
    if kept == 0:
        value = torch.zeros_like(lines[..., 0])
    elif call.name == "var":
        value = part.var(-1, correction=0) * share
    elif call.name in ("amax", "amin"):
        value = getattr(part, call.name)(-1)
    else:
        value = getattr(part, call.name)(-1) * share
    return value.reshape(call.right().shape)


def _last(call: Call, tile: int) -> Any:
    """A sum, a mean or a product of the terms in the last tile only."""
    length = reduced_length(call)
    first = (length - 1) // tile * tile
    if call.name in PRODUCTS:
        a, b = call.args[:2]
        return torch.matmul(a[..., first:], b[first:] if b.dim() == 1 else b[..., first:, :])
    value = lines_of(call)[..., first:].sum(-1) / (length if call.name == "mean" else 1)
    return value.reshape(call.right().shape)


def lines_of(call: Call) -> torch.Tensor:
    """The reduced dimensions as one, last."""
    dims = dims_of(call)
    return call.args[0].movedim(dims, tuple(range(-len(dims), 0))).flatten(-len(dims))  # type: ignore[no-any-return]
