"""What a timing is made of: sizes, the players who make the calls, and the windows of calls that they are asked for."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evaluator.bounds import Machine
from evaluator.paired import median
from tasks.calls import bound
from tasks.task import Case, Task

CANDIDATE, EAGER = "candidate", "eager"
SLOTS_MIN, SLOTS_MAX = 2, 16
LONG_MS = 100.0  # a window of such calls is a single one
COVER_TIMES, COVER_MAX = 3, 64  # how much longer than the host needs the device is kept busy; flushes at most


class Lost(Exception):
    """A player did not answer as it should: `kind` is deadline, died, protocol or error (then `error` is its own)."""

    def __init__(self, kind: str, message: str, error: Any = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.error = error
        self.who = ""


@dataclass(frozen=True)
class Window:
    """Milliseconds of each timed stretch, over its calls; seconds by the judge's clock; the host's ms a call."""

    ms: tuple[float, ...]
    wall_s: float
    host_ms: float = 0.0


@dataclass(frozen=True)
class TimedCase:
    """A timed size of `task`, which `tasks.catalog.load(path)` gives: the same call with several variants of values.

    `slots` is at how many addresses its arguments lie; `key` names it among all that a baseline is given.
    """

    task: Task
    path: str
    key: str
    variants: Sequence[Case]
    slots: int = SLOTS_MIN

    @property
    def label(self) -> str:
        return self.variants[0].label

    @property
    def mutates(self) -> bool:
        """Whether a call changes arguments, of which it then needs fresh values each time."""
        given = bound(self.task, self.variants[0])
        return any(given[name] is not None for name in self.task.mutates)


class Player(Protocol):
    """Somebody who is timed. Both raise Lost."""

    def prepare(self, timed: TimedCase) -> None:
        """Takes the values of a size."""

    def window(self, calls: int, batch: int, keep: int | None, seed: int, cover: int) -> Window:
        """Times `calls` stretches of `batch` calls each, issued while `cover` flushes run; `seed` fixes which values
        each gets."""


@dataclass(frozen=True)
class Plan:
    """How windows are asked for: stretches a window, calls a stretch, flushes ahead of a stretch."""

    calls: int
    batch: int
    cover: int


@dataclass
class Series:
    """All windows of one player: median milliseconds a call, the host's own, and what the judge's clock had beyond."""

    ms: list[float] = field(default_factory=list)
    host_ms: list[float] = field(default_factory=list)
    beyond_ms: list[float] = field(default_factory=list)
    overfull: bool = False

    def add(self, window: Window, warm: int, batch: int, keeps: bool) -> None:
        total_ms = sum(window.ms) * batch
        self.overfull |= total_ms > 1e3 * window.wall_s
        self.ms.append(median(window.ms[warm:]))
        self.host_ms.append(window.host_ms)
        if not keeps:  # keeping an outcome takes time of its own
            self.beyond_ms.append((1e3 * window.wall_s - total_ms) / len(window.ms))


def asked(name: str, player: Player, calls: int, plan: Plan, keep: int | None, rng: random.Random) -> Window:
    """One window of `calls` stretches. Raises Lost, with the player's name in `who`."""
    try:
        return player.window(calls, plan.batch, keep, rng.getrandbits(31), plan.cover)
    except Lost as lost:
        lost.who = name
        raise


def cover_of(host_ms: float, machine: Machine) -> int:
    """How many flushes hide so many milliseconds that the host takes to issue a stretch."""
    return 1 + math.ceil(min(COVER_MAX - 1, COVER_TIMES * host_ms / max(machine.flush_ms, 1e-3)))


def slots_for(args_bytes: int, l2_bytes: int) -> int:
    """At how many addresses arguments of this size should lie, so that they are more than twice the L2 cache."""
    return max(SLOTS_MIN, min(SLOTS_MAX, 1 + math.ceil(2 * l2_bytes / max(1, args_bytes))))
