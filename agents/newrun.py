"""Writing a run folder: its making, its lock, its record, and the best kernels for people to read."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents.config import RunConfig
from agents.lock import lock
from agents.protocol import Candidate
from agents.runfolder import SCHEMA, Run, open_run
from tasks.errors import UserError, unknown

ROOT = Path("experiments/runs")
PROMPTS = "prompts"  # of a dry run
TASK_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")
NOTICE = "SIMULATION: {model}; no language model is called. Nothing here is a finding."


def create_run(
    folder: Path | None,
    config: RunConfig,
    tasks: Sequence[str],
    *,
    secret: bytes,
    method: str,
    rounds: int,
    simulated: bool,
    notice: str | None = None,
    **more: Any,
) -> Run:
    """A new run in `folder` (default: `experiments/runs/<time>-<method>-<model>`).

    `tasks` are the ids of the task list, `secret` the key of the hidden cases' seeds; `method` is the method's name and
    `rounds` what it really goes through; `notice` is what is said of a simulation that isn't our own; `more` goes into
    `run.json` as it is. Raises UserError when the folder is in use or can't be written.
    """
    try:
        path = _new_folder(folder, f"{method}-{config.model}")
        _write_secret(path / "secret", secret)
    except OSError as error:
        raise UserError(f"can't make the run folder {error.filename}: {error.strerror}") from error
    record = {
        "schema": SCHEMA,
        "state": "running",
        "simulated": simulated,
        "notice": notice or (NOTICE.format(model=config.model) if simulated else None),
        "started": timestamp(),
        "ended": None,
        "method": method,
        "rounds": rounds,
        "tasks": list(tasks),
        "config": config.to_json(),
        "secret": None,
        **more,
    }
    _write_json(path / "run.json", record)
    return open_run(path)


def dry_folder(folder: Path | None, config: RunConfig, method: str) -> Path:
    """A folder for what a dry run writes: `folder`, which a real run may then use, or one named like a run's with
    `dry-run`. Raises UserError as `create_run` does."""
    try:
        path = _new_folder(folder, f"{method}-{config.model}-dry-run") / PROMPTS
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"can't make the folder {error.filename}: {error.strerror}") from error
    return path


def amend(run: Run, **changes: Any) -> Run:
    """The run with these entries of `run.json` set, on the disk too."""
    _write_json(run.path / "run.json", {**run.record, **changes})
    return open_run(run.path)


def finish(run: Run, state: str) -> Run:
    """Record how a run ended (done, stopped, error). A done one gives its secret away: nothing is left to be judged.
    A cell of a matrix does not: the others have the same one, and the matrix gives it away when all are done."""
    published = run.secret.hex() if state == "done" and not run.record.get("matrix") else run.record.get("secret")
    return amend(run, state=state, ended=timestamp(), secret=published)


@contextmanager
def held(run: Run) -> Iterator[None]:
    """Holds a run against other processes that would go on with it. Raises UserError when one does."""
    folder = os.open(run.path, os.O_RDONLY)
    try:
        lock(folder, str(run.path))
        yield
    finally:
        os.close(folder)


def write_best(run: Run, task: str, best: Candidate | None) -> None:
    """Put a task's best kernel, if it is correct, into `best/<task>.py`, ready for `python -m evaluator check`.

    Raises UserError when it can't be written.
    """
    if best is None or not best.correct:
        return
    path = run.path / "best" / f"{task}.py"
    figure = {"speedup over eager": best.evaluation.speedup, "traffic over the minimum": best.evaluation.traffic}
    known = "".join(f", {name} {value:.3g}" for name, value in figure.items() if value is not None)
    head = f"# {task}: correct{known}; candidate {best.index}, round {best.round}, of {run.config.model}\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(head + best.source, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(f"can't write {path}: {error.strerror}") from error


def timestamp() -> str:
    """Now, UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _new_folder(folder: Path | None, name: str) -> Path:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        if any(path.name != PROMPTS for path in folder.iterdir()):
            raise UserError(f"{folder} is not empty; go on with a run by --resume {folder}, or name another folder")
        return folder
    ROOT.mkdir(parents=True, exist_ok=True)
    stem = time.strftime("%Y%m%d-%H%M%S-") + re.sub(r"[^\w.-]+", "-", name).strip("-")
    for number in range(1, 1000):
        path = ROOT / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise UserError(f"a thousand runs named {stem} in {ROOT}; name a folder by --out")


def _write_secret(path: Path, secret: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, secret.hex().encode())
        os.fsync(file)
    finally:
        os.close(file)


def _write_json(path: Path, record: Mapping[str, Any]) -> None:
    """Replace a file as a whole, so that a kill leaves the old one or the new one."""
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


def find_run(name: str) -> Run:
    """The run in the folder `name`, or of that name in `experiments/runs`. Raises UserError, with near names."""
    for folder in (Path(name), ROOT / name):
        if folder.is_dir():
            return open_run(folder)
    there = [path.name for path in ROOT.iterdir() if path.is_dir()] if ROOT.is_dir() else []
    raise unknown("run", name, there) if there else UserError(f"no run folder {name!r}")
