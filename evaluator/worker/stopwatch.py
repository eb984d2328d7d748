"""Timing calls inside a worker, the candidate's or the baseline's: functions taken before a candidate is loaded.

Arguments lie on the device at several addresses and with several sets of values, taken in turn; `worker.clock`
times one call. Only the judge's own clock, outside, is proof of anything: this one runs beside a candidate.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evaluator import wire
from evaluator.worker.clock import PERF_COUNTER, Cuda, Device, Measured

# as they are before a candidate is loaded, which may put others in their place
CLONE, COPY_EACH = torch.Tensor.clone, torch._foreach_copy_
VIEW, NUMEL, WORD = torch.Tensor.view, torch.Tensor.numel, torch.int64


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call on the device, with the bytes of each tensor's storage."""

    args: Any
    kwargs: Any
    storages: tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Kept:
    """What the call left that the judge chose, and which variant of the values it was given."""

    returned: Any
    args: Any
    kwargs: Any
    variant: int


@dataclass(frozen=True)
class Window:
    """Times of the calls in milliseconds each; `host_ms` is the median that the host took to issue a call."""

    ms: tuple[float, ...]
    host_ms: float
    wall_s: float


class Pool:
    """Arguments at `slots` addresses, taken in turn; each holds the values of one of the variants.

    `refresh` deals the variants out anew, so that what was kept for an address is wrong for its next values. All are
    copied each time, so that the wait is as long for one player as for another. A call that `mutates` its arguments
    gets its values again each time, with one operation for all calls of a stretch: the host's time for many would
    differ from player to player. Raises ValueError for variants that differ in form.
    """

    def __init__(self, device: Device, variants: Sequence[tuple[Any, Any]], slots: int, mutates: bool) -> None:
        self.mutates = mutates
        self.variants = [placed_on(device, *variant) for variant in variants]
        forms = {tuple(storage.numel() for storage in variant.storages) for variant in self.variants}
        if len(forms) != 1:
            raise ValueError("the variants of a case differ in form")
        self.slots = [placed_on(device, *variants[0]) for _ in range(max(1, slots))]
        self.holds = [0] * len(self.slots)
        self.at = 0

    def refresh(self, pick: random.Random) -> None:
        """Gives every slot the values of a variant that `pick` chooses."""
        self.holds = [pick.randrange(len(self.variants)) for _ in self.slots]
        self._fill(range(len(self.slots)))

    def deal(self, calls: int) -> list[tuple[Arguments, int]]:
        """The slots of the next calls, in turn, and which variant each holds."""
        dealt = [(self.at + 1 + call) % len(self.slots) for call in range(calls)]
        self.at = dealt[-1]
        if self.mutates:
            self._fill(sorted(set(dealt)))
        return [(self.slots[at], self.holds[at]) for at in dealt]

    def _fill(self, slots: Sequence[int]) -> None:
        storages = [_words(storage) for at in slots for storage in self.slots[at].storages]
        if storages:
            COPY_EACH(storages, [_words(fresh) for at in slots for fresh in self.variants[self.holds[at]].storages])


