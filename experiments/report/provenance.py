"""Who made the runs, when, with what, who judged them, and what must be said before any figure of theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.cells import Cell
from experiments.report.tables import NONE, UNKNOWN, Table

COLUMNS = ("run", "what", "when (UTC)", "state", "verdicts", "versions", "judged on", "fences")
IMPORTED = {
    True: "IMPORTED: verdicts and speedups as the origin recorded them, not measured here.",
    False: "IMPORTED: sources from elsewhere with this project's own verdicts. What they cost is unknown.",
}

UNFINISHED = "UNFINISHED: what is recorded so far. A task without a correct kernel counts as failing."


def notices(cells: Sequence[Cell]) -> list[str]:
    """The sentences that go above all figures: simulated runs, imports and whose verdicts they are."""
    said = Counter(cell.run.simulation_notice for cell in cells if cell.run.simulation_notice)
    said.update(UNFINISHED for cell in cells if not cell.run.imported and cell.run.record["state"] != "done")
    said.update(IMPORTED[cell.recorded] for cell in cells if cell.run.imported)
    total = len(cells)
    return [str(words) if count == total else f"{count} of {total} runs: {words}" for words, count in said.items()]


def provenance(cells: Sequence[Cell]) -> Table:
    """A row for each run."""
    return Table("Where the runs come from", COLUMNS, tuple(map(_row, cells)), left=len(COLUMNS))


def _row(cell: Cell) -> tuple[str, ...]:
    record = cell.run.record
    judge: Mapping[str, Any] = (record.get("scored") or {}).get("evaluator") or record.get("evaluator") or {}
    mark = ", SIMULATION" if cell.simulated else ""
    return (
        cell.label,
        _what(cell),
        f"{_time(record.get('started')) or UNKNOWN} to {_time(record.get('ended')) or 'no end recorded'}",
        f"{record.get('state', UNKNOWN)}{mark}",
        _whose(cell),
        _versions(record, judge),
        UNKNOWN if cell.recorded else _judged_on(judge),
        NONE if cell.recorded else ", ".join(judge.get("assurance") or ("none recorded",)),
    )


def _whose(cell: Cell) -> str:
    if cell.recorded:
        return "the origin's"
    judged = (cell.run.record.get("scored") or {}).get("tasks", cell.tasks)
    return "own" if len(judged) == len(cell.tasks) else f"own, of {len(judged)} of {len(cell.tasks)} tasks"


def _time(stamp: str | None) -> str:
    return (stamp or "").replace("T", " ").removesuffix("Z")


def _what(cell: Cell) -> str:
    origin: Mapping[str, Any] = cell.run.record.get("origin") or {}
    if origin:
        return f"imported from {', '.join(origin.get('files', ())) or 'elsewhere'} ({origin.get('format', UNKNOWN)})"
    options = [f"{name} {value}" for name, value in cell.run.config.method_options.items()]
    return ", ".join([f"method {cell.method}", f"model {cell.model}", f"seed {cell.seed}", *options])


def _versions(record: Mapping[str, Any], judge: Mapping[str, Any]) -> str:
    """Of what made the run; of an import, which has none of its own, those that judged it."""
    packages: Mapping[str, Any] = record.get("versions") or {}
    told = [f"{name} {packages[name]}" for name in ("kernelmend", "python") if packages.get(name)]
    for name in ("torch", "triton"):
        version = judge.get(name) or packages.get(name)
        told += [f"{name} {version}"] if version else []
    commit = (record.get("git") or {}).get("commit")
    return ", ".join([*told, f"commit {commit[:10]}"] if commit else told) or UNKNOWN


def _judged_on(judge: Mapping[str, Any]) -> str:
    if not judge.get("device"):
        return UNKNOWN
    return f"{judge['device']}, targets {', '.join(judge.get('targets') or (UNKNOWN,))}"
