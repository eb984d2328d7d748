"""The event corpus of KernelBenchX: what each round of a GEAK run changed, with status, timing and code around it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.imports import Foreign, Import
from agents.verdicts import Recorded
from experiments.importers import LeftOut, kept, model_of, number, records_of, text_in, unix, without_test
from tasks.parsing import parse

ROUND = re.compile(r"round_(\d{1,4})")
LONG_LINE = 500


@dataclass(frozen=True)
class State:
    """A task's source and what the corpus said of it."""

    source: str | None
    recorded: Recorded


@dataclass(frozen=True)
class Change:
    """One record; rounds are ours, counted from 1."""

    task: str
    from_round: int
    to_round: int
    before: State
    after: State


def read(path: Path, *, model: str | None = None) -> Import:
    """The states that a file of events tells of, each once.

    Only changes were recorded, so the first state of a task is what it had since round 1, whenever it changed. A state
    is not repeated when the next change begins with it. The origin counts, as `lost_newlines`, the sources whose lines
    the corpus has run together; they are kept as they are. Raises UserError for a broken or empty file.
    """
    left_out: Counter[str] = Counter()
    changes = kept(records_of(path, left_out), _change, left_out)
    sources: list[Foreign] = []
    latest: dict[str, State] = {}
    for change in sorted(changes, key=lambda one: one.from_round):
        task, before, after = change.task, change.before, change.after
        if latest.get(task) != before:
            since = change.from_round if task in latest else 1
            sources.append(Foreign(task, before.source, since, recorded=before.recorded))
        sources.append(Foreign(task, after.source, change.to_round, recorded=after.recorded))
        latest[task] = after
    lost = sum(_lost_newlines(one.source) for one in sources if one.source)
    origin = {"format": "corpus", "files": [path.name], "lost_newlines": lost}
    return Import(sources, model_of(path, model), origin, left_out)


def _change(record: Mapping[str, Any]) -> Change:
    return Change(
        text_in(record, "task_id"),
        _round(record, "from_round"),
        _round(record, "to_round"),
        _state(record, "before"),
        _state(record, "after"),
    )


def _round(record: Mapping[str, Any], name: str) -> int:
    found = ROUND.fullmatch(text_in(record, name))
    if not found:
        raise LeftOut(f"{name!r} is not of the form round_0")
    return int(found[1]) + 1


def _state(record: Mapping[str, Any], side: str) -> State:
    said = record.get(side)
    if not isinstance(said, dict) or not all(isinstance(said.get(name), bool) for name in ("call_ok", "exe_ok")):
        raise LeftOut(f"no call_ok and exe_ok in {side!r}")
    error = said.get("error")
    recorded = Recorded(
        compiled=True if said["call_ok"] else None,
        called=said["call_ok"],
        correct=said["exe_ok"],
        speedup=number(said.get("speedup")),
        runtime_ms=number(said.get("runtime_ms")),
        error=error if isinstance(error, str) else "",
    )
    return State(without_test(unix(text_in(record, f"{side}_code"))), recorded)


def _lost_newlines(source: str) -> bool:
    if max(map(len, source.split("\n"))) < LONG_LINE:
        return False
    try:
        parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return False
