"""Methods x models x seeds over a selection of tasks: one folder, a run a cell, one budget. Resumable."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.matrix_config import MatrixConfig
from experiments.matrix_file import read_matrix
from experiments.matrix_folder import RECORD, MatrixFolder, begin, find, gone_on, open_matrix
from tasks.errors import UserError

if TYPE_CHECKING:
    from agents.run import Plan
    from experiments.matrix_screen import MatrixScreen
    from experiments.matrix_session import Session

EXIT_DONE, EXIT_LEFT, EXIT_INTERRUPTED = 0, 1, 130


def matrix(file: Path | None, out: Path | None, resume: str | None, *, dry_run: bool = False) -> int:
    """Runs a matrix, or what is left of it. Returns 0 when every cell is done, 1 when one is not (the machine or a
    provider failed, or the budget ended), 130 when interrupted.

    `file` describes it, and `out` is its folder; where that holds it already, it goes on. `resume` goes on with the
    configuration that the folder has. Raises UserError for a mistake, before anything is asked.
    """
    if (file is None) == (resume is None) or (resume and out):
        raise UserError("name either a matrix file, with or without --out FOLDER, or --resume FOLDER")
    folder, changed = None, list[str]()
    if file is None:
        folder = find(str(resume))
        config = folder.config
    else:
        config = read_matrix(file)
        if out is not None and (out / RECORD).exists():
            folder, changed = gone_on(open_matrix(out), config)
            config = folder.config
    if dry_run:
        from experiments.matrix_dry import show

        return show(config, plans_of(config))
    if folder is not None and _is_done(folder):
        return _ended(folder)
    return _run(config, folder, out, changed, again=_again(file, out))


def plans_of(config: MatrixConfig) -> list[Plan]:
    """Each cell's plan, checked. Imports the tasks, and so torch. Raises UserError, also for a model without a price
    when there is a budget of dollars, and for a key that is missing."""
    from agents.run import plan_of

    plans: list[Plan] = []
    for cell in config.cells:
        plan = plan_of(replace(cell.config, max_usd=config.budget.get("max_usd")))
        plans.append(replace(plan, config=cell.config, tasks=plans[0].tasks if plans else plan.tasks))
    return plans


def _is_done(folder: MatrixFolder) -> bool:
    runs = [folder.run_of(cell) for cell in folder.config.cells]
    states = {run.state(task) if run else "" for run in runs for task in (run.tasks if run else ("",))}
    return states == {"done"} and folder.record["state"] == "done"


def _again(file: Path | None, out: Path | None) -> str:
    """How to go on with a higher budget; `{}` is the folder."""
    return f"python -m experiments matrix {file or 'CONFIG.toml'} --out {'{}' if out is None else out}"


def _run(config: MatrixConfig, folder: MatrixFolder | None, out: Path | None, changed: list[str], again: str) -> int:
    from rich.console import Console

    from agents.run import evaluator_of

    console = Console()
    secret = (folder.secret if folder else None) or secrets.token_bytes(32)
    if console.is_terminal:  # torch takes seconds, here and in the evaluator's own process
        print("loading torch and starting the evaluator ...", flush=True)
    with evaluator_of(replace(config.cells[0].config, workers=config.workers), secret) as evaluator:
        plans = plans_of(config)  # while the evaluator's own processes start
        simulated = {cell.name for cell, plan in zip(config.cells, plans, strict=True) if plan.model.simulated}
        if folder is None:
            folder = begin(config, out, simulated=[plan.config.model for plan in plans if plan.model.simulated])
        with folder.held():
            session, screen = _session(folder, plans, evaluator, simulated, secret, console)
            _banner(screen, session.folder, plans, evaluator.describe(), changed)
            interrupted = _go(session, screen)
    return _ended(session.folder, interrupted=interrupted, budget=session.budget.ended, again=again)


def _session(
    folder: MatrixFolder, plans: Sequence[Plan], evaluator: Any, simulated: set[str], secret: bytes, console: Any
) -> tuple[Session, MatrixScreen]:
    from agents.newrun import timestamp
    from agents.run import circumstances
    from experiments.matrix_screen import MatrixScreen
    from experiments.matrix_session import CellWork, Session

    config = folder.config
    tasks = [task.id for task in plans[0].tasks]
    screen = MatrixScreen(config.cells, tasks, simulated, config.workers, console)
    works = [CellWork(spec, plan, folder.run_of(spec)) for spec, plan in zip(config.cells, plans, strict=True)]
    made = circumstances(plans[0], evaluator)
    session = Session(folder, works, evaluator, screen, secret=secret, made=made)
    begun = any(work.run for work in works)
    resumed = [*folder.record["resumed"], *([timestamp()] if begun else [])]
    session.folder = folder.saved(state="running", config=config.to_json(), resumed=resumed)
    return session, screen


def _banner(
    screen: MatrixScreen, folder: MatrixFolder, plans: Sequence[Plan], evaluator: Mapping[str, Any], changed: list[str]
) -> None:
    from agents.platform_note import gpu_note

    config = folder.config
    if folder.record["notice"]:
        screen.line(folder.record["notice"], style="bold yellow")
    counts = f"{len(config.methods)} methods x {len(config.models)} models x {len(config.seeds)} seeds"
    screen.line(f"{len(config.cells)} cells ({counts}) of {len(config.tasks)} tasks, {config.workers} at a time")
    screen.line(f"device {evaluator.get('device')} · targets {', '.join(plans[0].config.targets)}")
    budget = ", ".join(f"{name} {value:g}" for name, value in config.budget.items())
    screen.line(f"budget of all cells together: {budget or 'none'}")
    notes = dict.fromkeys(note for plan in plans for note in _notes(plan))
    gpu = gpu_note(str(evaluator.get("device", "")))
    for note in [*notes, *([gpu] if gpu else []), *(f"changed: {each}" for each in changed)]:
        screen.line(note)
    screen.line(f"matrix {folder.path}")
    screen.line(screen.summary())


def _notes(plan: Plan) -> list[str]:
    """The plan's notes; what is said of the run's own budget is not true of a cell."""
    if plan.model.simulated:
        return plan.notes
    return [f"{plan.config.model}: {plan.price or 'price unknown: costs show as ?'}", *plan.notes[1:]]


def _go(session: Session, screen: MatrixScreen) -> bool:
    # a scheduler's SIGTERM stops a matrix as Ctrl-C does
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with screen:
            return session.go()
    except KeyboardInterrupt:
        print(_how_to_go_on(session.folder))
        sys.stdout.flush()
        os._exit(EXIT_INTERRUPTED)  # threads that wait for a reply would keep the process alive
    finally:
        signal.signal(signal.SIGTERM, before)


def _ended(folder: MatrixFolder, *, interrupted: bool = False, budget: str | None = None, again: str = "") -> int:
    """The table and what to do next; returns the exit code."""
    from rich.console import Console

    from agents.report_table import PLAIN_WIDTH
    from experiments.matrix_screen import print_matrix

    console = Console()
    print_matrix(folder, console if console.is_terminal else Console(width=PLAIN_WIDTH))
    done = folder.record["state"] == "done"
    if budget and not done:
        print(f"stopped by the {budget}; give a higher one in [budget], and: {again.format(folder.path)}")
    elif not done:
        print(_how_to_go_on(folder))
    print(f"the report: python -m experiments report {folder.path} --out report.html")
    if interrupted and not done:
        return EXIT_INTERRUPTED
    return EXIT_DONE if done else EXIT_LEFT


def _how_to_go_on(folder: MatrixFolder) -> str:
    return f"go on with: python -m experiments matrix --resume {folder.path}"
