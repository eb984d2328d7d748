"""A run for other programs: tables as CSV or JSON, and the best kernels as predictions or as a folder of files."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any

from agents.accounts import account_of
from agents.efficiency import Mean
from agents.log import Event
from agents.ranking import best
from agents.report_table import many
from agents.runfolder import ImportedSource, LoggedCandidate, Run, candidates_of, imported_of
from agents.tracker import SOLVED, RoundAccount, State, View
from tasks.errors import UserError, unknown

Row = dict[str, Any]

PLACE = ("task", "category", "index", "round", "lane", "parents", "source_sha")
# fields of the evaluation, by their own names
VERDICT = ("status", "stage", "reason", "compiled", "called", "numerically_right", "correct", "traffic", "speedup")
TIMES = ("compile_s", "run_s", "total_s")
RECORDED = ("compiled", "called", "correct", "speedup")
CANDIDATE_COLUMNS = (
    *PLACE,
    *VERDICT,
    "launches",
    "public_right",
    "device",
    *(f"recorded_{name}" for name in RECORDED),
    *TIMES,
    "diagnosis",
)
RATES = ("compile_rate", "call_rate", "correct_rate")
FIGURES = ("speedup", "traffic")
MEAN = ("n", "geometric", "arithmetic", "low", "high")
# of the round, so the same in the rows of both views
TAKEN = ("submitted", "not_interpretable", "infra", "replies", "input_tokens", "output_tokens", "usd")
ROUND_COLUMNS = (
    *("round", "view", "recorded", "tasks", *RATES, "newly_compiling", "slower_than_eager"),
    *(f"{state}_tasks" for state in State),
    *("_".join(parts) for parts in product(SOLVED, FIGURES, MEAN)),
    *TAKEN,
)
TABLES = {"candidates": CANDIDATE_COLUMNS, "rounds": ROUND_COLUMNS}
EXPORTS = (*TABLES, "predictions", "sources")
FORMATS = ("csv", "json")
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(
    run: Run,
    what: str,
    out: Path | None,
    *,
    fmt: str | None = None,
    recorded: bool = False,
    correct_only: bool = False,
) -> int:
    """Writes `candidates`, `rounds`, `predictions` or `sources` of a run, finished or not. Returns exit code 0.

    `out` is a new file, None for standard output; for `sources` a new or empty folder. `fmt` (csv, json) is for the
    two tables, by default what `out` is called, csv on standard output. With `recorded` an import's own origin is the
    judge (candidates show both verdicts anyway). `correct_only` is for predictions. What is left out, and that a run
    is simulated, goes to standard error. Raises UserError for a mistake in these, and when `out` exists.
    """
    if what not in EXPORTS:
        raise unknown("export", what, EXPORTS)
    if recorded and not run.imported:
        raise UserError(f"{run.path.name} is not an import: it has no recorded verdicts")
    if correct_only and what != "predictions":
        raise UserError(f"only predictions can be limited to correct ones, not {what}")
    form = _format(what, out, fmt)
    _refuse(out, folder=what == "sources")
    if what in TABLES:
        rows = round_rows(run, recorded) if what == "rounds" else candidate_rows(run)
        _put(out, _table(run, what, rows, form))
    elif what == "predictions":
        _put(out, _predictions(run, recorded, correct_only))
    elif out is not None:
        _sources(run, out, recorded)
    if run.simulation_notice:
        print(run.simulation_notice, file=sys.stderr)
    return 0


def candidate_rows(run: Run) -> Iterator[Row]:
    """A row for each candidate and each imported source, by task and index; columns in `CANDIDATE_COLUMNS`.

    `launches` is the sum over the cases, `public_right` whether the values of all public cases were compared and right,
    however they came about; both are None where there was no case. An imported source that was not judged here has no
    verdict; one without a verdict of its origin has no recorded one.
    """
    for task in run.tasks:
        events = run.events(task)
        judged = {one.index: one for one in candidates_of(task, events)}
        imported = {one.index: one for one in imported_of(task, events)}
        for index in sorted(judged.keys() | imported.keys()):
            yield _candidate_row(task, judged.get(index), imported.get(index))


def round_rows(run: Run, recorded: bool = False) -> Iterator[Row]:
    """Two rows for each round, views `own` and `best`; names and meanings as in `agents.tracker`.

    `tasks` is the denominator of the rates. Only states with correct kernels have means; a mean of nothing has no n
    either. What an import cost is unknown. Raises UserError as `account_of` does.
    """
    account = account_of(run, recorded=recorded)
    for one in account.rounds:
        for name, view in (("own", one.own), ("best", one.best)):
            yield {
                **{"round": one.number, "view": name, "recorded": recorded, "tasks": len(account.tasks)},
                **_view_cells(view),
                **_taken_cells(one, run.imported),
            }


def best_kernels(run: Run, recorded: bool = False) -> Iterator[tuple[str, LoggedCandidate | None]]:
    """Each task with its best candidate that has code, by `agents.ranking`; None without one that was judged."""
    for task in run.tasks:
        events = run.events(task)
        judged = _recorded_candidates(task, events) if recorded else candidates_of(task, events)
        yield task, best(one for one in judged if one.source)


def _candidate_row(task: str, own: LoggedCandidate | None, imported: ImportedSource | None) -> Row:
    row: Row = dict.fromkeys(CANDIDATE_COLUMNS)
    row |= {"task": task, "category": task.rpartition("/")[0]}
    if imported:
        row |= {name: imported.place[name] for name in ("index", "round", "lane", "parents")}
        row["source_sha"] = imported.place["source"]
        if imported.recorded:
            row |= {f"recorded_{name}": getattr(imported.recorded, name) for name in RECORDED}
    if own:
        row |= {name: getattr(own, name) for name in ("index", "round", "lane", "source_sha")}
        verdict = own.evaluation
        row |= {name: getattr(verdict, name) for name in (*VERDICT, "device", *TIMES)}
        row["parents"] = list(own.parents)
        row["launches"] = sum(case.launches for case in verdict.cases) if verdict.cases else None
        shown = [case.right for case in verdict.cases if case.kind == "public"]
        row["public_right"] = all(right is True for right in shown) if shown else None
        row["diagnosis"] = next(iter(verdict.diagnosis.splitlines()), "")
    return row


def _view_cells(view: View) -> Row:
    cells: Row = {name: getattr(view, name) for name in (*RATES, "newly_compiling", "slower_than_eager")}
    cells |= {f"{state}_tasks": view.groups[state].tasks for state in State}
    if view.newly_compiling is not None:  # a task is called correct in the first round only
        cells[f"{State.CORRECT}_tasks"] = None
    for state, figure in product(SOLVED, FIGURES):
        mean: Mean | None = getattr(view.groups[state], figure)
        cells |= {f"{state}_{figure}_{name}": getattr(mean, name) if mean else None for name in MEAN}
    return cells


def _taken_cells(one: RoundAccount, imported: bool) -> Row:
    counts = {"submitted": one.submitted, "not_interpretable": one.not_interpretable, "infra": one.infra}
    names = ("replies", "input_tokens", "output_tokens", "usd")
    return counts | {name: None if imported else getattr(one.spending, name) for name in names}


def _recorded_candidates(task: str, events: list[Event]) -> list[LoggedCandidate]:
    found: list[LoggedCandidate] = []
    for one in imported_of(task, events):
        if one.recorded:
            sha, lane, parents = (one.place[name] for name in ("source", "lane", "parents"))
            verdict = one.recorded.evaluation(task, sha)
            found.append(LoggedCandidate(task, one.index, one.round, lane, tuple(parents), sha, verdict, one.source))
    return found


def _table(run: Run, what: str, rows: Iterable[Row], form: str) -> bytes:
    known = [{name: _known(value) for name, value in row.items()} for row in rows]
    if form == "json":
        about = {"run": run.path.name, "method": run.record["method"], "model": run.config.model, **_mark(run)}
        return (json.dumps({**about, "rows": known}, indent=1, allow_nan=False) + "\n").encode()
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, (*TABLES[what], "simulated"), lineterminator="\n")
    writer.writeheader()
    for row in known:
        writer.writerow({name: _cell(value) for name, value in row.items()} | {"simulated": run.simulated})
    return text.getvalue().encode("utf-8", "backslashreplace")


def _predictions(run: Run, recorded: bool, correct_only: bool) -> bytes:
    # of a simulated run, each line says so; the others have nothing but what the format names
    mark = _mark(run) if run.simulated else {}
    lines = [
        json.dumps({"file": f"{task}.py", "predict": kernel.source, **mark}) + "\n"
        for task, kernel in _kept(run, recorded, correct_only)
    ]
    return "".join(lines).encode()


def _sources(run: Run, out: Path, recorded: bool) -> None:
    head = f"# {run.simulation_notice}\n" if run.simulation_notice else ""
    kept = list(_kept(run, recorded, correct_only=True))  # a damaged log is told before anything is written
    with _told(out):
        out.mkdir(parents=True, exist_ok=True)
    for task, kernel in kept:
        path = out / f"{task}.py"
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        _put(path, (head + kernel.source).encode("utf-8", "backslashreplace"))


def _kept(run: Run, recorded: bool, correct_only: bool) -> Iterator[tuple[str, LoggedCandidate]]:
    missing = failed = 0
    for task, kernel in best_kernels(run, recorded):
        if kernel is None:
            missing += 1
        elif correct_only and not kernel.correct:
            failed += 1
        else:
            yield task, kernel
    counts = {"without a judged kernel": missing, "without a correct one": failed}
    left_out = ", ".join(f"{count} {why}" for why, count in counts.items() if count)
    if left_out:
        print(f"left out, of {many(len(run.tasks), 'task')}: {left_out}", file=sys.stderr)


def _mark(run: Run) -> Row:
    return {"simulated": run.simulated, "notice": run.simulation_notice}


def _known(value: Any) -> Any:
    """None for what is no number, which JSON can't hold."""
    return None if isinstance(value, float) and not isfinite(value) else value


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return " ".join(map(str, value))
    # a spreadsheet would run a text that begins so: diagnoses quote what candidates raise
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _format(what: str, out: Path | None, fmt: str | None) -> str:
    if what not in TABLES:
        if fmt:
            raise UserError(f"{what} have one format; there is none to choose")
        return ""
    form = fmt or (out.suffix.lower().removeprefix(".") if out else "csv")
    if form not in FORMATS:
        raise UserError(f"no format {form!r}: it is csv or json; end the file's name so, or name the format")
    return form


def _refuse(out: Path | None, folder: bool) -> None:
    if out is None:
        if folder:
            raise UserError("sources go into a folder; name a new or empty one")
        return
    if folder and out.is_dir():
        with _told(out):
            used = any(out.iterdir())
        if used:
            raise UserError(f"{out} is not empty; name another folder")
    elif os.path.lexists(out):
        raise UserError(f"{out} exists; name another {'folder' if folder else 'file'}")


def _put(out: Path | None, data: bytes) -> None:
    """To standard output, or as a whole into a new file, so that a kill leaves all of it or nothing."""
    if out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    fresh = out.with_name(f".{out.name}.{os.getpid()}.new")
    with _told(out):
        try:
            with fresh.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, out)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"can't use {path}: {error.strerror}") from error
