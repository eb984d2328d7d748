"""Finding tasks: the index of all 176, the files that are built, selections, and a user's own task files.

Importing this module imports neither torch nor any task file, so that listings answer at once.
"""

from __future__ import annotations

import csv
import fnmatch
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.errors import UserError, unknown

if TYPE_CHECKING:
    from tasks.task import Task

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One line of `index.csv`: what is known of a task whether or not its file exists."""

    id: str
    entry: str
    difficulty: int
    in_dtypes: str
    out_dtypes: str
    stochastic: bool
    signature: str
    summary: str

    @property
    def category(self) -> str:
        return self.id.split("/")[0]

    @property
    def built(self) -> bool:
        return (HERE / f"{self.id}.py").exists()


@cache
def index() -> dict[str, Row]:
    """All 176 tasks by id."""
    with (HERE / "index.csv").open(newline="") as file:
        return {
            line["id"]: Row(
                line["id"],
                line["entry"],
                int(line["difficulty"]),
                line["in_dtypes"],
                line["out_dtypes"],
                line["stochastic"] == "yes",
                line["signature"],
                line["summary"],
            )
            for line in csv.DictReader(file)
        }


def built() -> list[str]:
    """Ids of the tasks that have a file, in the index's order."""
    return [row.id for row in index().values() if row.built]


def find(name: str) -> str | None:
    """The id that another project's name for a task stands for, built or not: the same id, or the only one of that base
    name when the category has moved. None when the suite has no such task. A `.py` at the end is not read."""
    name = name.removesuffix(".py")
    if name in index():
        return name
    same = [known for known in index() if known.rpartition("/")[2] == name.rpartition("/")[2]]
    return same[0] if len(same) == 1 else None


def select(patterns: Sequence[str]) -> list[str]:
    """Ids (and paths of task files) that `patterns` name; no pattern means every built task.

    A pattern is an id, a base name, a category, a glob over ids, or the path of a `.py` file. Categories and
    globs take the built tasks only. Raises UserError for a pattern that names nothing and for an id that is not built.
    """
    if not patterns:
        return built()
    chosen: list[str] = []
    for pattern in patterns:
        chosen += [name for name in _matches(pattern) if name not in chosen]
    return chosen


def load(name: str) -> Task:
    """The task with this id, or in this file. Raises UserError."""
    if name.endswith(".py"):
        return _load_file(Path(name))
    if name not in index():
        raise unknown("task", name, index())
    if not index()[name].built:
        raise UserError(f"task {name} is not built yet; `python -m tasks list` shows which are")
    task: Task = importlib.import_module(f"tasks.{name.replace('/', '.')}").TASK
    return task


def oracle_path(name: str) -> Path:
    """Where the oracle of a built task lies. Workers can't read it, and no real model ever sees it."""
    return HERE / "oracles" / f"{name}.py"


def _matches(pattern: str) -> Iterable[str]:
    if pattern.endswith(".py"):
        if not Path(pattern).is_file():
            raise UserError(f"no task file {pattern!r}")
        return [pattern]
    rows = index()
    if pattern in rows:
        ids = [pattern]
    elif any(c in pattern for c in "*?["):
        ids = [name for name in built() if fnmatch.fnmatchcase(name, pattern)]
        if not ids and any(fnmatch.fnmatchcase(name, pattern) for name in rows):
            raise UserError(f"no task that matches {pattern!r} is built yet; `python -m tasks list` shows which are")
        if not ids:
            raise UserError(f"no task matches {pattern!r}; `python -m tasks list` shows them all")
    elif pattern in {row.category for row in rows.values()}:
        ids = [name for name in built() if rows[name].category == pattern]
        if not ids:
            raise UserError(f"no task of category {pattern} is built yet; `python -m tasks list` shows which are")
    else:
        ids = [name for name in rows if name.split("/")[1] == pattern]
    if not ids:
        raise unknown("task", pattern, [*rows, *{row.category for row in rows.values()}])
    for name in ids:
        if not rows[name].built:
            raise UserError(f"task {name} is not built yet; `python -m tasks list` shows which are")
    return ids


def _load_file(path: Path) -> Task:
    from tasks.task import Task

    if not path.is_file():
        raise UserError(f"no task file {str(path)!r}")
    name = f"kernelmend_user_task_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the border of plug-in loading
        raise UserError(f"task file {path} does not load: {type(error).__name__}: {error}") from error
    task = getattr(module, "TASK", None)
    if not isinstance(task, Task):
        raise UserError(f"task file {path} defines no TASK = Task(...)")
    return task
