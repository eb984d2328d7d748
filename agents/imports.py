"""Other people's kernels as a run of ours: the same folder and log, with `imported` events in place of replies."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.config import RunConfig
from agents.log import Event, LogWriter, sha_of
from agents.newrun import amend, create_run, held
from agents.runfolder import Run
from agents.upgrades import SCHEMA
from agents.verdicts import Recorded
from tasks.catalog import built, find
from tasks.errors import UserError

METHOD = "imported"


@dataclass(frozen=True)
class Foreign:
    """One source from elsewhere. `task` is the origin's name for it, `round` counts from 1, `source` None where the
    origin's text held no code; `recorded` is the origin's verdict, None where it gave none."""

    task: str
    source: str | None
    round: int = 1
    lane: int = 0
    recorded: Recorded | None = None


@dataclass(frozen=True)
class Import:
    """What a reader found: sources in the origin's order, the model and the files that they come from, how many entries
    it had to leave out, by reason, and what they say of a simulation that they come from."""

    sources: Sequence[Foreign]
    model: str
    origin: Mapping[str, Any]
    left_out: Mapping[str, int] = field(default_factory=dict)
    notice: str | None = None


@dataclass(frozen=True)
class Counts:
    """What became of an import: sources kept, their tasks, those not built yet, sources of unknown tasks by name."""

    sources: int
    tasks: int
    not_built: tuple[str, ...]
    moved: Mapping[str, str]
    unknown: Mapping[str, int]
    left_out: Mapping[str, int]


def import_run(folder: Path | None, found: Import) -> tuple[Run, Counts]:
    """Writes an import into a new run folder (default: a new one in `experiments/runs`). Needs no torch.

    A task is found by its id, or by its base name when its category has moved; unknown ones are skipped and counted.
    Raises UserError when nothing is left, or the folder can't be used.
    """
    _check_empty(folder)
    by_task, counts = _sorted_out(found)
    if not by_task:
        unknown = ", ".join(list(counts.unknown)[:3])
        raise UserError(
            f"nothing to import: no source for a task of the suite{f' (unknown: {unknown})' if unknown else ''}"
        )
    rounds = max(source.round for sources in by_task.values() for source in sources)
    run = create_run(
        folder,
        RunConfig(METHOD, found.model, rounds, tuple(by_task)),
        list(by_task),
        secret=secrets.token_bytes(32),
        method=METHOD,
        rounds=rounds,
        simulated=found.notice is not None,
        notice=found.notice,
        origin={
            **found.origin,
            "unknown": dict(counts.unknown),
            "moved": dict(counts.moved),
            "left_out": dict(counts.left_out),
        },
    )
    with held(run):
        for task, sources in by_task.items():
            with closing(LogWriter(run.log_path(task))) as log:
                for event in events_of(task, found.model, sources):
                    log.write(event)
                log.sync()
        return amend(run, state="imported"), counts


def _check_empty(folder: Path | None) -> None:
    """Raises UserError for a folder that holds something: an import is never gone on with."""
    if folder is None or not folder.is_dir():
        return
    try:
        used = any(folder.iterdir())
    except OSError as error:
        raise UserError(f"can't use {folder}: {error.strerror}") from error
    if used:
        known = (folder / "run.json").is_file()
        judge = f"; to judge an import that is there: python -m experiments score {folder}" if known else ""
        raise UserError(f"{folder} is not empty; name a new folder by --out{judge}")


def events_of(task: str, model: str, sources: Iterable[Foreign]) -> Iterable[Event]:
    """The events of one task's log, without times: texts before the first event that refers to them."""
    yield {"type": "task_start", "schema": SCHEMA, "task": task, "method": METHOD, "model": model}
    seen: Counter[str] = Counter()
    for index, foreign in enumerate(sources):
        source = foreign.source or ""
        sha = sha_of(source)
        if not seen[sha]:
            yield {"type": "text", "sha": sha, "text": source}
        yield {
            "type": "imported",
            "index": index,
            "n": seen[sha],
            "round": foreign.round,
            "lane": foreign.lane,
            "parents": [],
            "source": sha,
            "recorded": foreign.recorded.to_json() if foreign.recorded else None,
        }
        seen[sha] += 1


def _sorted_out(found: Import) -> tuple[dict[str, list[Foreign]], Counts]:
    by_task: dict[str, list[Foreign]] = {}
    unknown: Counter[str] = Counter()
    moved: dict[str, str] = {}
    for foreign in found.sources:
        task = find(foreign.task)
        if task is None:
            unknown[foreign.task] += 1
            continue
        if "/" in foreign.task and foreign.task.removesuffix(".py") != task:
            moved[foreign.task] = task
        by_task.setdefault(task, []).append(foreign)
    ready = set(built())
    counts = Counts(
        sources=sum(map(len, by_task.values())),
        tasks=len(by_task),
        not_built=tuple(task for task in by_task if task not in ready),
        moved=moved,
        unknown=dict(unknown),
        left_out=dict(found.left_out),
    )
    # stable: the origin's order within a round
    return {task: sorted(by_task[task], key=lambda one: one.round) for task in sorted(by_task)}, counts
