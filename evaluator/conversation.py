"""One candidate, from source to raw answers: what a worker is asked, under which deadlines, and how it may be lost."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

from evaluator import wire
from evaluator.limits import Limits
from evaluator.pool import Child, Ending
from tasks.task import Case

COMPILE_ERRORS = ("compilation", "out_of_resources")


@dataclass(frozen=True)
class Answer:
    """One reply of the worker: a header of plain values, and the raw bytes of tensors."""

    header: dict[str, Any]
    frames: list[bytearray]


@dataclass(frozen=True)
class Loss:
    """The worker was lost: `kind` is deadline, died or protocol; `compiling` names the kernel in the compiler."""

    kind: str
    during: str
    detail: str
    compiling: str | None = None


@dataclass(frozen=True)
class Transcript:
    """All that a worker answered, as it stood when its process group had been killed; `calls` by index of the case.

    `last` is the index of the last case that was sent.
    """

    load: Answer | None
    calls: Mapping[int, Answer]
    last: int | None
    builds: Answer | None
    loss: Loss | None
    ending: Ending


@dataclass(frozen=True)
class Call:
    """One call to be made: the case, by its `index`, with what is asked of the worker besides (see `Session.call`)."""

    index: int
    case: Case
    keep: bool = False
    again: bool = False
    knock_out: Sequence[str] | None = None
    most_s: float | None = None
    """A deadline shorter than that of other calls."""

    def header(self, frames: list[memoryview]) -> dict[str, Any]:
        """As the worker reads it; the tensors' bytes are appended to `frames`."""
        return {
            "args": wire.pack(self.case.args, frames),
            "kwargs": wire.pack(dict(self.case.kwargs), frames),
            "keep": self.keep,
            "again": self.again,
            "knock_out": None if self.knock_out is None else list(self.knock_out),
        }


@dataclass(frozen=True)
class Setting:
    """How a worker runs a source: the byte in memory that nobody has written (None: whatever is there), whether
    launches are only interpreted, since they were compiled before, and whether gradients are enabled."""

    poison: int | None = 0xFF
    interprets_only: bool = False
    grad: bool = True


FIRST = Setting()


class _Lost(Exception):
    def __init__(self, loss: Loss) -> None:
        self.loss = loss


def converse_all(
    children: Sequence[Child],
    source: str,
    entries: Sequence[str],
    hands: Sequence[Sequence[Call]],
    limits: Limits,
    setting: Setting,
) -> list[Transcript]:
    """One hand of calls for each child, each in a conversation of its own, all at the same time."""
    with ThreadPoolExecutor(len(children)) as pool:
        futures = [
            pool.submit(converse, child, source, entries, hand, limits, setting)
            for child, hand in zip(children, hands, strict=True)
        ]
    return [future.result() for future in futures]


def converse(
    child: Child,
    source: str,
    entries: Sequence[str],
    hand: Sequence[Call],
    limits: Limits,
    setting: Setting = FIRST,
) -> Transcript:
    """Loads `source`, makes the calls in turn, asks for the compiled kernels, and ends the child.

    A call that ends in a compile error is the last one: it decides, and every further case would only repeat it.
    """
    load: Answer | None = None
    builds: Answer | None = None
    loss: Loss | None = None
    calls: dict[int, Answer] = {}
    last: int | None = None
    try:
        load = _ask(child, "load", {"source": source, "entries": list(entries), **asdict(setting)}, [], limits)
        if load.header.get("entry") is True:
            for call in hand:
                last = call.index
                frames: list[memoryview] = []
                header = call.header(frames)
                allowed = limits if call.most_s is None else replace(limits, call_s=min(call.most_s, limits.call_s))
                calls[last] = _ask(child, "call", header, frames, allowed)
                error = calls[last].header.get("error")
                if isinstance(error, dict) and error.get("kind") in COMPILE_ERRORS:
                    break
            builds = _ask(child, "builds", {}, [], limits)
    except _Lost as lost:
        loss = lost.loss
        if loss.kind != "died":
            child.kill()
    return Transcript(load, calls, last, builds, loss, child.end())


def _ask(child: Child, op: str, header: dict[str, Any], frames: list[memoryview], limits: Limits) -> Answer:
    allowed_s = limits.load_s if op == "load" else limits.call_s
    compiling: str | None = None
    deadline = time.monotonic() + allowed_s
    try:
        child.sock.settimeout(allowed_s)
        wire.send(child.sock, {"op": op, **header}, frames)
        while True:
            heard, body = wire.receive(child.sock, deadline=deadline, bytes_max=limits.answer_bytes_max)
            if heard.get("event") != "compiling":
                return Answer(heard, body)
            now = time.monotonic()
            kernel = heard.get("kernel")
            # the call's own clock stands still while a kernel is being compiled
            if isinstance(kernel, str) and compiling is None:
                allowed_s, deadline = deadline - now, now + limits.compile_s
            elif kernel is None and compiling is not None:
                deadline = now + allowed_s
            compiling = kernel[:200] if isinstance(kernel, str) else None
    except wire.DeadlinePassed:
        limit = limits.compile_s if compiling else limits.load_s if op == "load" else limits.call_s
        raise _Lost(Loss("deadline", op, f"{limit:g} s", compiling)) from None
    except TimeoutError:
        raise _Lost(Loss("deadline", op, "it did not take its input", compiling)) from None
    except (wire.Ended, OSError) as error:
        raise _Lost(Loss("died", op, str(error), compiling)) from None
    except wire.WireError as error:
        raise _Lost(Loss("protocol", op, str(error), compiling)) from None
