"""What the apprentice knows of a task: its oracle, and every mutant with one or two faults, by the hash of the source.

The table is built from the oracle's text alone, so a process that resumes a run knows what the one before it knew.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from functools import cache

from tasks.catalog import index, oracle_path
from tasks.faults.catalog import FAULTS
from tasks.faults.code import Code
from tasks.faults.fault import Fault
from tasks.outcomes import Reason

Stack = tuple[Fault, ...]

_building = threading.Lock()


def knows(task: str) -> bool:
    """Whether there is an oracle to draw from: a user's own task has none."""
    return task in index() and oracle_path(task).is_file()


@cache
def oracle(task: str) -> str:
    """The oracle's text."""
    return oracle_path(task).read_text(encoding="utf-8")


@cache
def choices(task: str) -> Stack:
    """The faults that fit the task's oracle and leave a source behind, in the catalog's order."""
    return tuple(fault for fault in FAULTS if leaves_source(fault) and fault.apply(oracle(task)) is not None)


def leaves_source(fault: Fault) -> bool:
    return Reason.NO_CODE not in fault.reasons


def source_with(task: str, stack: Stack) -> str | None:
    """The oracle with the faults of `stack` in it; None when one of them no longer fits."""
    source: str | None = oracle(task)
    for fault in stack:
        source = fault.apply(source) if source is not None else None
    return source


def stack_of(task: str, source: str) -> Stack | None:
    """The faults in `source`: none for the oracle itself, None for a source that is no mutant of it."""
    with _building:
        return _table(task).get(_key(source))


@cache
def _table(task: str) -> dict[str, Stack]:
    found: dict[str, Stack] = {}
    for stack, source in _stacks(task):
        found.setdefault(_key(source), stack)
    return found


def _stacks(task: str) -> Iterator[tuple[Stack, str]]:
    yield (), oracle(task)
    first, stacked = choices(task), []
    whole = Code(oracle(task))
    for place, fault in enumerate(first):
        mutant = fault.transform(whole)
        assert mutant is not None
        yield (fault,), mutant
        stacked.append((fault, mutant, first[place + 1 :]))
    for fault, mutant, later in stacked:
        try:
            code = Code(mutant)
        except SyntaxError:
            continue
        for second in later:
            source = second.transform(code)
            if source is not None and source != mutant:
                yield (fault, second), source


def _key(source: str) -> str:
    return hashlib.sha256(source.strip().encode()).hexdigest()
