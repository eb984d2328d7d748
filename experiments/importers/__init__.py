"""Readers of other projects' kernels, one file a format; here is what they share.

A file that is no JSON is the user's mistake, one line. A record that is no source, or a broken line among others, is
left out, counted, and the import goes on.
"""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tasks.errors import UserError

T = TypeVar("T")
SHOWN = 5
# KernelBenchX and TritonBench write 146 of them between a source and its test; rulers in ordinary code are shorter
SEPARATOR = re.compile(r"^#{140,}", re.MULTILINE)


class LeftOut(ValueError):
    """Why a record is no source."""


def text_of(path: Path) -> str:
    """A file's text with Unix line ends: UTF-8 or UTF-16, with or without a mark, and Latin-1 if it is neither.

    Raises UserError when it can't be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}") from error
    marked = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return unix(text)


def unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def records_of(path: Path, left_out: Counter[str]) -> list[Any]:
    """The records in a file of JSON lines, or in one JSON list.

    A broken line is counted in `left_out`, under a text that names the first ones by number. Raises UserError for an
    empty file, a broken list, or lines that are broken one and all.
    """
    text = text_of(path)
    if text.lstrip().startswith("["):
        records = list(_json(path, 1, text))
    else:
        records, broken = _lines_of(path, text)
        if broken and not records:
            raise next(iter(broken.values()))
        if broken:
            numbers = f"{'line' if len(broken) == 1 else 'lines'} {first(list(map(str, broken)))}"
            left_out[f"broken JSON in {path.name}, {numbers}"] += len(broken)
    if not records:
        raise UserError(f"{path} is empty: no record to import")
    return records


def _lines_of(path: Path, text: str) -> tuple[list[Any], dict[int, UserError]]:
    """The records, and what is wrong with the other lines, by number."""
    records, broken = [], {}
    # not `splitlines`: that cuts at a line separator inside of a string too
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                records.append(_json(path, number, line))
            except UserError as error:
                broken[number] = error
    return records, broken


def first(texts: Sequence[str]) -> str:
    """The first SHOWN of them in a row, and how many more there are."""
    return ", ".join(texts[:SHOWN]) + (f", and {len(texts) - SHOWN} more" if len(texts) > SHOWN else "")


def files_in(path: Path, *patterns: str) -> list[Path]:
    """The file itself, or a folder's files of the first pattern that has any, by name. Raises UserError for none."""
    if not path.is_dir():
        return [path]
    for pattern in patterns:
        files = sorted(file for file in path.glob(pattern) if file.is_file())
        if files:
            return files
    raise UserError(f"no {' or '.join(patterns)} in {path}")


def kept(records: Iterable[Any], convert: Callable[[Mapping[str, Any]], T], left_out: Counter[str]) -> list[T]:
    """Every record converted; those for which `convert` raises LeftOut are counted by its text instead."""
    converted = []
    for record in records:
        if not isinstance(record, dict):
            left_out["not a JSON object"] += 1
            continue
        try:
            converted.append(convert(record))
        except LeftOut as reason:
            left_out[str(reason)] += 1
    return converted


def text_in(record: Mapping[str, Any], name: str) -> str:
    """A field that must hold text. Raises LeftOut."""
    value = record.get(name)
    if value is None:
        raise LeftOut(f"no {name!r}")
    if not isinstance(value, str):
        raise LeftOut(f"{name!r} is not text")
    return value


def number(value: Any) -> float | None:
    """A positive, finite number, also in text ("1.2", "1.2x"); None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value.strip().rstrip("x") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and found > 0 else None


def without_test(source: str) -> str | None:
    """A source without the test that some projects keep behind a line of '#'; None when nothing else is there."""
    found = SEPARATOR.search(source)
    own = source[: found.start()].strip("\n") if found else source
    return own.rstrip() + "\n" if own.strip() else None


def leads_out(path: Path, folder: Path) -> bool:
    """Whether a path in `folder` is a link, or behind one, to something elsewhere."""
    return not path.resolve().is_relative_to(folder.resolve())


def model_of(path: Path, model: str | None) -> str:
    """The model's name that was given, or else the file's or the folder's."""
    return model or (path.resolve().name if path.is_dir() else path.stem)


def _json(path: Path, line: int, text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}, line {line + error.lineno - 1}: broken JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:  # a number of too many digits, lists too deep
        raise UserError(f"{path}, line {line}: JSON that can't be read ({error})") from error
