"""A device's clock: two events round a call, a flushed cache before it, and a wait for the whole device inside it.

What runs on after the second event, on whatever stream, is added to the time. Make one before a candidate is loaded: it
holds on to the functions that are there then.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

FLUSH_TIMES_L2 = 2
IDLE_TRIES = 24
ZERO, PERF_COUNTER = torch.Tensor.zero_, time.perf_counter


@dataclass(frozen=True)
class Measured:
    """One timed stretch: milliseconds on the device, and those that the host took to issue it."""

    ms: float
    host_ms: float
    returned: Any


class Device(Protocol):
    """What a stopwatch needs of a device."""

    l2_bytes: int
    flush_ms: float

    def calibrate(self) -> None:
        """Measures what the clock itself adds, while nothing else is on the device and no candidate is loaded."""

    def place(self, value: torch.Tensor) -> torch.Tensor:
        """A one-dimensional CPU tensor's bytes, copied to the device."""

    def flush(self, times: int) -> None:
        """Writes `times` over more than the L2 cache, without waiting."""

    def settle(self) -> None:
        """Waits for all streams of the device."""

    def measure(self, run: Callable[[], Any]) -> Measured:
        """Runs it once, and waits for all streams."""


class Cuda:
    """The current CUDA device, which this initialises. Make it before a candidate is loaded."""

    def __init__(self) -> None:
        facts = torch.cuda.get_device_properties(torch.cuda.current_device())
        self.l2_bytes = int(facts.L2_cache_size)
        event: Any = torch.cuda.Event.__base__  # of C: its methods can't be replaced
        self._record, self._elapsed = event.record, event.elapsed_time
        new: Any = torch.cuda.Event
        self._start, self._end, self._after = (new(enable_timing=True) for _ in range(3))
        self._stream, self._set_stream = torch.cuda.current_stream(), torch._C._cuda_setStream
        self._id = {"stream_id": self._stream.stream_id, "device_index": self._stream.device_index}
        self._id["device_type"] = self._stream.device_type
        self._synchronize = torch._C._cuda_synchronize
        self._reset_persisting = _persisting_reset()
        self._scratch = torch.empty(FLUSH_TIMES_L2 * self.l2_bytes, dtype=torch.uint8, device="cuda")
        self.idle_ms = 0.0
        self.flush_ms = min(self.measure(lambda: self.flush(1)).ms for _ in range(5))

    def calibrate(self) -> None:
        self.idle_ms = sorted(self._tail_of_nothing() for _ in range(IDLE_TRIES))[-3]

    def place(self, value: torch.Tensor) -> torch.Tensor:
        return value.to("cuda", copy=True)

    def flush(self, times: int) -> None:
        self._set_stream(**self._id)  # a candidate may have left another one
        self._reset_persisting()
        for _ in range(times):
            ZERO(self._scratch)

    def settle(self) -> None:
        self._synchronize()

    def measure(self, run: Callable[[], Any]) -> Measured:
        self._record(self._start, self._stream)
        begun = PERF_COUNTER()
        returned = run()
        host_s = PERF_COUNTER() - begun
        self._record(self._end, self._stream)
        self._synchronize()
        self._record(self._after, self._stream)
        self._synchronize()
        late_ms = self._elapsed(self._end, self._after) - self.idle_ms
        return Measured(self._elapsed(self._start, self._end) + max(0.0, late_ms), 1e3 * host_s, returned)

    def _tail_of_nothing(self) -> float:
        """Milliseconds from the end of a call to an event after the device-wide wait, where nothing ran on."""
        self.flush(1)
        self.measure(lambda: None)
        return float(self._elapsed(self._end, self._after))


class Host:
    """The CPU in a device's place: to try all of this where no GPU is."""

    l2_bytes = 2**20
    flush_ms = 0.01

    def calibrate(self) -> None:
        pass

    def place(self, value: torch.Tensor) -> torch.Tensor:
        return value.clone()

    def flush(self, times: int) -> None:
        pass

    def settle(self) -> None:
        pass

    def measure(self, run: Callable[[], Any]) -> Measured:
        begun = PERF_COUNTER()
        returned = run()
        ms = 1e3 * (PERF_COUNTER() - begun)
        return Measured(ms, ms, returned)


def _persisting_reset() -> Callable[[], Any]:
    """Gives back lines of the L2 cache that a kernel has reserved; does nothing where the driver can't be reached."""
    try:
        reset: Callable[[], Any] = ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache
    except (OSError, AttributeError):
        return lambda: None
    return reset
