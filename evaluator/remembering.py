"""Whether a kernel does other work for values that it has seen: it then keeps results, and timings would be of them.

Two sets of values that it has not seen, four times each, in a process of its own. A kernel that keeps nothing moves the
same bytes each time, or bytes that depend on how often it was called: a table built at first, configurations tried one
by one, buffers in turn. Only one that knows values goes back to the first figure for the second set, and falls from it
as it did before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.cases import Drawn
from evaluator.conversation import Answer, Call

FIRST, ONE, OTHER, LAST = 0, (1, 2, 3, 4), (5, 6, 7, 8), 9
TWO_LATER = 2  # kernels or buffers that take turns have theirs again


@dataclass(frozen=True)
class Work:
    """What a call launched, and the bytes that its kernels loaded and stored."""

    kernels: tuple[str, ...]
    bytes_moved: int


def calls_of(drawn: Sequence[Drawn]) -> list[Call]:
    """The first public case, two that follow it with other values four times each, and the first once more; nothing
    where there are no others."""
    others = [entry.case for entry in drawn if entry.again_of is not None][:2]
    if len(others) < 2:
        return []
    calls = [Call(index, case) for case, indices in zip(others, (ONE, OTHER), strict=True) for index in indices]
    return [Call(FIRST, drawn[0].case), *calls, Call(LAST, drawn[0].case)]


def remembered(calls: Mapping[int, Answer]) -> str:
    """What shows that values are known again, in words; empty when nothing does, or a call failed."""
    found = {index: work for index, answer in calls.items() if (work := _work(answer))}
    if len(found) <= LAST:
        return ""
    one, other = [found[index] for index in ONE], [found[index] for index in OTHER]
    new, again = one[0], one[TWO_LATER]
    if (new, again) == (other[0], other[TWO_LATER]) and again != new and again.kernels == new.kernels:
        return _told(new, again, "values that it had been called with just before")
    first, last = found[FIRST], found[LAST]
    if len({*one, *other}) == 1 and last not in (new, first) and last.kernels == new.kernels:
        return _told(new, last, "the values of its first call")
    return ""


def _told(new: Work, known: Work, which: str) -> str:
    names = ", ".join(dict.fromkeys(new.kernels))
    return (
        f"called twice with new values of one shape, {names} moved {new.bytes_moved} bytes; with {which}, "
        f"{known.bytes_moved} bytes: it knows values again, and would be timed with values that it knows. "
        "Keep no results from call to call"
    )


def _work(answer: Answer) -> Work | None:
    kernels, moved = answer.header.get("kernels"), answer.header.get("bytes_moved")
    if not isinstance(kernels, list) or type(moved) is not int or "error" in answer.header:
        return None
    return Work(tuple(map(str, kernels)), moved)
