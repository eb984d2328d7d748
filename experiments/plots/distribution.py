"""How the measured figure is spread over the tasks: speedup over eager, or traffic where nothing was timed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.efficiency import mean_of
from experiments.plots.canvas import LINE_COLOURS, LINE_STYLES, percent, sheet, shown_label
from experiments.plots.measured import Figure, figure_of, log_ticks, quartiles
from experiments.plots.plot import Plot
from experiments.plots.series import Series, counted_tasks, marks
from experiments.plots.svg import svg_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Sheet

# of more values a step is no longer seen, and would double the file
MOST_STEPS = 150
COUNTS = ("run", "tasks", "correct", "measured")
FIGURES = ("lowest", "lower quartile", "median", "upper quartile", "highest", "geometric mean")
Found = list[tuple[Series, list[float]]]


def distribution_plot(series: Sequence[Series]) -> Plot | None:
    """A curve for each run over the best correct kernel of each task; None where nothing was measured."""
    figure = figure_of(series)
    found = [(one, _values(one, figure)) for one in series]
    total = sum(len(values) for _, values in found)
    if not total:
        return None
    fast = figure.more_is_better
    title = "Speedup over eager" if fast else "Traffic over the minimum (CPU tier)"
    what = "is at least so many times faster than eager" if fast else "moves at most so many times the fewest bytes"
    why = "" if fast else " Nothing was timed: traffic is counted by the interpreter and is no time."
    caption = " ".join(
        (
            f"Share of the task list whose best correct kernel {what}, so a curve ends at the share that was measured.",
            f"n = {total} kernels, of {counted_tasks(series).removeprefix('n = ')}.{why}",
            *marks(series),
        )
    )
    svg = svg_of(_draw(found, figure), "distribution", title, caption)
    columns = (*COUNTS, *FIGURES, *(("slower than eager",) if fast else ()))
    return Plot("distribution", title, caption, svg, columns, tuple(_row(one, values, fast) for one, values in found))


def _values(series: Series, figure: Figure) -> list[float]:
    values = [getattr(end, figure.name) for _, end in series.ends()]
    return sorted(float(value) for value in values if value is not None)


def _draw(found: Found, figure: Figure) -> Sheet:
    shown = [(one, values) for one, values in found if values]
    drawn = sheet(2.9 + 0.17 * -(-len(shown) // 3), [one for one, _ in found])
    axis = drawn.subplots()
    log_ticks(axis, "x", [value for _, values in shown for value in values])
    edge = axis.get_xlim()[0 if figure.more_is_better else 1]
    highest = 0.0
    for at, (one, values) in enumerate(shown):
        shares = [count / one.tasks for count in range(1, len(values) + 1)]
        highest = max(highest, shares[-1])
        style = LINE_STYLES[at // len(LINE_COLOURS) % len(LINE_STYLES)]
        axis.plot(
            *_steps(values, shares, edge, figure.more_is_better),
            linestyle=style,
            color=LINE_COLOURS[at % len(LINE_COLOURS)],
            lw=1.4,
            label=f"{shown_label(one.label, 34)} (n={len(values)})",
        )
    axis.set_ylim(0, min(1.0, highest * 1.1))
    axis.grid()
    axis.set_xlabel(figure.unit)
    axis.set_ylabel("share of the task list")
    percent(axis, "y")
    drawn.legend(loc="outside lower center", ncols=3)
    return drawn


def _steps(
    values: Sequence[float], shares: Sequence[float], edge: float, more_is_better: bool
) -> tuple[list[float], list[float]]:
    """The corners of a curve that rises by a step at each value, from the best one, and runs on to the `edge`."""
    best_first = list(reversed(values) if more_is_better else values)
    if len(values) > MOST_STEPS:
        return [*best_first, edge], [*shares, shares[-1]]
    x, y, below = [], [], 0.0
    for value, share in zip(best_first, shares, strict=True):
        x += [value, value]
        y += [below, share]
        below = share
    return [*x, edge], [*y, below]


def _row(series: Series, values: Sequence[float], fast: bool) -> tuple[str, ...]:
    correct = sum(end.solved_in_round is not None for _, end in series.ends())
    counts = (series.label, str(series.tasks), str(correct), str(len(values)))
    mean = mean_of(values)
    if mean is None:
        return (*counts, *["-"] * (len(FIGURES) + fast))
    figures = [f"{value:.3g}" for value in (values[0], *quartiles(values), values[-1], mean.geometric)]
    slower = [f"{sum(value < 1 for value in values)}/{len(values)}"] if fast else []
    return (*counts, *figures, *slower)
