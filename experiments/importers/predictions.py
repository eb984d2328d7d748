"""Predictions as KernelBenchX and TritonBench write them: `{"file": "Category/name.py", "predict": reply}` a line."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from agents.extract import code_of
from agents.imports import Foreign, Import
from experiments.importers import LeftOut, files_in, kept, model_of, records_of, text_in
from tasks.catalog import index
from tasks.parsing import parse


def read(path: Path, *, model: str | None = None) -> Import:
    """The predictions in a file, or in a folder of `.jsonl` files of one model: one lane a file, by name.

    A record without `file` belongs to the task whose entry function its source defines; left out if that is not
    exactly one. Lines that say of themselves that they come from a simulation make the import one. A reply without code
    is kept, as a source that is None. Raises UserError for a broken or empty file.
    """
    left_out: Counter[str] = Counter()
    files = files_in(path, "*.jsonl", "*.json")
    sources: list[Foreign] = []
    notices: list[str] = []
    for lane, file in enumerate(files):
        records = records_of(file, left_out)
        sources += kept(records, partial(_foreign, lane), left_out)
        notices += [str(one.get("notice")) for one in records if isinstance(one, dict) and one.get("simulated") is True]
    origin = {"format": "predictions", "files": [file.name for file in files]}
    return Import(sources, model_of(path, model), origin, left_out, next(iter(notices), None))


def _foreign(lane: int, record: Mapping[str, Any]) -> Foreign:
    source = code_of(text_in(record, "predict"))
    name = text_in(record, "file") if record.get("file") is not None else _task_of(source)
    return Foreign(name, source, lane=lane)


def _task_of(source: str | None) -> str:
    if source is None:
        raise LeftOut("no 'file', and no code to tell the task by")
    try:
        body = parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise LeftOut("no 'file', and the source does not parse") from error
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    tasks = [row.id for row in index().values() if row.entry in defined]
    if len(tasks) != 1:
        raise LeftOut(
            f"no 'file', and the source defines {'several entry functions' if tasks else 'no entry function'}"
        )
    return tasks[0]
