"""The account as tables that fit into PLAIN_WIDTH: rates and figures of every round, then one row a task.

Colours are the terminal's business.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.efficiency import Mean
from agents.tracker import SOLVED, Account, Group, Spending, State, TaskAccount, View

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

PLAIN_WIDTH = 120
COLOURS = {
    State.CORRECT: "green",
    State.RESCUED: "bold green",
    State.PERSISTENT: "green",
    State.REGRESSED: "bold red",
    State.FAILING: "red",
}
OWN_TITLE = "Each round's own candidates; a task without one stands where it stood"
CHANGES = (State.RESCUED, State.PERSISTENT, State.REGRESSED, State.FAILING)
TASK_COLUMNS = ("task", "state", "rounds")
LETTERS = {
    State.CORRECT: "C",
    State.RESCUED: "R",
    State.PERSISTENT: "P",
    State.REGRESSED: "x",
    State.FAILING: ".",
}
LEGEND = """\
C correct in the first round, R rescued, P persistent, x regressed, . failing. Rates are over the task list; a task that
submits nothing stands where it stood. `+compile`: compile now and did not before. `since`: the first round that has a
correct kernel. Means are geometric with a 95 % bootstrap interval, then arithmetic with n.
"""


def render_account(account: Account, *, plain: bool = False) -> RenderableType:
    """Tables: each round's own candidates, the best so far, the means of both by state, what the rounds took, the
    tasks, and what those without a correct kernel came to. One without a row is left out. `plain`: no lines, no
    colours."""
    from rich import console

    if not account.rounds:
        return "Nothing is recorded yet."
    timed = any(group.speedup for row in account.rounds for view in (row.own, row.best) for group in _groups(view))
    tables = (
        _views_table(OWN_TITLE, [(row.number, row.own) for row in account.rounds], timed, plain),
        _views_table("Best so far", [(row.number, row.best) for row in account.rounds], timed, plain),
        _means_table(account, timed, plain),
        _rounds_table(account, plain),
        _tasks_table(account, plain),
        _failing_table(account, plain),
    )
    shown = [table for table in tables if table.row_count]
    return console.Group(*(part for table in shown for part in (table, "")), LEGEND, _total_line(account))


def account_text(account: Account) -> str:
    """The same as plain lines, whatever the terminal."""
    from rich.console import Console

    text = io.StringIO()
    console = Console(file=text, width=PLAIN_WIDTH, color_system=None, force_terminal=False, highlight=False)
    console.print(render_account(account, plain=True), soft_wrap=False)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def print_account(account: Account) -> None:
    """To standard output: tables on a terminal, plain lines elsewhere."""
    from rich.console import Console

    console = Console()
    if console.is_terminal:
        console.print(render_account(account))
    else:
        print(account_text(account), end="")


def mean_text(mean: Mean | None) -> str:
    """`1.32x [1.10, 1.60] mean 1.347 n=5`; of one, `1.32x n=1`; a dash for nothing measured."""
    if mean is None:
        return "-"
    if mean.low is None or mean.high is None:
        return f"{mean.geometric:.2f}x n={mean.n}"
    return f"{mean.geometric:.2f}x [{mean.low:.2f}, {mean.high:.2f}] mean {mean.arithmetic:.3f} n={mean.n}"


def many(count: int, noun: str, plural: str = "") -> str:
    """`1 task`, `2 tasks`; `plural` where it is more than an s."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def _groups(view: View) -> list[Group]:
    return [view.groups[state] for state in SOLVED]


def _views_table(title: str, views: Sequence[tuple[int, View]], timed: bool, plain: bool) -> Table:
    columns = ["round", "compile", "+compile", "call", "correct", *CHANGES]
    table = _table(title, columns + ["slower than eager"] * timed, plain)
    for number, view in views:
        compiles = [_share(view.compile_rate), "-" if view.newly_compiling is None else str(view.newly_compiling)]
        rates = [*compiles, _share(view.call_rate), _share(view.correct_rate)]
        cells = [str(number), *rates, *(str(view.groups[state].tasks) for state in CHANGES)]
        table.add_row(*cells, *[_share(view.slower_than_eager)] * timed)
    return table


def _means_table(account: Account, timed: bool, plain: bool) -> Table:
    """A row for each state of a round in which a kernel was measured, in either view."""
    figure = "speedup" if timed else "traffic"
    title = f"Mean {figure} of the correct kernels, by state"
    table = _table(title, ["each round's own", "best so far"], plain, left=("round", "state"))
    for row in account.rounds:
        for own, best in zip(_groups(row.own), _groups(row.best), strict=True):
            means = [group.speedup if timed else group.traffic for group in (own, best)]
            if any(means):
                table.add_row(f"{row.number:>5}", str(own.state), *map(mean_text, means))
    return table


def _rounds_table(account: Account, plain: bool) -> Table:
    columns = ["round", "tasks that submitted", "not interpretable", "infra errors", "replies", "tokens", "cost"]
    table = _table("What each round took", columns, plain)
    for row in account.rounds:
        counts = (row.not_interpretable, row.infra, row.spending.replies)
        submitted = f"{row.submitted} of {len(account.tasks)}"
        table.add_row(str(row.number), submitted, *map(str, counts), *_spending_cells(row.spending))
    return table


def _tasks_table(account: Account, plain: bool) -> Table:
    columns = ["since", "traffic", "speedup", "submissions"]
    table = _table("Tasks: the best of the run against the first round", columns, plain, left=TASK_COLUMNS)
    for row in account.tasks:
        table.add_row(*_task_cells(row), style=None if plain else COLOURS[row.state])
    return table


def _failing_table(account: Account, plain: bool) -> Table:
    table = _table("Tasks without a correct kernel: the best verdict", (), plain, left=("task", "verdict"))
    for row in account.tasks:
        if row.state is State.FAILING:
            status = "nothing submitted" if row.status is None else str(row.status)
            table.add_row(row.task, f"{status}: {row.reason}" if row.reason else status)
    return table


def _task_cells(row: TaskAccount) -> list[str]:
    return [
        row.task,
        str(row.state),
        "".join(LETTERS[state] for state in row.trail),
        str(row.solved_in_round or "-"),
        "-" if row.traffic is None else f"{row.traffic:.2f}x",
        "-" if row.speedup is None else f"{row.speedup:.2f}x",
        str(row.submissions),
    ]


def _total_line(account: Account) -> str:
    states = [row.state for row in account.tasks]
    counts = ", ".join(f"{states.count(state)} {state}" for state in State if state in states)
    replies = account.spending.replies
    if not replies:
        return f"{many(len(states), 'task')}: {counts}."
    tokens, cost = _spending_cells(account.spending)
    spent = f"{many(replies, 'reply', 'replies')}, tokens {tokens}, cost {cost}"
    return f"{many(len(states), 'task')}: {counts}. {spent}."


def _spending_cells(spending: Spending) -> list[str]:
    if not spending.replies:
        return ["-", "-"]
    read, written = (
        "?" if count is None else f"{count:,}" for count in (spending.input_tokens, spending.output_tokens)
    )
    tokens = "?" if read == written == "?" else f"{read} in, {written} out"
    return [tokens, "?" if spending.usd is None else f"${spending.usd:.4f}"]


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _table(title: str, columns: Sequence[str], plain: bool, left: Sequence[str] = ()) -> Table:
    from rich import box
    from rich.table import Table

    if plain:
        style = "none"
        table = Table(
            title=title, title_justify="left", title_style=style, header_style=style, box=None, pad_edge=False
        )
    else:
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for name in left:
        table.add_column(name, overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", overflow="fold")
    return table
