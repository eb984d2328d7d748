"""How much of correctness a task's category explains, and how much who made the kernel: shares of the deviance."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.report_table import PLAIN_WIDTH, many
from experiments.output import write_json
from tasks.errors import UserError, unknown

if TYPE_CHECKING:
    from experiments.cells import Cell
    from experiments.deviance_fit import Counts, Floats, Row, Table

RESAMPLES = 1000
CATEGORY, BOTH = "category", "both"
# of the rarer outcome for a coefficient; with fewer the test is rough (Vittinghoff and McCulloch 2007, Am J Epidemiol)
FEW = 5
LEGEND = """\
Logistic regressions of whether a row (cell, task) has a correct kernel. share: of the null deviance. 95 %: basic
bootstrap interval over whole tasks; few tasks make a share too high, so it may lie below. adjusted: for degrees of
freedom, 1 - (D / (n - p)) / (D0 / (n - 1)). chi2, df, p: likelihood-ratio test, which takes rows as independent; those
of one task are not. p by task: by permutation, of tasks between categories and of levels within tasks. A beyond B: both
less B alone.
"""


@dataclass(frozen=True)
class Part:
    """What a factor, or both, explain of the null deviance, as shares; None is unknown.

    `low` to `high`: 95 % bootstrap interval over tasks. `adjusted`: for degrees of freedom. `chi2` with `df` degrees of
    freedom and its `p`: the likelihood-ratio test against the model without it. Of a part that is called
    `A beyond B`, all is the difference between both and B alone. That test takes rows as independent; `p_permuted` does
    not: it exchanges whole tasks between categories, and levels within a task.
    """

    name: str
    share: float
    low: float | None
    high: float | None
    adjusted: float | None
    df: int
    chi2: float
    p: float | None
    p_permuted: float | None


@dataclass(frozen=True)
class Decomposition:
    """The parts of one set of rows, none where nothing varies; the levels that are `never` correct; and notes."""

    rows: int
    correct: int
    null_deviance: float
    parts: tuple[Part, ...]
    never: tuple[str, ...]
    notes: tuple[str, ...]

    def part(self, name: str) -> Part:
        """Raises KeyError for one that there is not."""
        return {part.name: part for part in self.parts}[name]


Found = dict[tuple[str, ...], Decomposition]  # by the levels that were left out


def decompose(rows: Sequence[Row], factor: str, seed: int = 0) -> Decomposition:
    """Shares of the null deviance of `correct` that category, `factor` (a word for the levels) and both explain, by
    logistic regressions without interaction, and what each adds to the other. Raises ValueError without rows.

    A share is (D0 - D) / D0, for single rows McFadden's (1974) likelihood-ratio index. Adjusted it is
    1 - (D / (n - p)) / (D0 / (n - 1)), with n rows and p parameters (Guisan and Zimmermann 2000, Ecological Modelling
    135). The bootstrap draws tasks, with all their rows, from all tasks alike. Its interval is the basic one, twice the
    share less the resamples' quantiles (Davison and Hinkley 1997, Bootstrap Methods and their Application, 5.2), within
    0 and 1: drawn tasks repeat, which inflates the resamples' shares, so their plain quantiles lie too high.
    """
    from experiments.deviance_fit import permutation_p, separation, shares, tabulate

    if not rows:
        raise ValueError("there are no rows")
    table = tabulate(rows)
    correct, counted = table.counts()
    found, null, _ = shares(correct, counted)
    never = tuple(level for level, right in zip(table.levels, correct.sum(0), strict=True) if not right)
    varying = {CATEGORY: len(table.categories) > 1, factor: len(table.levels) > 1}
    notes = [f"One {name} only: it has no share." for name, varies in varying.items() if not varies]
    parts: tuple[Part, ...] = ()
    if not null:
        notes = [f"{'Every' if correct.sum() else 'No'} row is correct: there is no deviance to explain."]
    elif any(varying.values()):
        resampled, said = _resampled(table, factor, seed)
        parts = _parts(table, found, float(null), factor, resampled, permutation_p(table, RESAMPLES, seed))
        notes += [*separation(table, factor), *said, *_checks(correct, counted, parts, float(null))]
    return Decomposition(len(rows), int(correct.sum()), float(null), parts, never, tuple(notes))


def _resampled(table: Table, factor: str, seed: int) -> tuple[Floats | None, list[str]]:
    """The shares (5, resamples) of those resamples that have them, and what is to be said of the others."""
    from experiments.deviance_fit import shares

    if len(table.place) < 2:
        return None, ["One task only: nothing to resample, so no interval."]
    correct, rows = table.resamples(RESAMPLES, seed)
    found, null, usable = shares(correct, rows)
    missing = (rows.sum(-1) == 0).any(-1) | (rows.sum(-2) == 0).any(-1)
    said = {
        f"lack a category or a {factor}, which then explains nothing": usable & missing,
        "are all right or all wrong, and left out": null == 0,
        "did not converge, and are left out": (null > 0) & ~usable,
    }
    notes = [f"Of {RESAMPLES} resamples {which.sum()} {what}." for what, which in said.items() if which.any()]
    return (found[:, usable] if usable.any() else None), notes


def _parts(
    table: Table, found: Floats, null: float, factor: str, resampled: Floats | None, chances: Floats
) -> tuple[Part, ...]:
    import numpy as np
    from scipy.stats import chi2

    from experiments.deviance_fit import parameters

    rows = table.counts()[1]
    varying = {CATEGORY: len(table.categories) > 1, factor: len(table.levels) > 1}
    size = (*rows.shape, parameters(rows), 1)
    names = (CATEGORY, factor, BOTH, f"{CATEGORY} beyond {factor}", f"{factor} beyond {CATEGORY}")
    # places in `found` and `size`: each model, and the one that it is set against; 3 is the null model
    pairs = ((0, 3), (1, 3), (2, 3), (2, 1), (2, 0))
    adjusted = [_adjusted(float(one), int(rows.sum()), p) for one, p in zip([*found[:3], 0.0], size, strict=True)]
    parts = []
    for at, (name, (model, against)) in enumerate(zip(names, pairs, strict=True)):
        if not all(varying.values()) and not varying.get(name):
            continue
        share, df = float(found[at]), size[model] - size[against]
        whole, less = adjusted[model], adjusted[against]
        difference = None if whole is None or less is None else whole - less
        low = high = None
        if resampled is not None:
            high, low = np.clip(2 * share - np.quantile(resampled[at], (0.025, 0.975)), 0, 1).tolist()
        p, permuted = (float(chi2.sf(share * null, df)), float(chances[at])) if df else (None, None)
        parts.append(Part(name, share, low, high, difference, df, share * null, p, permuted))
    return tuple(parts)


def _adjusted(share: float, rows: int, parameters: int) -> float | None:
    return 1 - (1 - share) * (rows - 1) / (rows - parameters) if rows > parameters else None


def _checks(correct: Counts, rows: Counts, parts: Sequence[Part], null: float) -> Iterator[str]:
    """What another fit, by statsmodels, contradicts; and too few outcomes for the tests."""
    from experiments.deviance_fit import statsmodels_deviance

    axes: dict[str, tuple[int, ...]] = {CATEGORY: (1,), BOTH: ()}
    for part in parts:
        if " beyond " in part.name:
            continue
        axis = axes.get(part.name, (0,))
        left = statsmodels_deviance(correct.sum(axis, keepdims=True), rows.sum(axis, keepdims=True))
        if abs(1 - left / null - part.share) > 1e-6:
            yield f"CONTRADICTED by statsmodels' fit of {part.name}, which explains {1 - left / null:.2%}."
    coefficients = max(part.df for part in parts)
    right, wrong = int(correct.sum()), int((rows - correct).sum())
    if min(right, wrong) < FEW * coefficients:
        fewer = many(min(right, wrong), "correct row" if right <= wrong else "wrong row")
        yield f"Only {fewer} for {many(coefficients, 'coefficient')}: p and the intervals are rough."


def deviance(
    cells: Sequence[Cell],
    *,
    by: str | None = None,
    without: Sequence[str] = (),
    of: str = "correct",
    out: Path | None = None,
) -> int:
    """Prints what category and `by` (method, model, or cell: each run by itself) explain of the cells' correctness, and
    the same without levels that are never correct. A cell without any verdict is left out. Returns exit code 0.

    By default `by` is what differs, cell where both or neither do. `without` names levels and categories to leave out.
    `of` is a lower bar that counts as correct (`Cell.reached`). `out` is a new JSON file. Raises UserError for a
    mistake in these.
    """
    from experiments.deviance_fit import Row

    if out and out.exists():
        raise UserError(f"{out} exists; name another file")
    silent = [f"{cell.label} (no verdict at all)" for cell in cells if not any(map(cell.counted, cell.tasks))]
    cells = [cell for cell in cells if any(map(cell.counted, cell.tasks))]
    if not cells:
        raise UserError("none of these runs has a verdict yet; there is nothing to explain")
    factor = by or _differing(cells)
    named = "label" if factor == "cell" else factor
    if factor == "cell" and len({cell.label for cell in cells}) < len(cells):
        raise UserError("two of these runs have the same name; rename one's folder, or choose --by method or model")
    rows = [
        Row(task, str(getattr(cell, named)), cell.reached(task, of), bool(cell.counted(task)))
        for cell in cells
        for task in cell.tasks
    ]
    rows = _left(rows, without)
    cells = [cell for cell in cells if getattr(cell, named) not in without]
    found: Found = {(): decompose(rows, factor)}
    never = found[()].never
    if never and found[()].parts:
        found[never] = decompose(_left(rows, never), factor)
    if of != "correct":
        print(f"A row counts as correct here when its kernel is {of.replace('_', ' ')}, whatever else is wrong.")
    print("\n".join(_head(cells, rows, factor, [*without, *silent])), end="\n\n")
    for gone, one in found.items():
        print("\n".join(_block(gone, one)), end="\n\n")
    print(LEGEND, end="")
    if out:
        write_json(out, {"of": of, **_json(cells, rows, factor, [*without, *silent], found)})
    return 0


def _differing(cells: Sequence[Cell]) -> str:
    differ = [name for name in ("method", "model") if len({getattr(cell, name) for cell in cells}) > 1]
    return differ[0] if len(differ) == 1 else "cell"


def _left(rows: Sequence[Row], without: Sequence[str]) -> list[Row]:
    known = {name for row in rows for name in (row.level, row.category)}
    for name in without:
        if name not in known:
            raise unknown("level", name, known)
    left = [row for row in rows if row.level not in without and row.category not in without]
    if not left:
        raise UserError("nothing is left without these; leave out fewer")
    return left


def _rates(rows: Sequence[Row], name: str) -> dict[str, dict[str, int]]:
    """Correct and all rows of each `level` or `category`."""
    levels = [getattr(row, name) for row in rows]
    known = sorted(set(levels)) if name == CATEGORY else dict.fromkeys(levels)
    each = {one: [row.correct for row, its in zip(rows, levels, strict=True) if its == one] for one in known}
    return {level: {"correct": sum(correct), "rows": len(correct)} for level, correct in each.items()}


def _head(cells: Sequence[Cell], rows: Sequence[Row], factor: str, left_out: Sequence[str]) -> Iterator[str]:
    counts = f"{many(len(cells), 'cell')}, {many(len({row.task for row in rows}), 'task')}, {many(len(rows), 'row')}"
    yield f"Correctness by {CATEGORY} and {factor}: {counts}, {sum(row.correct for row in rows)} correct"
    yield from (f"{cell.label}: {notice}" for cell in cells for notice in cell.notices)
    recorded = [cell.label for cell in cells if cell.recorded]
    unjudged = sum(not row.judged for row in rows)
    differ = len({frozenset(cell.tasks) for cell in cells}) > 1
    said = {
        f"left out: {', '.join(left_out)}": left_out,
        f"IMPORTED, by the origin's own verdicts: {', '.join(recorded)}": recorded,
        f"{many(unjudged, 'row')} without a verdict, counted as not correct": unjudged,
        f"the cells' task lists differ: {CATEGORY} and {factor} go together": differ,
    }
    for text in (text for text, shown in said.items() if shown):
        yield textwrap.fill(text, PLAIN_WIDTH, break_on_hyphens=False)
    for name, rates in ((factor, _rates(rows, "level")), (CATEGORY, _rates(rows, "category"))):
        listed = ", ".join(f"{level} {rate['correct']}/{rate['rows']}" for level, rate in rates.items())
        yield textwrap.fill(f"{name}: {listed}", PLAIN_WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _block(gone: tuple[str, ...], one: Decomposition) -> Iterator[str]:
    which = f"without {', '.join(gone)}, which {'is' if len(gone) == 1 else 'are'} never correct" if gone else "all"
    text = f"{which}: {many(one.rows, 'row')}, {one.correct} correct, null deviance {one.null_deviance:.2f}"
    yield textwrap.fill(text, PLAIN_WIDTH, break_on_hyphens=False)
    if one.parts:
        tests = f"{'chi2':>10}{'df':>5}{'p':>9}{'p by task':>11}"
        yield f"{'explained by':24}{'share':>8}{'95 %':>20}{'adjusted':>10}{tests}"
    for part in one.parts:
        between = "-" if part.low is None or part.high is None else f"{part.low:.2%} to {part.high:.2%}"
        adjusted = "-" if part.adjusted is None else f"{part.adjusted:.2%}"
        tests = f"{part.chi2:>10.2f}{part.df:>5}{_chance(part.p):>9}{_chance(part.p_permuted):>11}"
        yield f"{part.name:24}{part.share:>8.2%}{between:>20}{adjusted:>10}{tests}"
    for note in one.notes:
        yield textwrap.fill(note, PLAIN_WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _chance(p: float | None) -> str:
    return "-" if p is None else "<0.0001" if p < 1e-4 else f"{p:.4f}"


def _json(cells: Sequence[Cell], rows: Sequence[Row], factor: str, left_out: Sequence[str], found: Found) -> Any:
    about = ("label", "method", "model", "seed", "recorded", "simulated")
    return {
        "cells": [{name: getattr(c, name) for name in about} | {"notice": c.run.simulation_notice} for c in cells],
        "factor": factor,
        "left_out": list(left_out),
        "resamples": RESAMPLES,
        "rows": len(rows),
        "unjudged": sum(not row.judged for row in rows),
        "levels": _rates(rows, "level"),
        "categories": _rates(rows, "category"),
        "decompositions": [{"without": list(gone), **asdict(one)} for gone, one in found.items()],
    }
