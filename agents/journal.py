"""What a task's log already holds, handed back: the one mechanism behind resume and replay.

A method is run again from its start. Whatever it asks for that is recorded is given from the record, whatever it does
that is recorded is not written again, and what differs from the record is a divergence, found before it costs.
"""

from __future__ import annotations

import difflib
import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.log import Event, plain, sha_of
from tasks.outcomes import Status

Identity = tuple[Any, ...]
Write = Callable[[Event], None]
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
MOST_DIFF_LINES = 40


@dataclass(frozen=True)
class Divergence:
    """One place where a method and its log part: what the log has, and what the method did instead; None is nothing.

    `diff`, where both are a request, shows how the recorded one reads beside the one made now.
    """

    task: str
    recorded: str | None
    done: str | None
    diff: str = ""

    def __str__(self) -> str:
        return f"{self.task}: the log has {self.recorded or 'nothing more'}, the method now {self._now}"

    @property
    def _now(self) -> str:
        return f"comes to {self.done}" if self.done else "never comes to it"


class Diverged(BaseException):
    """Stops a method at a divergence. Not an Exception, so that no method goes on past it."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(str(divergence))
        self.divergence = divergence


def identity(event: Event) -> Identity:
    """Which event of a task it is, whatever its contents: a log holds one settled event of each identity."""
    kind = event["type"]
    match kind:
        case "text":
            return kind, event["sha"]
        case "reply":
            return kind, event["key"], event["n"]
        case "round":
            return kind, event["number"]
        case "request" | "evaluation" | "note" | "imported":
            return kind, event["index"]
        case _:
            return (kind,)


def settled(events: Iterable[Event]) -> dict[Identity, Event]:
    """What a log says in the end, by identity in order, without times.

    Left out is what a resumed run does again, ends that were not the end and verdicts that the machine failed to
    reach, and the marks of resuming itself.
    """
    kept: dict[Identity, Event] = {}
    for event in events:
        unfinished = event["type"] == "task_end" and event["state"] != "done"
        if event["type"] == "resume" or unfinished or _unjudged(event):
            continue
        kept[identity(event)] = {name: value for name, value in event.items() if name != "t"}
    return kept


def describe(event: Event) -> str:
    """An event in a few words, with its key."""
    match event["type"]:
        case "request":
            return f"request {event['index']} (key {event['key'][:12]}, occurrence {event['n']})"
        case "reply":
            return f"reply (key {event['key'][:12]}, occurrence {event['n']})"
        case "evaluation":
            where = f"round {event['round']}, lane {event['lane']}, parents {event['parents']}"
            return f"evaluation {event['index']} (key {event['source'][:12]}, occurrence {event['n']}, {where})"
        case _:
            data = {name: value for name, value in event.items() if name not in ("t", "type")}
            text = json.dumps(data)
            return f"{event['type']} {text if len(text) <= 120 else text[:117] + '...'}"


def printable(text: str) -> str:
    """`text` as it can go to a terminal: control characters and lone surrogates, which a model can send, as escapes."""
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def read_request(event: Event, texts: Mapping[str, str]) -> str:
    """A `request` event as people read it: its place and parameters, then each message under its role."""
    place = f"round {event['round']}, lane {event['lane']}, attempt {event['attempt']}"
    head = f"{place}, params {json.dumps(event['params'], sort_keys=True)}" if event["params"] else place
    messages = [f"[{message['role']}]\n{texts[message['text']]}" for message in event["messages"]]
    return printable("\n".join([head, *messages]))


def request_diff(recorded: Event, made: Event, texts: Mapping[str, str]) -> str:
    """A unified diff of two `request` events as they read, cut to MOST_DIFF_LINES; `texts` has both ones' by hash."""
    before, now = (read_request(event, texts).splitlines() for event in (recorded, made))
    lines = list(difflib.unified_diff(before, now, "recorded", "now", lineterm=""))
    if len(lines) > MOST_DIFF_LINES:
        lines[MOST_DIFF_LINES - 1 :] = [f"... {len(lines) - MOST_DIFF_LINES + 1} more lines"]
    return "\n".join(lines)


