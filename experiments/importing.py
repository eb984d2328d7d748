"""Importing other projects' kernels as a run: the formats, telling them apart, and what is said of an import."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from agents.imports import Counts, Import, import_run
from agents.report_table import many
from experiments.importers import corpus, files_in, first, folder, geak, leads_out, predictions, records_of
from tasks.errors import UserError, unknown


class Reader(Protocol):
    """What every format's file has as `read`."""

    def __call__(self, path: Path, *, model: str | None = None) -> Import: ...


FORMATS: Mapping[str, Reader] = {
    "predictions": predictions.read,
    "corpus": corpus.read,
    "geak": geak.read,
    "folder": folder.read,
}


def detect(path: Path) -> str:
    """The format of a file or folder, by what is in it. Raises UserError when that can't be told."""
    choices = f"name one of {', '.join(FORMATS)}"
    if path.is_dir():
        records = any(path.glob("*.jsonl")) or any(path.glob("*.json"))
        if records and any(path.rglob("*.py")):
            raise UserError(f"{path} holds records and sources, so its format can't be told; {choices}")
        if not records:
            return "folder"
    elif path.suffix == ".py":
        raise UserError(f"{path} is one source; import the folder that it lies in")
    files = [file for file in files_in(path, "*.jsonl", "*.json") if not geak.MEMORY.search(file.stem)]
    found = {_format_of(file) for file in files}
    if len(found) != 1 or None in found:
        raise UserError(f"can't tell the format of {path} by its fields; {choices}")
    return str(found.pop())


def read(format: str, path: Path, model: str | None) -> Import:
    """What `path` holds, read as `format`, or as what it looks like ("auto"); `sha` in its origin names the bytes.

    Raises UserError for an unknown format, an input that can't be read, or nothing to import.
    """
    if not path.exists():
        raise UserError(f"no file or folder {str(path)!r}")
    if format == "auto":
        format = detect(path)
    if format not in FORMATS:
        raise unknown("format", format, (*FORMATS, "auto"))
    found = FORMATS[format](path, model=model)
    if not found.sources:
        raise UserError(f"nothing to import from {path} as {format}; left out: {_counted(found.left_out)}")
    return replace(found, origin={**found.origin, "sha": fingerprint(path)})


def fingerprint(path: Path) -> str:
    """A hash of a file's bytes, or of the names and bytes of all files in a folder: what an import came from.

    Without sources that a link leads to elsewhere, which are not imported. Raises UserError for a file that can't be
    read.
    """
    digest = hashlib.sha256()
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    for file in files:
        if file.suffix == ".py" and leads_out(file, path):
            continue
        try:
            data = file.read_bytes()
        except OSError as error:
            raise UserError(f"can't read {file}: {error.strerror}") from error
        digest.update(file.relative_to(path).as_posix().encode() + b"\0" + data + b"\0")
    return digest.hexdigest()


def import_(format: str, path: Path, out: Path | None, model: str | None) -> int:
    """Imports `path` as a run in `out` (default: a new folder in `experiments/runs`) and says what became of it.

    Returns exit code 0. Raises UserError for an unknown format, an input that can't be read, or nothing to import.
    """
    found = read(format, path, model)
    run, counts = import_run(out, found)
    print(
        f"imported {_sources(counts.sources)} for {counts.tasks} of the suite's tasks, "
        f"{many(run.rounds, 'round')}, model {run.config.model}"
    )
    for line in notes(found, counts):
        print(line)
    place = shlex.quote(str(run.path))
    print(f"run: {run.path}")
    print(f"next: python -m experiments table {place}")
    print(f"      python -m experiments score {place}")
    return 0


def notes(found: Import, counts: Counts) -> Iterable[str]:
    """What is worth a line about an import: tasks that are not built or have moved, and what was left out."""
    waiting = len(counts.not_built)
    yield f"built: {counts.tasks - waiting} of these tasks can be scored" + (
        f", {waiting} still without a task file" if waiting else ""
    )
    if counts.moved:
        pairs = [f"{name} is {task}" for name, task in counts.moved.items()]
        yield f"moved: {len(pairs)} under another category here: {first(pairs)}"
    if counts.unknown:
        total = sum(counts.unknown.values())
        yield f"unknown: {_sources(total)} for names that the suite does not have: {_counted(counts.unknown)}"
    if counts.left_out:
        yield f"left out: {_counted(counts.left_out)}"
    lost = found.origin.get("lost_newlines")
    if lost:
        yield f"damaged: {_sources(lost)} lost their newlines at the origin and can't parse"


def _format_of(file: Path) -> str | None:
    records = records_of(file, Counter())
    formats = (_format_of_record(record) for record in records if isinstance(record, dict))
    return next((name for name in formats if name), None)


def _format_of_record(record: Mapping[str, Any]) -> str | None:
    if {"task_id", "before_code", "after_code"} <= record.keys():
        return "corpus"
    if "filename" in record or {"file", "label"} <= record.keys():
        return "geak"
    return "predictions" if "predict" in record else None


def _counted(counts: Mapping[str, int]) -> str:
    return first([f"{name} ({count})" for name, count in sorted(counts.items(), key=lambda one: -one[1])])


def _sources(count: int) -> str:
    return many(count, "source")
