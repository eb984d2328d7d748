"""One processor core for all that is timed: a process that is slower than its baseline, since it stays on another core
or far from its own memory, takes up to 4 % longer on a GPU for calls of 20 microseconds."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager


def any_core() -> int:
    """One of those that this process may run on, drawn at random: another evaluator on this machine has another."""
    return secrets.choice(sorted(os.sched_getaffinity(0)))


@contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """The calling thread, and threads that it starts meanwhile, run on this core alone; None: where they may anyway.
    Raises OSError for a core that is not there."""
    before = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
