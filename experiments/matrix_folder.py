"""The folder of a matrix: `matrix.json` with its configuration and cells, and a run's ordinary folder for each cell."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.lock import lock
from agents.newrun import NOTICE, ROOT, amend, timestamp
from agents.runfolder import Run, open_run
from experiments.matrix_config import CellSpec, MatrixConfig
from tasks.errors import UserError, unknown

SCHEMA = 1
RECORD = "matrix.json"
WAITING = "not begun"
# what a kill leaves of a run that was being made
UNMADE = {"secret", "run.json.new"}


@dataclass(frozen=True)
class MatrixFolder:
    """A matrix on the disk. `record` is its `matrix.json`; the runs themselves tell how far each is."""

    path: Path
    config: MatrixConfig
    record: Mapping[str, Any]

    def run_of(self, cell: CellSpec) -> Run | None:
        """A cell's run; None before it has begun. Raises UserError for a damaged one."""
        folder = self.path / cell.name
        return open_run(folder) if (folder / "run.json").exists() else None

    def place_for(self, cell: CellSpec) -> Path:
        """The folder for a cell's new run, without what a kill left of one. Raises UserError when it can't be had."""
        folder = self.path / cell.name
        try:
            if folder.is_dir() and {path.name for path in folder.iterdir()} <= UNMADE:
                for path in list(folder.iterdir()):
                    path.unlink()
        except OSError as error:
            raise UserError(f"can't use {folder}: {error.strerror}") from error
        return folder

    @property
    def secret(self) -> bytes | None:
        """The key of the hidden cases' seeds, one for all cells; None before one has begun."""
        runs = (self.run_of(cell) for cell in self.config.cells)
        return next((run.secret for run in runs if run), None)

    def publish(self) -> None:
        """Give the secret away, in each cell's `run.json`: when all are done, nothing is left to be judged."""
        for cell in self.config.cells:
            run = self.run_of(cell)
            if run and run.record.get("secret") is None:
                amend(run, secret=run.secret.hex())

    def saved(self, **changes: Any) -> MatrixFolder:
        """The same with these entries of `matrix.json` set, on the disk too. Raises UserError."""
        record = {**self.record, **changes}
        path = self.path / RECORD
        fresh = path.with_name(path.name + ".new")
        try:
            with fresh.open("w", encoding="utf-8") as file:
                json.dump(record, file, indent=2)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
        except OSError as error:
            raise UserError(f"can't write {path}: {error.strerror}") from error
        return replace(self, record=record)

    def told(self, states: Mapping[str, str], **changes: Any) -> MatrixFolder:
        """The same with the cells' states, by name, written down. Raises UserError."""
        cells = [{**cell, "state": states[cell["name"]]} for cell in self.record["cells"]]
        return self.saved(cells=cells, **changes)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds it against another process that would go on with it. Raises UserError when one does."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            lock(folder, str(self.path))
            yield
        finally:
            os.close(folder)


def begin(config: MatrixConfig, out: Path | None, *, simulated: Iterable[str]) -> MatrixFolder:
    """A new matrix in `out` (default: `experiments/runs/<time>-<name>`). `simulated` are the names of the models that
    are simulations. Raises UserError when the folder is in use."""
    try:
        path = _new_folder(config, out)
    except OSError as error:
        raise UserError(f"can't make the matrix's folder {error.filename}: {error.strerror}") from error
    cells = [
        {**{"name": cell.name, "method": cell.label, "model": cell.config.model, "seed": cell.config.seed}}
        | {"state": WAITING}
        for cell in config.cells
    ]
    models = ", ".join(sorted(set(simulated)))
    return MatrixFolder(path, config, {}).saved(
        schema=SCHEMA,
        name=config.name,
        state="running",
        notice=NOTICE.format(model=models) if models else None,
        started=timestamp(),
        ended=None,
        config=config.to_json(),
        cells=cells,
        resumed=[],
    )


def find(name: str) -> MatrixFolder:
    """The matrix in the folder `name`, or of that name in `experiments/runs`. Raises UserError, with near names."""
    for folder in (Path(name), ROOT / name):
        if folder.is_dir():
            return open_matrix(folder)
    there = [path.parent.name for path in ROOT.glob(f"*/{RECORD}")]
    raise unknown("matrix", name, there) if there else UserError(f"no matrix folder {name!r}")


def open_matrix(path: Path) -> MatrixFolder:
    """The matrix in a folder. Raises UserError when there is none that this version reads."""
    place = path / RECORD
    try:
        record = json.loads(place.read_text(encoding="utf-8"))
        if record["schema"] != SCHEMA:
            raise UserError(f"{path} has matrix schema {record['schema']}; this version reads {SCHEMA}")
        return MatrixFolder(path, MatrixConfig.from_json(record["config"]), record)
    except OSError as error:
        raise UserError(f"no matrix in {path}: {place} can't be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{place} is damaged: {error!r}") from error


def gone_on(folder: MatrixFolder, config: MatrixConfig) -> tuple[MatrixFolder, list[str]]:
    """The folder with the workers, limits and budgets of `config`, and what of them is new.

    Raises UserError, in one line that says what, where anything else differs.
    """
    refused, changed = folder.config.differences(config)
    if refused:
        raise UserError(
            f"{folder.path} was begun with other settings: {'; '.join(refused)}. "
            "Put these back, or name another folder by --out"
        )
    return replace(folder, config=replace(config, name=folder.config.name)), changed


def _new_folder(config: MatrixConfig, out: Path | None) -> Path:
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise UserError(f"{out} is not empty, and holds no matrix; name another folder")
        return out
    ROOT.mkdir(parents=True, exist_ok=True)
    stem = time.strftime("%Y%m%d-%H%M%S-") + re.sub(r"[^\w.-]+", "-", config.name).strip("-")
    for number in range(1, 1000):
        path = ROOT / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise UserError(f"a thousand folders named {stem} in {ROOT}; name one by --out")
