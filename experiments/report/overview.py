"""What the page says before a trajectory is opened: runs, rates, rounds, and a row for each task of each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from agents.efficiency import Mean, mean_of
from agents.report_table import LETTERS, mean_text
from agents.tracker import SOLVED, RoundAccount, Spending, State, View
from evaluator.records import Evaluation
from experiments.cells import Cell
from experiments.report.tables import NONE, UNKNOWN, Table

CHANGES = (State.RESCUED, State.PERSISTENT, State.REGRESSED, State.FAILING)
RATE_COLUMNS = (
    *("run", "tasks", "compile", "call", "correct", "rescued", "persistent", "failing", "regressed in a round"),
    *("speedup over eager", "traffic over least", "replies", "tokens", "cost"),
)
ROUND_COLUMNS = (
    *("run", "round", "view", "submitted", "compile", "call", "correct", *CHANGES),
    *("speedup", "traffic", "not interpretable", "infra errors", "replies", "cost"),
)


def rates(cells: Sequence[Cell]) -> Table:
    """A row for each run: the best of all its rounds, over its task list."""
    rows = tuple(_rates_row(cell) for cell in cells)
    return Table("The best of all rounds, against the first; shares are of the task list", RATE_COLUMNS, rows)


def rounds(cells: Sequence[Cell]) -> Table:
    """Two rows for each round of each run: the round's own candidates, and the best so far."""
    rows = [
        _round_row(cell, one, name, view)
        for cell in cells
        for one in cell.account.rounds
        for name, view in (("own", one.own), ("best so far", one.best))
    ]
    # on the CPU tier nothing is timed, and only there traffic is counted
    idle = [ROUND_COLUMNS.index(name) for name in ("speedup", "traffic")]
    idle = [at for at in idle if all(row[at] == NONE for row in rows)]
    columns, *kept = (tuple(cell for at, cell in enumerate(row) if at not in idle) for row in (ROUND_COLUMNS, *rows))
    return Table("Every round; a task that submits nothing stands where it stood", columns, tuple(kept), left=3)


def index(cells: Sequence[Cell]) -> dict[str, Any]:
    """The list of trajectories for the page: `runs` are labels, `kinds` what to know of them.

    `rows` are by task, then by run; their `task` and `run` are places in `tasks` and `runs`. `outcomes` has every
    verdict's status and reason once.
    """
    tasks = sorted({task for cell in cells for task in cell.tasks})
    places = {task: place for place, task in enumerate(tasks)}
    rows = [row | {"run": number} for number, cell in enumerate(cells) for row in _task_rows(cell, places)]
    rows.sort(key=lambda row: (row["task"], row["run"]))
    kinds = [
        {"imported": one.run.imported, "recorded": one.recorded, "notice": one.run.simulation_notice} for one in cells
    ]
    return {"tasks": tasks, "runs": [cell.label for cell in cells], "kinds": kinds, "rows": rows}


def _task_rows(cell: Cell, places: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        {
            "task": places[one.task],
            "state": one.state,
            "trail": "".join(LETTERS[state] for state in one.trail),
            "status": one.status,
            "reason": one.reason,
            "since": one.solved_in_round,
            "speedup": one.speedup,
            "traffic": one.traffic,
            "submissions": one.submissions,
            "outcomes": sorted({_outcome(verdict.evaluation) for verdict in cell.verdicts[one.task]}),
        }
        for one in cell.account.tasks
    ]


def _outcome(evaluation: Evaluation) -> str:
    return f"{evaluation.status} {evaluation.reason or ''}".strip()


def _rates_row(cell: Cell) -> tuple[str, ...]:
    account = cell.account
    view = account.rounds[-1].best if account.rounds else None
    count = Counter(one.state for one in account.tasks)
    regressed = sum(State.REGRESSED in one.trail for one in account.tasks)
    several = len(account.rounds) > 1
    changes = [str(count[State.RESCUED]), str(count[State.PERSISTENT])] if several else [NONE, NONE]
    figures = [
        mean_of([getattr(one, name) for one in account.tasks if getattr(one, name) is not None])
        for name in ("speedup", "traffic")
    ]
    return (
        cell.label,
        str(len(account.tasks)),
        *(_share(getattr(view, f"{name}_rate") if view else None) for name in ("compile", "call")),
        f"{_share(view.correct_rate if view else None)} ({len(cell.solved)})",
        *changes,
        str(count[State.FAILING]),
        str(regressed) if several else NONE,
        *map(mean_text, figures),
        *_spending(cell, account.spending),
    )


def _round_row(cell: Cell, one: RoundAccount, name: str, view: View) -> tuple[str, ...]:
    replies, _, cost = _spending(cell, one.spending)
    states = Counter(view.states.values())
    figures = [_solved_mean(cell, view, figure) for figure in ("speedup", "traffic")]
    changes = [str(states[state]) if one.number > 1 or state is State.FAILING else NONE for state in CHANGES]
    return (
        *(cell.label, str(one.number), name, str(one.submitted)),
        *map(_share, (view.compile_rate, view.call_rate, view.correct_rate)),
        *changes,
        *figures,
        *map(str, (one.not_interpretable, one.infra)),
        *(replies, cost),
    )


def _solved_mean(cell: Cell, view: View, figure: str) -> str:
    """The geometric mean of each state that has correct kernels, with its n."""
    means: list[tuple[State, Mean]] = []
    for state in SOLVED:
        mean: Mean | None = getattr(view.groups[state], figure)
        if mean:
            means.append((state, mean))
    return "\n".join(f"{state} {mean.geometric:.2f}x n={mean.n}" for state, mean in means) or NONE


def _spending(cell: Cell, spent: Spending) -> tuple[str, str, str]:
    if cell.run.imported:
        return UNKNOWN, UNKNOWN, UNKNOWN
    known = spent.input_tokens is not None and spent.output_tokens is not None
    tokens = f"{spent.input_tokens:,} in, {spent.output_tokens:,} out" if known else UNKNOWN
    return str(spent.replies), tokens, UNKNOWN if spent.usd is None else f"${spent.usd:.4f}"


def _share(rate: float | None) -> str:
    return NONE if rate is None else f"{rate:.1%}"
