"""How a launch reads memory, by source line: how much of each 32-byte sector it uses, and what a program loads twice.

A sector is what a GPU moves at least (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"). All lanes
of a load count together, whatever threads they are dealt to, and masked ones as if they were not: the kindest reading,
so that little use is a fact of the addresses and not of a small problem.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SECTOR_SHIFT = 5
VECTOR = 16  # the most bytes that one thread loads at once
ROWS_MAX = 60


def distinct(values: np.ndarray) -> np.ndarray:
    """Each value once, sorted: what `np.unique` gives, which takes several times as long on values that are nearly so
    already."""
    ordered = np.sort(values, axis=None, kind="stable")
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    return ordered if first.all() else ordered[first]


@dataclass
class Line:
    """The loads of one argument on one line in one launch; `lanes` of the widest one. `aligned` counts those whose
    every run of neighbours starts at a multiple of 16 bytes, so that a thread could take 16 bytes of it at once."""

    itemsize: int
    count: int = 0
    lanes: int = 0
    used_bytes: int = 0
    sector_bytes: int = 0
    aligned: int = 0


@dataclass(frozen=True)
class Span:
    """Offsets in bytes of the lanes of one load: `count` elements side by side from `low` on, or those in `each`, which
    is sorted and has every offset once."""

    low: int
    count: int
    each: np.ndarray | None = None

    @classmethod
    def of(cls, offsets: np.ndarray, itemsize: int) -> Span:
        """The span of offsets in any order, of any number each."""
        low = int(offsets.min())
        if int(offsets.max()) - low == (offsets.size - 1) * itemsize:
            return cls(low, offsets.size)
        each = distinct(offsets)
        return cls(low, each.size, each)

    def sectors(self, itemsize: int) -> int:
        """Sectors that the elements lie in, each counted once; an element lies in the sector of its first byte."""
        if self.each is None:
            return ((self.low + self.count * itemsize - 1) >> SECTOR_SHIFT) - (self.low >> SECTOR_SHIFT) + 1
        sectors = self.each >> SECTOR_SHIFT
        return 1 + int(np.count_nonzero(sectors[1:] != sectors[:-1]))

    def aligned(self, itemsize: int) -> bool:
        """Whether every run of neighbours starts at a multiple of VECTOR bytes."""
        if self.each is None:
            return self.low % VECTOR == 0
        first = np.concatenate(([True], self.each[1:] - self.each[:-1] != itemsize))
        return not (self.each[first] % VECTOR).any()


@dataclass
class Accesses:
    """The loads of one launch by line and argument; for each argument the bytes of loads that a program had done just
    so before, from the same addresses."""

    programs: int = 0
    lines: dict[tuple[int | None, str], Line] = field(default_factory=dict)
    again_bytes: dict[str, int] = field(default_factory=dict)
    _done: set[tuple[Any, ...]] = field(default_factory=set)

    def begin_program(self) -> None:
        self.programs += 1
        self._done.clear()

    def loaded(self, name: str, line: int | None, offsets: np.ndarray, itemsize: int, read_bytes: int) -> None:
        """Counts one load from the argument `name`: the offsets of all its lanes in the argument's storage, elements of
        `itemsize` bytes, and the bytes that the lanes which aren't masked read."""
        span = Span.of(offsets, itemsize)
        row = self.lines.setdefault((line, name), Line(itemsize))
        row.count += 1
        row.lanes = max(row.lanes, offsets.size)
        row.used_bytes += span.count * itemsize
        row.sector_bytes += span.sectors(itemsize) << SECTOR_SHIFT
        row.aligned += span.aligned(itemsize)
        done = (name, span.low, span.count, read_bytes, None if span.each is None else int(span.each.sum()))
        if done in self._done:
            self.again_bytes[name] = self.again_bytes.get(name, 0) + read_bytes
        self._done.add(done)


def line_reports(launched: Iterable[tuple[str, Accesses]]) -> list[dict[str, Any]]:
    """The lines of all launches of a call as JSON values, those of one kernel summed; `launched` names the kernels."""
    rows: dict[tuple[str, int, str], dict[str, Any]] = {}
    for kernel, accesses in launched:
        for (number, argument), line in accesses.lines.items():
            if number is None:
                continue
            row = rows.setdefault(
                (kernel, number, argument),
                {"kernel": kernel, "line": number, "argument": argument, "itemsize": line.itemsize}
                | dict.fromkeys(("programs", "count", "lanes", "used_bytes", "sector_bytes", "aligned"), 0),
            )
            row["programs"] += accesses.programs
            row["lanes"] = max(row["lanes"], line.lanes)
            for name in ("count", "used_bytes", "sector_bytes", "aligned"):
                row[name] += getattr(line, name)
    return list(rows.values())[:ROWS_MAX]


def again_report(launched: Iterable[tuple[str, Accesses]]) -> dict[str, int]:
    """For each kernel argument, the bytes that programs read more than once, over all launches of a call."""
    total: dict[str, int] = {}
    for kernel, accesses in launched:
        for name, count in accesses.again_bytes.items():
            key = f"{kernel}.{name}"
            total[key] = total.get(key, 0) + count
    return dict(list(total.items())[:ROWS_MAX])
