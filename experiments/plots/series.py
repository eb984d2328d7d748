"""What is drawn beside each other: a run each, or of a large matrix the runs of a model and a method together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from agents.report_table import many
from agents.tracker import TaskAccount
from experiments.cells import Cell
from tasks.outcomes import Status

MOST_RUNS = 12
NOTHING = "nothing submitted"
SIMULATIONS = "SIMULATION: no language model is called. Nothing here is a finding."
RECORDED = "RECORDED: verdicts of the import's origin, not judged here; a speedup is over its own baseline."


@dataclass(frozen=True)
class Series:
    """Runs that are drawn as one, nearly always a single one. Counts are summed over them, rates are of all of them."""

    label: str
    cells: tuple[Cell, ...]

    @property
    def tasks(self) -> int:
        """The denominator: the lengths of the runs' task lists, summed."""
        return sum(len(cell.tasks) for cell in self.cells)

    @property
    def rounds(self) -> int:
        return max(len(cell.account.rounds) for cell in self.cells)

    def ends(self) -> Iterator[tuple[Cell, TaskAccount]]:
        """Each task of each run at its end."""
        return ((cell, task) for cell in self.cells for task in cell.account.tasks)


def series_of(cells: Sequence[Cell]) -> list[Series]:
    """A series for each run; of more than MOST_RUNS, one for each model and method, as their labels say."""
    if len(cells) <= MOST_RUNS:
        return [Series(cell.label, (cell,)) for cell in cells]
    together = [tuple(each) for _, each in groupby(sorted(cells, key=_kind), key=_kind)]
    return [Series(_label(each), each) for each in together]


def marks(series: Sequence[Series]) -> tuple[str, ...]:
    """Sentences that go with every figure of these: which runs are simulations, and which judged elsewhere."""
    cells = [cell for one in series for cell in one.cells]
    notices = {cell.run.simulation_notice for cell in cells if cell.run.simulation_notice}
    told = {
        notices.pop() if len(notices) == 1 else SIMULATIONS: [cell.label for cell in cells if cell.simulated],
        RECORDED: [cell.label for cell in cells if cell.recorded],
    }
    return tuple(_of(labels, cells, said) for said, labels in told.items() if labels)


def counted_tasks(series: Sequence[Series]) -> str:
    """`n = 147 tasks`, `n = 5 runs x 147 tasks`, or with the least and the most where the lists differ."""
    cells = [cell for one in series for cell in one.cells]
    sizes = sorted({len(cell.tasks) for cell in cells})
    size = many(sizes[0], "task") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} tasks"
    return f"n = {size}" if len(cells) == 1 else f"n = {len(cells)} runs of {size} each"


def category(task: str) -> str:
    return task.rpartition("/")[0] or "(none)"


def categories(series: Iterable[Series]) -> list[str]:
    return sorted({category(task) for one in series for cell in one.cells for task in cell.tasks})


def outcome(cell: Cell, end: TaskAccount) -> str:
    """The best verdict on a task, as in `wrong: mismatch`; that the machine failed only where it judged nothing."""
    if end.status is None:
        return str(Status.INFRA_ERROR) if cell.verdicts[end.task] else NOTHING
    return f"{end.status}: {end.reason}" if end.reason else str(end.status)


def _kind(cell: Cell) -> tuple[str, str, bool, bool]:
    return cell.model, cell.method, cell.simulated, cell.recorded


def _label(cells: Sequence[Cell]) -> str:
    return f"{cells[0].model} {cells[0].method} ({many(len(cells), 'run')})"


def _of(labels: Sequence[str], cells: Sequence[Cell], said: str) -> str:
    if len(labels) == len(cells):
        return said
    named = ", ".join(labels) if len(labels) <= 3 else f"{len(labels)} of {len(cells)} runs"
    return f"{named}: {said}"
