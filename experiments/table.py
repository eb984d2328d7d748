"""The account of a recorded run round by round, and the figures of several runs, or of categories, side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agents.accounts import account_and_states
from agents.newrun import ROOT, find_run
from agents.report_table import PLAIN_WIDTH, many, print_account
from agents.runfolder import Run
from experiments.cells import Cell, cells_of
from experiments.contrast import Step, steps_of
from experiments.figures import Figures, Group, categories_of, figures_of, groups_of
from experiments.output import write_json
from experiments.pass_at_k import PassAtK, first_tries, pass_at_k
from tasks.errors import UserError

ALL = "all"


@dataclass(frozen=True)
class Row:
    """The figures of a run, or of one category of it. `steps` are of whole runs only: a category has few kernels."""

    label: str
    figures: Figures
    passes: tuple[PassAtK, ...]
    groups: tuple[Group, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class CellRows:
    """One run: all of its tasks together, and by category."""

    cell: Cell
    whole: Row
    categories: tuple[Row, ...]


def tables(
    names: Sequence[str], *, by_category: bool = False, figures: bool = False, out: Path | None = None, **how: bool
) -> int:
    """Prints the account of one run, or the figures of several. Returns exit code 0.

    With `by_category`, `figures` (all of them) or `out` (all of them as JSON, a new file) there are figures of one
    run too. `how` is `recorded`, as in `cells_of`. Raises UserError as that does, and when `out` exists.
    """
    if out is not None and out.exists():
        raise UserError(f"{out} exists; name another file")
    if len(names) == 1 and not (by_category or figures or out) and _is_run(names[0]):
        return table(find_run(names[0]), **how)
    from experiments.figures_table import print_figures

    rows = [rows_of(cell) for cell in cells_of(names, **how)]
    print_figures(rows, by_category=by_category, everything=figures)
    if out is not None:
        _write(out, rows)
    return 0


def rows_of(cell: Cell) -> CellRows:
    """Everything that the tables show of one run. Raises UserError for a damaged log, and where an origin recorded no
    verdict: nothing is known then, which is not the same as nothing being right."""
    if cell.recorded and not any(cell.verdicts.values()):
        path = cell.run.path
        raise UserError(f"the origin of {path.name} recorded no verdict; judge it: python -m experiments score {path}")
    tries = first_tries(cell)

    def row(label: str, tasks: Sequence[str], steps: tuple[Step, ...]) -> Row:
        passes = pass_at_k({task: tries[task] for task in tasks})
        return Row(label, figures_of(cell, tasks), passes, groups_of(cell, tasks), steps)

    whole = row(cell.label, cell.tasks, steps_of(cell, cell.tasks))
    return CellRows(cell, whole, tuple(row(name, its, ()) for name, its in categories_of(cell.tasks).items()))


def table(run: Run, *, recorded: bool = False) -> int:
    """Prints what a run did so far; of an imported run by its origin's verdicts, with `recorded` or where there are no
    others. Returns exit code 0. Raises UserError when `recorded` is asked of a run that has no such verdicts."""
    if recorded and not run.imported:
        raise UserError(f"{run.path} was not imported: there are only its own verdicts")
    recorded = recorded or (run.imported and not run.record.get("scored"))
    account, states = account_and_states(run, recorded=recorded)  # a damaged log is told before anything is printed
    print(f"{run.path.name}: method {run.record['method']}, model {run.config.model}, {many(run.rounds, 'round')}")
    if run.simulation_notice:
        print(run.simulation_notice)
    if run.imported:
        print(_whose(recorded))
    print()
    print_account(account)
    if not run.imported:
        _print_unfinished(states)
    return 0


def _whose(recorded: bool) -> str:
    if recorded:
        return (
            "IMPORTED: verdicts and speedups as the origin recorded them, not measured here; round 1 is its first.\n"
            "A task of which it tells no change stands where it stood."
        )
    return "IMPORTED: sources from elsewhere with this project's own verdicts; --recorded shows the origin's"


def _print_unfinished(states: Mapping[str, str]) -> None:
    for state in ("waiting", "unfinished", "stopped", "error"):
        tasks = [task for task, its in states.items() if its == state]
        if tasks:
            print(textwrap.fill(f"{state}: {', '.join(tasks)}", PLAIN_WIDTH, break_on_hyphens=False))


def _is_run(name: str) -> bool:
    return any((folder / "run.json").is_file() for folder in (Path(name), ROOT / name))


def _write(out: Path, rows: Sequence[CellRows]) -> None:
    write_json(out, {"runs": [_json(row) for row in rows]})


def _json(row: CellRows) -> dict[str, Any]:
    cell = row.cell
    return {
        **{"run": cell.run.path.name, "label": cell.label},
        **{"method": cell.method, "model": cell.model, "seed": cell.seed, "recorded": cell.recorded},
        **{"simulated": cell.simulated, "notice": cell.run.simulation_notice},
        **asdict(row.whole),
        "categories": {each.label: asdict(each) for each in row.categories},
    }
