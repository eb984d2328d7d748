"""Threads and processes that a candidate starts, told by the interpreter itself, however they are spelled.

An audit hook (PEP 578) can't be taken back, and sees what a list of processes misses: one that has ended again. For
threads there is no event in every version, so the function that starts them is counted.
"""

from __future__ import annotations

import _thread
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

STARTS = {
    "os.fork": "a process",
    "os.forkpty": "a process",
    "os.posix_spawn": "a process",
    "os.exec": "another program",
    "os.system": "a process",
    "subprocess.Popen": "a process",
    "sys.settrace": "a trace function",
    "sys.setprofile": "a profile function",
}


class Audit:
    """Counts what the candidate's own thread starts while it is `watching`; the compiler's part of it aside."""

    def __init__(self) -> None:
        self.started: Counter[str] = Counter()
        self._watched: int | None = None
        self._quiet = 0

    def install(self) -> None:
        """There is no way back."""
        sys.addaudithook(self._heard)
        start: Callable[..., int] = _thread.start_new_thread

        def counted(*args: Any, **kwargs: Any) -> int:
            self._count("a thread")
            return start(*args, **kwargs)

        for module, name in ((_thread, "start_new_thread"), (_thread, "start_new"), (threading, "_start_new_thread")):
            setattr(module, name, counted)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While the candidate runs, in the current thread."""
        self._watched = threading.get_ident()
        try:
            yield
        finally:
            self._watched = None

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """While the compiler runs other programs, or starts a thread that does."""
        self._quiet += 1
        try:
            yield
        finally:
            self._quiet -= 1

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if event in STARTS:
            self._count(STARTS[event])

    def _count(self, what: str) -> None:
        if not self._quiet and self._watched == threading.get_ident():
            self.started[what] += 1


audit = Audit()
