"""Streams of a GPU that isn't there: on which one a launch would have been, and whether anything waited for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Stream:
    """Stands for `torch.cuda.Stream`. Whoever waits for one, waits for what was launched on it."""

    device_index = 0
    device_type = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.cuda_stream = self.stream_id = id(self)
        self._before: list[Any] = []

    def __enter__(self) -> Stream:
        self._before.append(streams.current)
        streams.current = self
        return self

    def __exit__(self, *args: Any) -> None:
        streams.current = self._before.pop()

    def synchronize(self) -> None:
        streams.pending.discard(self)

    def wait_stream(self, stream: Stream) -> None:
        streams.pending.discard(stream)

    def wait_event(self, event: Event) -> None:
        streams.pending.discard(event.stream)

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def query(self) -> bool:
        return True


class Event:
    """Stands for `torch.cuda.Event`; the times between events are those of nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.stream: Any = None

    def record(self, stream: Any = None) -> None:
        self.stream = stream or streams.current

    def wait(self, stream: Any = None) -> None:
        streams.pending.discard(self.stream)

    def synchronize(self) -> None:
        streams.pending.discard(self.stream)

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Event) -> float:
        return 1.0


class Streams:
    """The current stream, and the side streams that nobody waited for."""

    def __init__(self) -> None:
        self.current: Any = None
        self.pending: set[Any] = set()

    def launched(self) -> None:
        """A kernel was launched on the current stream."""
        if self.current is not DEFAULT:
            self.pending.add(self.current)

    def synchronize(self, device: Any = None) -> None:
        self.pending.clear()

    def left(self) -> list[str]:
        """What a call left behind, in words."""
        found = ["work on a side stream that nothing waits for"] if self.pending else []
        return found + (["another stream as the current one"] if self.current is not DEFAULT else [])

    def reset(self) -> None:
        """As at the start of a call."""
        self.current = DEFAULT
        self.pending.clear()


DEFAULT: Any = None
streams = Streams()
DEFAULT = Stream()
DEFAULT.cuda_stream = DEFAULT.stream_id = 0
streams.reset()


@contextmanager
def on_stream(stream: Any) -> Iterator[None]:
    """Stands for `torch.cuda.stream`."""
    before = streams.current
    streams.current = stream or before
    try:
        yield
    finally:
        streams.current = before


def set_stream(stream: Any) -> None:
    """Stands for `torch.cuda.set_stream`."""
    streams.current = stream or DEFAULT
