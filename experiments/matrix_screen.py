"""What a matrix shows: its progress while it goes on, and one table at the end, a row a cell."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.log import Event
from agents.report_table import many
from agents.tracker import State
from agents.verdicts import verdict_of
from experiments.cells import Cell, cells_of
from experiments.matrix_config import CellSpec
from experiments.matrix_folder import WAITING, MatrixFolder

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

MOST_RUNNING = 8
COLUMNS = ("done", "compile", "call", "correct", "rescued", "replies", "cost")


@dataclass
class Seen:
    """One task of one cell so far. `solved` is the first round with a correct kernel, counted from 1."""

    begun: bool = False
    done: bool = False
    compiled: bool = False
    called: bool = False
    solved: int | None = None


class MatrixScreen:
    """Shows a matrix while it goes on. Its methods may be called from several threads.

    On a terminal the progress is drawn anew every second; elsewhere each task's end is a line, and each cell's end
    another with the progress. Rates are shares of the tasks that are done, over all cells.
    """

    def __init__(
        self, cells: Sequence[CellSpec], tasks: Sequence[str], simulated: set[str], workers: int, console: Console
    ) -> None:
        """`tasks` are the ids of the task list, `simulated` the names of cells whose model is a simulation."""
        self._cells = {cell.name: cell for cell in cells}
        self._seen = {cell.name: {task: Seen() for task in tasks} for cell in cells}
        self._simulated = simulated
        self._workers = workers
        self._console = console
        self._lock = threading.RLock()
        self._usd: float | None = 0.0
        self._paid = False
        # seconds of the tasks that were done in this session, by method and model
        self._took: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._live: Live | None = None

    def __enter__(self) -> MatrixScreen:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, get_renderable=self._progress, refresh_per_second=1)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def take(self, cell: str, task: str, event: Event) -> None:
        """Take one event in, new or of an earlier session."""
        with self._lock:
            seen = self._seen[cell][task]
            seen.begun = True
            match event["type"]:
                case "evaluation":
                    verdict = verdict_of(task, event)
                    seen.compiled |= verdict.compiled
                    seen.called |= verdict.called
                    if verdict.correct:
                        seen.solved = min(seen.solved or event["round"], event["round"])
                case "reply" if cell not in self._simulated:
                    cost = event["usage"]["usd"]
                    self._paid = True
                    self._usd = None if cost is None or self._usd is None else self._usd + cost
                case "task_end":
                    seen.done = event["state"] == "done"

    def observe(self, cell: str, task: str, event: Event) -> None:
        """Take one new event in, and say what is worth a line."""
        with self._lock:
            self.take(cell, task, event)
            solved = self._seen[cell][task].solved
            count = self._tasks_done()
        # not under the lock: rich draws under one of its own, and then asks for the progress
        if event["type"] == "task_end" and event["state"] == "error":
            self.line(f"{cell} {task}: {event['reason'].strip().splitlines()[0]}", style="red")
        elif event["type"] == "task_end" and event["state"] == "done" and not self._live:
            said = f"correct from round {solved}" if solved else "not solved"
            self.line(f"[{count}] {cell} {task}: {said}")

    def timed(self, cell: str, seconds: float) -> None:
        """A task of this cell took so long, from its beginning or from where a session before had left it."""
        with self._lock:
            config = self._cells[cell].config
            self._took[self._cells[cell].label, config.model].append(seconds)

    def cell_ended(self, cell: str, state: str) -> None:
        """A cell has no task left in this session."""
        if not self._live:
            self.line(f"{cell}: {state} · {self.summary()}")

    def stopping(self) -> None:
        """Say that the matrix is being stopped."""
        self.line("stopping: what was asked for is awaited and kept; Ctrl-C again leaves at once", style="bold yellow")

    def line(self, text: str, style: str | None = None) -> None:
        """Print a line, above the progress where there is one."""
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    def summary(self) -> str:
        """The progress in one line: cells and tasks done, rates, rescued, cost, time left."""
        with self._lock:
            done = [one for each in self._seen.values() for one in each.values() if one.done]
            cells = sum(all(one.done for one in each.values()) for each in self._seen.values())
            flags = {
                "compile": [one.compiled for one in done],
                "call": [one.called for one in done],
                "correct": [one.solved is not None for one in done],
            }
            rates = ", ".join(f"{name} {_share(each)}" for name, each in flags.items())
            rescued = sum((one.solved or 0) > 1 for one in done)
            parts = [f"cells {cells} of {len(self._seen)}", f"tasks {self._tasks_done()}", f"of these {rates}"]
            parts += [f"{rescued} rescued", f"cost {self._cost()}", f"time left {self._left()}"]
        return " · ".join(parts)

    def _tasks_done(self) -> str:
        ones = [one for each in self._seen.values() for one in each.values()]
        return f"{sum(one.done for one in ones)} of {len(ones)}"

    def _cost(self) -> str:
        if not self._paid:
            return "-"
        return "?" if self._usd is None else f"${self._usd:.4f}"

    def _left(self) -> str:
        """From what a task took in this session, by its method and model or else by its method; `?` until each method
        that has tasks left is known so."""
        seconds = 0.0
        for name, each in self._seen.items():
            left = sum(not one.done for one in each.values())
            if left:
                pace = self._pace(self._cells[name])
                if pace is None:
                    return "?"
                seconds += left * pace
        return span(seconds / self._workers)

    def _pace(self, cell: CellSpec) -> float | None:
        same = self._took.get((cell.label, cell.config.model)) or [
            seconds for (label, _), each in self._took.items() if label == cell.label for seconds in each
        ]
        return sum(same) / len(same) if same else None

    def _progress(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        with self._lock:
            lines = [self.summary()]
            for name, each in self._seen.items():
                ones = list(each.values())
                done = sum(one.done for one in ones)
                if any(one.begun for one in ones) and done < len(ones) and len(lines) <= MOST_RUNNING:
                    correct = sum(one.done and one.solved is not None for one in ones)
                    lines.append(f"  {name}: {done} of {len(ones)} done, {correct} correct")
        return Group(*(Text(line) for line in lines))


def span(seconds: float) -> str:
    """A duration in one unit: `40 s`, `12 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def print_matrix(folder: MatrixFolder, console: Console) -> None:
    """One table, a row a cell, from the logs; then what to do next. Raises UserError for a damaged log."""
    from rich import box
    from rich.table import Table

    lines = box.SIMPLE_HEAD if console.is_terminal else None
    begun = any(folder.run_of(cell) for cell in folder.config.cells)
    runs = {cell.run.path.name: cell for cell in cells_of([str(folder.path)])} if begun else {}
    counts = f"{many(len(folder.config.cells), 'cell')} of {many(len(folder.config.tasks), 'task')}"
    title = f"{counts}; the best of each run; rescued: correct in the end, not after the first round"
    table = Table(title=title, title_justify="left", box=lines, padding=(0, 1, 0, 0))
    table.add_column("cell", overflow="fold")
    table.add_column("state", overflow="fold")
    for name in COLUMNS:
        table.add_column(name, justify="right", overflow="fold")
    for spec in folder.config.cells:
        table.add_row(spec.name, *_row(runs.get(spec.name)))
    console.print(table)
    if folder.record["notice"]:
        console.print(folder.record["notice"], style="bold yellow", markup=False, highlight=False, soft_wrap=True)


def _row(cell: Cell | None) -> list[str]:
    if cell is None:
        return [WAITING, *["-"] * len(COLUMNS)]
    account = cell.account
    done = sum(cell.run.state(task) == "done" for task in cell.tasks)
    shares = ["-"] * 3
    if account.rounds:
        best = account.rounds[-1].best
        shares = [f"{rate:.0%}" for rate in (best.compile_rate, best.call_rate, best.correct_rate)]
    rescued = sum(task.state is State.RESCUED for task in account.tasks)
    cost = "-" if cell.simulated else "?" if account.spending.usd is None else f"${account.spending.usd:.4f}"
    counts = [f"{done}/{len(cell.tasks)}", *shares, str(rescued), str(account.spending.replies), cost]
    return [str(cell.run.record["state"]), *counts]


def _share(flags: Sequence[bool]) -> str:
    return f"{sum(flags) / len(flags):.0%}" if flags else "-"
