"""How good rescued kernels are beside persistent ones: their speedup or traffic, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.efficiency import mean_of
from agents.tracker import State
from experiments.plots.canvas import BLUE, GREEN, SMALL, panels
from experiments.plots.measured import MOST_DOTS, Figure, figure_of, log_ticks, quartiles, spread, standing
from experiments.plots.plot import Plot
from experiments.plots.series import Series, marks
from experiments.plots.svg import svg_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Sheet

COLOURS = {State.RESCUED: GREEN, State.PERSISTENT: BLUE}
BESIDE = {State.RESCUED: -0.23, State.PERSISTENT: 0.23}
MARKERS = {State.RESCUED: "^", State.PERSISTENT: "o"}
COLUMNS = ("run", "round", "state", "n", "geometric mean", "95 % interval", "arithmetic mean", "median")
Values = dict[tuple[int, State], list[float]]


def rescued_plot(series: Sequence[Series]) -> Plot | None:
    """Dots for each round and state, or quartiles where there are too many; None without a measured one."""
    figure = figure_of(series)
    found = [(one, values) for one in series if (values := _values(one, figure))]
    if not found:
        return None
    shown = [one for one, _ in found]
    total = sum(len(each) for _, values in found for each in values.values())
    title = f"{figure.name.capitalize()} of rescued and persistent kernels"
    dots = total <= MOST_DOTS
    caption = " ".join(
        (
            f"{figure.name.capitalize()} of the round's own correct kernels, by state against the round before;",
            f"{'a dot each' if dots else 'bars from quartile to quartile'}, with a tick at the median.",
            f"n = {total} measured kernels, a task again in each round in which it stands.",
            *marks(shown),
        )
    )
    drawn = _draw(found, figure, dots)
    return Plot("rescued", title, caption, svg_of(drawn, "rescued", title, caption), COLUMNS, _table(found))


def _values(series: Series, figure: Figure) -> Values:
    values: Values = {}
    for cell in series.cells:
        for each in cell.account.rounds:
            for task, state in each.own.states.items():
                kernel = standing(cell, task, each.number) if state in COLOURS else None
                value = figure.of(kernel) if kernel else None
                if value is not None:
                    values.setdefault((each.number, state), []).append(value)
    return values


def _draw(found: Sequence[tuple[Series, Values]], figure: Figure, dots: bool) -> Sheet:
    series = [one for one, _ in found]
    sheet, axes = panels(series, 1.9, "round (n above)", figure.axis)
    last = max(number for _, values in found for number, _ in values)
    everything = [value for _, values in found for each in values.values() for value in each]
    for (_, values), axis in zip(found, axes, strict=True):
        log_ticks(axis, "y", everything)
        low, high = axis.get_ylim()
        highest = high * (high / low) ** 0.15
        axis.set_ylim(low, highest)
        for state, colour in COLOURS.items():
            places = {number + BESIDE[state]: each for (number, its), each in values.items() if its is state}
            spread(axis, places, colour, upright=True, dots=dots, marker=MARKERS[state])
            for place, each in places.items():
                axis.text(place, highest, str(len(each)), ha="center", va="top", fontsize=SMALL)
        axis.set_xlim(1.5, last + 0.5)
        axis.set_xticks(range(2, last + 1))
        axis.grid(axis="y")
    for state, colour in COLOURS.items():
        axes[0].plot([], [], MARKERS[state], color=colour, label=str(state))
    sheet.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return sheet


def _table(found: Sequence[tuple[Series, Values]]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (one.label, str(number), str(state), *_figures(values[number, state]))
        for one, values in found
        for number, state in sorted(values, key=lambda key: (key[0], key[1] is State.PERSISTENT))
    )


def _figures(values: Sequence[float]) -> tuple[str, ...]:
    mean = mean_of(values)
    if mean is None:
        return "0", "-", "-", "-", "-"
    interval = "-" if mean.low is None or mean.high is None else f"{mean.low:.3g} to {mean.high:.3g}"
    middle = quartiles(values)[1]
    return str(mean.n), f"{mean.geometric:.3g}", interval, f"{mean.arithmetic:.3g}", f"{middle:.3g}"
