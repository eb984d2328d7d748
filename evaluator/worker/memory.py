"""What a kernel touches: every address checked against the tensors that it was given, every byte counted.

A load outside them gives poison and is noted; a store outside them is dropped and noted. So a wild pointer costs a
verdict and not the process, and the same source gives the same values every time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import torch

from evaluator.worker.accesses import Accesses, distinct


@dataclass
class Poison:
    """The byte that fills memory nobody has written; None leaves it as it is."""

    byte: int | None = 0xFF  # every float type reads it as NaN, every signed integer as -1


poison = Poison()


@dataclass(frozen=True)
class Stray:
    """An access outside every tensor of the launch: how often, at which source line, by how many bytes at most."""

    kernel: str
    line: int | None
    store: bool
    lanes: int
    nearest: str
    bytes_off: int


@dataclass
class Memory:
    """The buffers of one launch by argument name, and what the launch did to them."""

    kernel: str
    filename: str
    starts: np.ndarray
    ends: np.ndarray
    names: list[str]
    loaded_bytes: int = 0
    stored_bytes: int = 0
    read_bytes: dict[str, int] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    strays: dict[tuple[int | None, bool], Stray] = field(default_factory=dict)
    accesses: Accesses = field(default_factory=Accesses)

    @classmethod
    def of(cls, kernel: str, filename: str, tensors: Iterable[tuple[str, torch.Tensor]]) -> Memory:
        """Covers the whole storage of each tensor; tensors that share a storage count as one buffer."""
        spans: dict[int, tuple[int, str]] = {}
        for name, tensor in tensors:
            storage = tensor.untyped_storage()
            spans.setdefault(storage.data_ptr(), (storage.data_ptr() + storage.nbytes(), name))
        order = sorted(spans)
        return cls(
            kernel,
            filename,
            np.array(order, dtype=np.uint64),
            np.array([spans[start][0] for start in order], dtype=np.uint64),
            [spans[start][1] for start in order],
        )

    def allow(self, pointers: np.ndarray, mask: np.ndarray, itemsize: int, *, store: bool) -> np.ndarray:
        """The part of `mask` whose `itemsize` bytes lie inside one buffer; counts bytes and notes the rest."""
        active = pointers.ravel() if mask.all() else pointers[mask]
        if active.size == 0:
            return mask
        low, high = int(active.min()), int(active.max()) + itemsize
        place = int(np.searchsorted(self.starts, np.uint64(low), side="right")) - 1
        if place < 0 or high > int(self.ends[place]):
            mask, active = self._inside(pointers, mask, itemsize, store)
            if active.size == 0:
                return mask
            low, high = int(active.min()), int(active.max()) + itemsize
            place = int(np.searchsorted(self.starts, np.uint64(low), side="right")) - 1
        dense = high - low == active.size * itemsize
        count = (active.size if dense else distinct(active).size) * itemsize
        if store:
            self.stored_bytes += count
            self.written.update(int(s) for s in self._touched(active, place))
        else:
            self.loaded_bytes += count
            name = self.names[place]
            self.read_bytes[name] = self.read_bytes.get(name, 0) + count
            if high <= int(self.ends[place]):
                offsets = (pointers.ravel() - self.starts[place]).view(np.int64)
                self.accesses.loaded(name, self._line(), offsets, itemsize, count)
        return mask

    def _touched(self, active: np.ndarray, place: int) -> np.ndarray:
        if int(active.max()) < int(self.ends[place]):
            return self.starts[place : place + 1]
        return np.unique(self.starts[np.searchsorted(self.starts, active, side="right") - 1])

    def _inside(
        self, pointers: np.ndarray, mask: np.ndarray, itemsize: int, store: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        if not len(self.starts):
            inside = np.zeros_like(mask)
        else:
            place = np.searchsorted(self.starts, pointers, side="right").astype(np.int64) - 1
            inside = (place >= 0) & (pointers + np.uint64(itemsize) <= self.ends[place.clip(0)])
        strays = mask & ~inside
        if strays.any():
            self._note(pointers[strays], itemsize, store)
        mask = mask & inside
        return mask, pointers[mask]

    def _note(self, pointers: np.ndarray, itemsize: int, store: bool) -> None:
        line = self._line()
        before = self.strays.get((line, store))
        nearest, off = "no tensor", 0
        if len(self.starts):
            low, high = int(pointers.min()), int(pointers.max()) + itemsize
            place = max(0, int(np.searchsorted(self.starts, np.uint64(low), side="right")) - 1)
            nearest = self.names[place]
            off = high - int(self.ends[place]) if high > int(self.ends[place]) else low - int(self.starts[place])
        lanes = int(pointers.size) + (before.lanes if before else 0)
        self.strays[line, store] = Stray(self.kernel, line, store, lanes, nearest, off)

    def _line(self) -> int | None:
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.filename:
            frame = frame.f_back  # type: ignore[assignment]
        return frame.f_lineno if frame is not None else None