class Stopwatch:
    """Windows of timed calls on the arguments of one case."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.pool: Pool | None = None
        self.kept: Kept | None = None

    def prepare(self, variants: Sequence[tuple[Any, Any]], slots: int, mutates: bool = False) -> None:
        """Puts a case's arguments, CPU values as (args, kwargs) of each variant, on the device."""
        self.pool = self.kept = None  # its memory is free before more is taken
        self.pool = Pool(self.device, variants, slots, mutates)

    def window(
        self,
        call: Callable[[Any, Any], Any],
        calls: int,
        batch: int = 1,
        keep: int | None = None,
        seed: int = 0,
        cover: int = 1,
    ) -> Window:
        """Times `calls` times `batch` calls back to back, each on the next slot, the cache flushed before each batch.

        `keep` is the index of the batch whose last call's outcome is kept. `cover` is how many flushes are issued ahead
        of a batch: while they run the host issues the calls, so that its time for it is hidden. A batch that is larger
        than the pool takes slots more than once. What the call raises comes out. Needs `prepare`.
        """
        if self.pool is None or batch < 1:
            raise ValueError("no case is prepared, or the batch is empty")
        times: list[Measured] = []
        begun = PERF_COUNTER()
        self.pool.refresh(random.Random(seed))
        for number in range(calls):
            dealt = self.pool.deal(batch)
            hands = [hand for hand, _ in dealt]
            self.device.flush(cover)
            measured = self.device.measure(lambda hands=hands: _run(call, hands))  # type: ignore[misc]
            times.append(Measured(measured.ms / batch, measured.host_ms / batch, None))
            if number == keep:
                self.kept = Kept(*self._snapshots(measured.returned, hands[-1]), dealt[-1][1])
            del measured
        host_ms = sorted(time.host_ms for time in times)[(len(times) - 1) // 2]
        return Window(tuple(time.ms for time in times), host_ms, PERF_COUNTER() - begun)

    def _snapshots(self, returned: Any, hand: Arguments) -> tuple[Any, Any, Any]:
        """Copies, since later calls write to the same places; arguments only where the call may change them."""
        if self.pool and self.pool.mutates:
            return snapshot(returned), snapshot(hand.args), snapshot(hand.kwargs)
        return snapshot(returned), hand.args, hand.kwargs


class Timed:
    """The operations `calibrate`, `prepare`, `window` and `kept` of a worker, as the judge asks for them.

    `call(args, kwargs)` makes one call; `answer(returned, args, kwargs)` is its header and frames as for any call.
    """

    OPERATIONS = ("calibrate", "prepare", "window", "kept")

    def __init__(
        self,
        stopwatch: Stopwatch,
        call: Callable[[Any, Any], Any],
        answer: Callable[[Any, Any, Any], tuple[dict[str, Any], list[memoryview]]],
    ) -> None:
        self.stopwatch = stopwatch
        self.call = call
        self.answer = answer

    def handle(self, header: dict[str, Any], frames: Sequence[bytearray]) -> tuple[dict[str, Any], list[memoryview]]:
        """The reply to a message with one of these operations. What the call raises comes out."""
        if header["op"] == "calibrate":
            self.stopwatch.device.calibrate()
            return {}, []
        if header["op"] == "prepare":
            variants = [
                (wire.unpack(one["args"], frames), wire.unpack(one["kwargs"], frames)) for one in header["variants"]
            ]
            self.stopwatch.prepare(variants, header["slots"], header["mutates"])
            return {}, []
        if header["op"] == "kept":
            kept = self.stopwatch.kept
            if kept is None:
                return {"kept": False}, []
            said, out = self.answer(kept.returned, kept.args, kept.kwargs)
            return {**said, "kept": True, "variant": kept.variant}, out
        options = {name: header[name] for name in ("calls", "batch", "keep", "seed", "cover")}
        collects = gc.isenabled()
        gc.disable()
        try:
            window = self.stopwatch.window(self.call, **options)
        finally:
            if collects:
                gc.enable()
        return {"ms": list(window.ms), "host_ms": window.host_ms, "wall_s": window.wall_s}, []


def placed_on(device: Device, args: Any, kwargs: Any) -> Arguments:
    """The arguments with every tensor's whole storage on the device, and its strides and offset kept."""
    storages: list[torch.Tensor] = []
    where = "cuda" if isinstance(device, Cuda) else "cpu"

    def place(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            room = device.place(wire.storage_bytes(value))
            storages.append(room)
            twin = torch.empty(0, dtype=value.dtype, device=room.device)
            return twin.set_(room.untyped_storage(), value.storage_offset(), value.size(), value.stride())
        if isinstance(value, torch.Generator):
            return torch.Generator(where).manual_seed(value.initial_seed())
        if isinstance(value, (list, tuple)):
            return type(value)(place(item) for item in value)
        if isinstance(value, dict):
            return {key: place(item) for key, item in value.items()}
        return torch.device(where) if isinstance(value, torch.device) else value

    return Arguments(place(args), place(kwargs), tuple(storages))


def snapshot(value: Any) -> Any:
    """A copy of the plain tensors in it; anything odd stays as it is, for the judge to see."""
    if type(value) is torch.Tensor and not value.__dict__ and not value.is_meta:
        return CLONE(value)
    if type(value) in (list, tuple):
        return type(value)(snapshot(item) for item in value)
    if type(value) is dict:
        return {key: snapshot(item) for key, item in value.items()}
    return value


def _words(storage: torch.Tensor) -> torch.Tensor:
    """The same bytes, as few elements as they can be."""
    return VIEW(storage, WORD) if NUMEL(storage) % 8 == 0 else storage


def _run(call: Callable[[Any, Any], Any], hands: Sequence[Arguments]) -> Any:
    returned = None
    for hand in hands:
        returned = call(hand.args, hand.kwargs)
    return returned
