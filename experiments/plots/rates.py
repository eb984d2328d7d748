"""The share of tasks whose kernels compile, return and are correct: round by round, or as one row a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.tracker import RoundAccount, View
from experiments.plots.canvas import BLUE, GREEN, VERMILLION, panels, percent, sheet, shown_label
from experiments.plots.plot import Plot
from experiments.plots.series import Series, counted_tasks, marks
from experiments.plots.svg import svg_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = {"compile": VERMILLION, "call": GREEN, "correct": BLUE}
MARKERS = dict(zip(STEPS, ("^", "s", "o"), strict=True))
COLUMNS = ("run", "round", "view", "tasks", *STEPS)
WIDTHS = dict(zip(STEPS, (3.2, 2.1, 1.2), strict=True))
Rates = dict[str, float]


def rates_plot(series: Sequence[Series]) -> Plot | None:
    """Rates of each round, own candidates and best so far; a row a run where none has a second round."""
    shown = [one for one in series if one.rounds]
    if not shown:
        return None
    many_rounds = any(one.rounds > 1 for one in shown)
    what = "Share of the task list whose kernels compile, return from every call, and are correct"
    how = ", round by round. Solid: the best so far; dashed: the round's own candidates." if many_rounds else "."
    caption = " ".join((f"{what}{how} {counted_tasks(shown)}.", *marks(shown)))
    title = "Rates of each round" if many_rounds else "Rates"
    figure = _curves(shown) if many_rounds else _rows(shown)
    return Plot("rates", title, caption, svg_of(figure, "rates", title, caption), COLUMNS, _table(shown))


def _curves(series: Sequence[Series]) -> Figure:
    from matplotlib.ticker import MaxNLocator

    figure, axes = panels(series, 1.55, "round")
    for one, axis in zip(series, axes, strict=True):
        for (step, colour), (view, line) in ((s, v) for v in (("own", "--"), ("best", "-")) for s in STEPS.items()):
            points = [rates[step] for _, rates in _rounds(one, view)]
            marker = MARKERS[step] if view == "best" else ""
            label = step if view == "best" else f"{step}, the round's own"
            # so that one under another is seen
            width = WIDTHS[step] if view == "best" else 1.0
            places = range(1, len(points) + 1)
            axis.plot(places, points, line, color=colour, marker=marker, ms=WIDTHS[step] + 2.5, lw=width, label=label)
        axis.set_ylim(-0.03, 1.03)
        axis.set_xlim(0.8, max(each.rounds for each in series) + 0.2)
        axis.grid(axis="y")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        percent(axis, "y")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, columnspacing=1.2)
    return figure


def _rows(series: Sequence[Series]) -> Figure:
    figure = sheet(0.9 + 0.34 * len(series), series)
    axis = figure.subplots()
    places = range(len(series))
    for step, colour in STEPS.items():
        points = [rates[step] for one in series for _, rates in _rounds(one, "best")]
        axis.plot(points, places, MARKERS[step], color=colour, ms=6, alpha=0.9, label=step, clip_on=False)
    axis.set_yticks(places, [shown_label(one.label, 40) for one in series])
    axis.set_ylim(len(series) - 0.5, -0.5)
    axis.set_xlim(0, 1)
    axis.grid()
    percent(axis, "x")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def _rounds(series: Series, view: str) -> list[tuple[int, Rates]]:
    """Each round's tasks and rates over all runs of a series; a run that had ended stands where it stood."""
    found: list[tuple[int, Rates]] = []
    for number in range(series.rounds):
        views = [
            (len(cell.account.tasks), _view(cell.account.rounds, number, view))
            for cell in series.cells
            if cell.account.rounds
        ]
        tasks = sum(count for count, _ in views)
        rates = {step: sum(count * getattr(each, f"{step}_rate") for count, each in views) / tasks for step in STEPS}
        found.append((tasks, rates))
    return found


def _view(rounds: Sequence[RoundAccount], number: int, view: str) -> View:
    each = rounds[min(number, len(rounds) - 1)]
    return each.own if view == "own" else each.best


def _table(series: Sequence[Series]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (one.label, str(number), name, str(tasks), *(f"{rates[step]:.1%}" for step in STEPS))
        for one in series
        for view, name in (("own", "own"), ("best", "best so far"))
        for number, (tasks, rates) in enumerate(_rounds(one, view), start=1)
    )
