"""What a fault is: one known kind of mistake, where it fits, and what it must lead to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from tasks.faults.code import Code
from tasks.outcomes import Reason, Status

VALUES = frozenset({Reason.MISMATCH, Reason.NON_FINITE, Reason.PROPERTY, Reason.DISTRIBUTION})
# what a wrong address, or a wrong value that becomes an address or a size, can lead to besides wrong values
ADDRESSES = frozenset({Reason.OUT_OF_BOUNDS_WRITE, Reason.EXCEPTION, Reason.DIED, Reason.SHAPE})
# what an output that no program wrote looks like, besides wrong values
UNWRITTEN = frozenset({Reason.NOT_FROM_KERNEL, Reason.NO_LAUNCH})


# many faults are tried on the same source, and parsing it is most of the work
_parsed = lru_cache(maxsize=32)(Code)


@dataclass(frozen=True)
class Fault:
    """One kind of mistake.

    `expects` holds the statuses that it must lead to: several only where the outcome depends on the kernel (a
    missing mask reads a neighbour's value in one layout and leaves the buffer in another). `reasons` are the
    reason codes that count as evidence of it. `mended` is False for kinds that the apprentice never mends, `slow`
    is True for kinds whose mutants are right and move more bytes.
    """

    name: str
    summary: str
    expects: frozenset[Status]
    reasons: frozenset[Reason]
    transform: Callable[[Code], str | None]
    mended: bool = True
    slow: bool = False

    def apply(self, source: str) -> str | None:
        """`source` with this mistake in it; None where it doesn't fit. The same source gives the same mutant."""
        try:
            code = _parsed(source)
        except SyntaxError:
            return None
        mutant = self.transform(code)
        return None if mutant == source else mutant
