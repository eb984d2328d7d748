"""GEAK's result files, one an iteration: `{"filename", "label", "instruction", "predict", "speedup"}` a record."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from agents.extract import code_of
from agents.imports import Foreign, Import
from agents.verdicts import Recorded
from experiments.importers import files_in, kept, model_of, number, records_of, text_in
from tasks.errors import UserError

MEMORY = re.compile(r"_mem(_\d+)?$")
FLAGS = {"true": True, "false": False}


def read(path: Path, *, model: str | None = None) -> Import:
    """The predictions in a result file, or in a folder of them: one round a file, by the last number in its name.

    The earliest file is round 1. A record without a prediction is kept, as a source that is None: GEAK writes it so
    when it has no code. Raises UserError for a broken or empty file, and for a folder whose order can't be told.
    """
    left_out: Counter[str] = Counter()
    files = _rounds([file for file in files_in(path, "*.jsonl", "*.json") if not MEMORY.search(file.stem)], path)
    sources: list[Foreign] = []
    for round_, file in files.items():
        sources += kept(records_of(file, left_out), partial(_foreign, round_), left_out)
    origin = {"format": "geak", "files": [file.name for file in files.values()]}
    return Import(sources, model_of(path, model), origin, left_out)


def _rounds(files: list[Path], path: Path) -> dict[int, Path]:
    if not files:
        raise UserError(f"no result file in {path}, only GEAK's memories")
    if len(files) == 1:
        return {1: files[0]}
    by_number: dict[int, Path] = {}
    for file in files:
        numbers = re.findall(r"\d+", file.stem)
        if not numbers:
            raise UserError(f"can't tell the iteration of {file}: no number in its name")
        other = by_number.setdefault(int(numbers[-1]), file)
        if other != file:
            raise UserError(f"{other} and {file.name} are of the same iteration; a folder must hold one run")
    return {key - min(by_number) + 1: by_number[key] for key in sorted(by_number)}


def _foreign(round_: int, record: Mapping[str, Any]) -> Foreign:
    name = text_in(record, "file" if record.get("filename") is None and "file" in record else "filename")
    text = text_in(record, "predict") if record.get("predict") is not None else ""
    return Foreign(name, code_of(text), round_, recorded=_recorded(record))


def _recorded(record: Mapping[str, Any]) -> Recorded | None:
    """What the record says, if it does. GEAK times nothing but what passed, so a speedup alone means correct."""
    speedup = number(record.get("speedup"))
    called, correct = (_flag(record.get(name)) for name in ("pass_call", "pass_exe"))
    if called is None and correct is None:
        return Recorded(True, True, True, speedup) if speedup else None
    called = bool(called or correct)
    return Recorded(True if called else None, called, correct, speedup if correct else None)


def _flag(value: Any) -> bool | None:
    return FLAGS.get(str(value).lower())
