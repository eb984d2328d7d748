"""A plain folder of sources: `Category/name.py` or `name.py`, at any depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from agents.imports import Foreign, Import
from experiments.importers import SEPARATOR, leads_out, model_of, text_of, without_test
from tasks.catalog import index
from tasks.errors import UserError

SIMULATED = "# SIMULATION:"  # the first line of a source that was exported from a simulated run


def read(path: Path, *, model: str | None = None) -> Import:
    """One source a `.py` file, by path; a further file of the same name is the next lane. Hidden folders are not read.

    A link that leads out of the folder is left out and counted. What stands behind KernelBenchX's line of '#' is a test
    and is cut off. Raises UserError when there is no source.
    """
    if not path.is_dir():
        raise UserError(f"{path} is not a folder; sources are imported from a folder of name.py or Category/name.py")
    sources, lanes, left_out, tests_cut = [], Counter[str](), Counter[str](), 0
    notice: str | None = None
    for file in _seen(path):
        if leads_out(file, path):
            left_out["a link out of the folder"] += 1
            continue
        name, text = _name(file.relative_to(path)), text_of(file)
        sources.append(Foreign(name, without_test(text), lane=lanes[name]))
        lanes[name] += 1
        if text.startswith(SIMULATED):
            notice = notice or text.splitlines()[0].removeprefix("# ")
        tests_cut += bool(SEPARATOR.search(text))
    if not sources and not left_out:
        raise UserError(f"no .py file in {path}")
    origin = {"format": "folder", "files": len(sources), "tests_cut": tests_cut}
    return Import(sources, model_of(path, model), origin, left_out, notice)


def _seen(path: Path) -> Iterator[Path]:
    """The `.py` files, and the links to folders elsewhere, which are not gone into."""
    for found in sorted(path.rglob("*")):
        if any(part.startswith(".") for part in found.relative_to(path).parts):
            continue
        if (found.suffix == ".py" and found.is_file()) or (found.is_dir() and leads_out(found, path)):
            yield found


def _name(file: Path) -> str:
    """`Category/name.py` where the folder's name is a category, else `name.py`."""
    categories = {row.category for row in index().values()}
    return f"{file.parent.name}/{file.name}" if file.parent.name in categories else file.name
