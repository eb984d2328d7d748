"""One task's event log: append-only JSON lines, one writer a file. `LOG.md` describes every field."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from agents.lock import lock
from agents.upgrades import SCHEMA, upgraded
from tasks.errors import UserError

Event = dict[str, Any]
STARTS = ("task_start", "resume")


def sha_of(text: str) -> str:
    """The name of a text in a log: hex SHA-256 of its UTF-8. Lone surrogates, which a model can send, count too."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def plain(event: Event) -> Event:
    """`event` as it comes back from a log: lists for tuples, strings for enum members. Raises TypeError, ValueError."""
    restored: Event = json.loads(json.dumps(event))
    return restored


def read_task(path: Path) -> list[Event]:
    """The events in a task's log, oldest first; [] when there is no file yet.

    An unfinished last line, as a kill leaves it, is ignored. Raises UserError for any other broken line, with its
    number, and for a log of a newer schema.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}") from error
    return _parse(path, data)


def texts_of(events: list[Event]) -> dict[str, str]:
    """The texts of a log by their hash."""
    return {event["sha"]: event["text"] for event in events if event["type"] == "text"}


class LogWriter:
    """Appends to one task's log and holds its lock until closed.

    Opening cuts an unfinished last line off; `events` holds what was there. Each event is one write. Raises UserError
    when another process writes this log, when it is broken, or when it can't be written; after a write that failed,
    the file is as before it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise UserError(f"can't write {path}: {error.strerror}") from error
        try:
            self.events = self._take_over()
        except BaseException:
            os.close(self._file)
            raise

    def _take_over(self) -> list[Event]:
        lock(self._file, str(self.path))
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._file, whole)
        return _parse(self.path, data[:whole])

    def write(self, event: Event, *, durable: bool = False) -> None:
        """Append one event, stamped with the time; `durable` waits until it is on the disk."""
        line = json.dumps({"t": round(time.time(), 3), **event}, separators=(",", ":")).encode() + b"\n"
        try:
            with self._lock:
                self._append(line)
        except OSError as error:
            raise UserError(f"can't write {self.path}: {error.strerror}") from error
        if durable:
            self.sync()

    def sync(self) -> None:
        """Wait until all that was written is on the disk. Several threads may wait at once, and share the wait."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise UserError(f"can't write {self.path}: {error.strerror}") from error

    def _append(self, line: bytes) -> None:
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            while written < len(line):  # a full disk takes part of a line; the next write says why
                written += os.write(self._file, line[written:])
        except OSError:
            os.ftruncate(self._file, before)
            raise

    def close(self) -> None:
        """Release the lock. A second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _parse(path: Path, data: bytes) -> list[Event]:
    events: list[Event] = []
    lines = data.split(b"\n")[:-1]  # what follows the last newline is an unfinished line, or nothing
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)
            event["type"]
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(f"{path}, line {number}: not an event ({error}); the log is damaged there") from error
        events.append(event)
    if events:
        first = events[0]
        if first["type"] != "task_start" or not isinstance(first.get("schema"), int):
            raise UserError(f"{path}, line 1: not the start of a kernelmend log")
        newest = max(event.get("schema", 0) for event in events if event["type"] in STARTS)
        if newest > SCHEMA:
            raise UserError(f"{path} has log schema {newest}; this version reads up to {SCHEMA}")
    return upgraded(events)
