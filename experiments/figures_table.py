"""Figures of runs and categories as tables that fit into PLAIN_WIDTH; every share and mean is beside its n."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp
from typing import TYPE_CHECKING

from agents.report_table import PLAIN_WIDTH, many
from agents.tracker import State
from experiments.contrast import Step
from experiments.figures import THRESHOLDS, Group, Ratios, Share
from experiments.pass_at_k import PassAtK

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.table import CellRows, Row

CHANGES = (State.RESCUED, State.PERSISTENT, State.REGRESSED)
RATIOS = ("figure", "geometric", "mean", "median", "n")
LEGEND = """\
Rates are over all n tasks of the list, with the 95 % Wilson interval; a task without a verdict counts as failing.
compile: nothing that was launched failed to compile, so a file that launches nothing counts. values: tasks whose
values are right, also where only the contract refuses the kernel.
rescued, persistent, regressed: the last round's own candidates against the first's. geometric: the mean with a 95 %
bootstrap interval; mean: the arithmetic one; n: the correct kernels that were measured, each task's best. slower: those
with a speedup below 1. fast_p: tasks whose best kernel is correct and more than p times as fast as eager. pass@k: per
cent over the tasks with k independent candidates in round 1 or more, with a 95 % bootstrap by task. Of traffic, less is
better. - is nothing to tell, ? is unknown.
"""
GROUPS_LEGEND = """\
own: each round's own candidates; best: the best so far. A regressed task's figure is that of the kernel that it had
before. p: permutation test on the difference of mean logarithms, two-sided, not corrected for there being several.
total = within x entry x exit, as factors of the geometric mean: tasks correct both times, rescued, regressed.
"""


def print_figures(rows: Sequence[CellRows], *, by_category: bool, everything: bool) -> None:
    """To standard output: a row a run, or with `by_category` a section a run; with `everything`, all figures."""
    from rich.console import Console

    text = io.StringIO()
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(file=text, highlight=False, color_system=None, width=PLAIN_WIDTH)
    each_run = [([row], [*row.categories, row.whole]) for row in rows]
    for runs, section in each_run if by_category else [(list(rows), [row.whole for row in rows])]:
        for line in _heading(runs):
            console.print(line, markup=False, soft_wrap=True)
        for title, table in _tables(section, everything):
            if table.row_count:
                console.print(f"\n{title}", markup=False, soft_wrap=True)
                console.print(table)
        console.print()
    console.print(LEGEND + GROUPS_LEGEND * everything, markup=False, end="", soft_wrap=True)
    print("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()), end="")


def ratio_cells(speedup: Ratios | None, traffic: Ratios | None) -> list[str]:
    """Cells for `RATIOS`: the speedup where there is one, else the traffic; dashes for nothing measured."""
    ratios = speedup or traffic
    if ratios is None:
        return ["-"] * len(RATIOS)
    interval = "" if ratios.low is None or ratios.high is None else f" [{ratios.low:.2f}, {ratios.high:.2f}]"
    others = (f"{ratios.arithmetic:.2f}", f"{ratios.median:.2f}", str(ratios.n))
    return ["speedup" if speedup else "traffic", f"{ratios.geometric:.2f}x{interval}", *others]


def share_text(share: Share) -> str:
    """`66: 45 [37, 53]`, the count, then per cent."""
    return f"{share.count}: {100 * share.value:.0f} [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def pass_text(found: PassAtK | None) -> str:
    """`45 [37, 53] n=147`, per cent, n the tasks; a dash for none."""
    if found is None:
        return "-"
    interval = "" if found.low is None or found.high is None else f" [{100 * found.low:.0f}, {100 * found.high:.0f}]"
    return f"{100 * found.value:.0f}{interval} n={found.tasks}"


def _heading(rows: Sequence[CellRows]) -> Iterator[str]:
    for row in rows:
        cell = row.cell
        missing = row.whole.figures.tasks - row.whole.figures.judged
        tasks, rounds = many(len(cell.tasks), "task"), many(len(cell.account.rounds), "round")
        whose = ", verdicts of its origin" if cell.recorded else ""
        lacking = f", {missing} without a verdict" if missing else ""
        yield f"{cell.label}: method {cell.method}, model {cell.model}, {tasks}, {rounds}{whose}{lacking}"
        yield from (f"{cell.label}: {notice}" for notice in cell.notices)


def _tables(rows: Sequence[Row], everything: bool) -> Iterator[tuple[str, Table]]:
    yield "Rates: count, then per cent with its interval", _rates(rows)
    yield "The correct kernels, and pass@1", _efficiency(rows)
    yield "Cost", _costs(rows)
    if everything:
        yield "fast_p: count of all n tasks, then per cent with its interval", _fast(rows)
        yield "pass@k over independent candidates of round 1, per cent", _passes(rows)
        yield "Each round's groups", _groups(rows)
        yield "Rescued against persistent: geometric mean of the former over that of the latter", _contrasts(rows)
        yield "What changed the geometric mean", _compositions(rows)
        yield "Verdicts: the best candidate of each task", _outcomes(rows, lambda row: row.figures.best_outcomes)
        yield "Verdicts: all candidates", _outcomes(rows, lambda row: row.figures.outcomes)


def _rates(rows: Sequence[Row]) -> Table:
    table = _table(("n", "compile", "call", "values", "correct", *CHANGES))
    for row in rows:
        its = row.figures
        shares = (
            share_text(its.compiled),
            share_text(its.called),
            str(its.values_right.count),
            share_text(its.correct),
        )
        changes = [str(its.changes[state]) if its.changes else "-" for state in CHANGES]
        table.add_row(row.label, str(its.tasks), *shares, *changes)
    return table


def _efficiency(rows: Sequence[Row]) -> Table:
    timed = any(row.figures.fast for row in rows)
    table = _table((*RATIOS, *["slower", "fast_1"] * timed, "pass@1"))
    for row in rows:
        its = row.figures
        compared = []
        if timed:
            slower = f"{its.slower_than_eager.count} of {its.slower_than_eager.n}" if its.slower_than_eager else "-"
            compared = [slower, f"{its.fast[1.0].count} of {its.tasks}" if its.fast else "-"]
        first = next((found for found in row.passes if found.k == 1), None)
        figures = ratio_cells(its.speedup, its.traffic)
        table.add_row(row.label, *figures, *compared, pass_text(first))
    return table


def _costs(rows: Sequence[Row]) -> Table:
    """Without a row for what asked no model, as an import."""
    table = _table(("replies", "tokens in", "out", "$", "correct tasks", "tokens for each", "$ for each"))
    for row in rows:
        cost, correct = row.figures.cost, row.figures.correct.count
        if cost.replies:
            took = (_known(cost.input_tokens), _known(cost.output_tokens), _known(cost.usd, 4))
            each = (_known(cost.tokens_per_correct), _known(cost.usd_per_correct, 4)) if correct else ("-", "-")
            table.add_row(row.label, str(cost.replies), *took, str(correct), *each)
    return table


def _known(amount: float | None, digits: int = 0) -> str:
    return "?" if amount is None else f"{amount:,.{digits}f}"


def _fast(rows: Sequence[Row]) -> Table:
    table = _table(("n", "timed", *(f"p = {p}" for p in THRESHOLDS)))
    for row in rows:
        its = row.figures
        if its.fast:
            timed = its.speedup.n if its.speedup else 0
            table.add_row(row.label, str(its.tasks), str(timed), *(share_text(its.fast[p]) for p in THRESHOLDS))
    return table


def _passes(rows: Sequence[Row]) -> Table:
    table = _table(("k", "pass@k", "tasks with k", "candidates each"))
    for row in rows:
        for found in row.passes:
            sizes = str(found.most) if found.fewest == found.most else f"{found.fewest} to {found.most}"
            table.add_row(row.label, str(found.k), pass_text(found), f"{found.tasks} of {found.listed}", sizes)
    return table


def _groups(rows: Sequence[Row]) -> Table:
    """A group that is the same in both views is one row."""
    table = _table(("round", "view", "state", "tasks", *RATIOS))
    for row in rows:
        views: dict[Group, list[str]] = {}
        for group in row.groups:
            views.setdefault(replace(group, view="own"), []).append(group.view)
        for group, its in views.items():
            head = (str(group.round), its[0] if len(its) == 1 else "both", str(group.state), str(group.tasks))
            table.add_row(row.label, *head, *ratio_cells(group.speedup, group.traffic))
    return table


def _contrasts(rows: Sequence[Row]) -> Table:
    table = _table(("rounds", "figure", "rescued", "persistent", "ratio", "p", "groupings"))
    for row in rows:
        for step in row.steps:
            if found := step.contrast:
                counts = (f"n={found.rescued}", f"n={found.persistent}", f"{found.ratio:.2f}x", f"{found.p:.2g}")
                groupings = f"all {found.permutations}" if found.exact else f"{found.permutations} drawn"
                table.add_row(row.label, *_step_cells(step), *counts, groupings)
    return table


def _compositions(rows: Sequence[Row]) -> Table:
    table = _table(("rounds", "figure", "kernels", "unmeasured", "total", "within", "entry", "exit"))
    for row in rows:
        for step in row.steps:
            if found := step.composition:
                sizes = (found.both, found.entered, found.left)
                parts = zip((found.within, found.entry, found.exit), sizes, strict=True)
                cells = ["-" if part is None else f"{exp(part):.3f}x n={n}" for part, n in parts]
                counts = (f"{found.before} to {found.after}", str(step.unmeasured), f"{exp(found.total):.3f}x")
                table.add_row(row.label, *_step_cells(step), *counts, *cells)
    return table


def _step_cells(step: Step) -> tuple[str, str]:
    return f"{step.view} {step.start} to {step.end}", step.figure


def _outcomes(rows: Sequence[Row], counts: Callable[[Row], Mapping[str, int]]) -> Table:
    table = _table(("n",), ("counts",))
    for row in rows:
        its = counts(row)
        text = ", ".join(f"{count} {outcome}" for outcome, count in its.items())
        table.add_row(row.label, str(sum(its.values())), text or "-")
    return table


def _table(columns: Sequence[str], left: Sequence[str] = ()) -> Table:
    """The label on the left, then numbers, then what is read on from the left."""
    from rich.table import Table

    table = Table(header_style="none", box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", overflow="fold")
    for name in left:
        table.add_column(name, overflow="fold")
    return table