class Journal:
    """One task's record, as its context reads and extends it. Safe to use from several threads.

    `write` appends an event to the log, `sync` waits until it is on the disk. Without them, as in a replay, nothing new
    may happen.
    """

    def __init__(
        self, task: str, events: Sequence[Event], write: Write | None = None, sync: Callable[[], None] | None = None
    ) -> None:
        self._task = task
        self._recorded = settled(events)
        self._new: set[Identity] = set()
        self._reproduced: set[Identity] = set()
        self._write = write
        self._sync = sync
        self._lock = threading.Lock()
        self.ran_past_the_end = False
        """True once something was wanted that is not recorded, where nothing new may happen."""

    @property
    def live(self) -> bool:
        """Whether something new may happen."""
        return self._write is not None

    def record(self, event: Event, texts: Iterable[str] = (), *, durable: bool = False) -> None:
        """Write `event`, and those of `texts` that the log lacks before it; or check it against the record.

        Raises Diverged when the record has something else in this place, or ends before it and nothing new may happen.
        """
        event = plain(event)
        with self._lock:
            known = self._recorded.get(identity(event))
            if known is None:
                self._append(event, texts)
            elif known != event:
                raise Diverged(
                    Divergence(self._task, describe(known), describe(event), self._diff(known, event, texts))
                )
            else:
                self._reproduced.add(identity(event))
        # outside the lock, so that answers that come together wait for the disk together
        if durable and known is None and self._sync:
            self._sync()

    def answer(self, kind: str, question: Event) -> Event | None:
        """The recorded reply or evaluation that answers `question`, None when it is still to be had.

        Raises Diverged when the record answers another question in this place, or none and nothing new may happen.
        """
        question = plain({**question, "type": kind})
        with self._lock:
            known = self._recorded.get(identity(question))
            if known is None:
                if not self.live:
                    self._run_past_the_end(question)
                return None
            if any(known.get(name) != value for name, value in question.items()):
                raise Diverged(Divergence(self._task, describe(known), describe(question)))
            self._reproduced.add(identity(known))
            return known

    @property
    def reproduced(self) -> int:
        """How many recorded events the method has come to."""
        return len(self._reproduced)

    def text(self, sha: str) -> str:
        """A recorded text. Raises KeyError when the log lacks it."""
        text: str = self._recorded["text", sha]["text"]
        return text

    def never_reproduced(self) -> list[Divergence]:
        """The recorded events that the method has not come to; texts and the end of the task aside."""
        with self._lock:
            left = [
                event
                for name, event in self._recorded.items()
                if name not in self._reproduced and name not in self._new and event["type"] not in ("text", "task_end")
            ]
        return [Divergence(self._task, describe(event), None) for event in left]

    def _diff(self, recorded: Event, made: Event, texts: Iterable[str]) -> str:
        if made["type"] != "request":
            return ""
        known = {name[1]: event["text"] for name, event in self._recorded.items() if name[0] == "text"}
        return request_diff(recorded, made, known | {sha_of(text): text for text in texts})

    def _append(self, event: Event, texts: Iterable[str]) -> None:
        if self._write is None:
            self._run_past_the_end(event)
            return
        for text in texts:
            self._store({"type": "text", "sha": sha_of(text), "text": text})
        self._write(event)
        if not _unjudged(event):
            self._recorded[identity(event)] = event
            self._new.add(identity(event))

    def _store(self, text: Event) -> None:
        if identity(text) not in self._recorded:
            assert self._write
            self._write(text)
            self._recorded[identity(text)] = text

    def _run_past_the_end(self, event: Event) -> None:
        self.ran_past_the_end = True
        raise Diverged(Divergence(self._task, None, describe(event)))


def _unjudged(event: Event) -> bool:
    return event["type"] == "evaluation" and bool(event["evaluation"]["status"] == Status.INFRA_ERROR)
