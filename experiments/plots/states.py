"""What each round did to the tasks: rescued, persistent, regressed and failing, as stacked bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.tracker import State
from experiments.plots.bars import key, stack
from experiments.plots.canvas import BLUE, CLEAR, GREEN, SKY, VERMILLION, panels, percent
from experiments.plots.plot import Plot
from experiments.plots.series import Series, counted_tasks, marks
from experiments.plots.svg import svg_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {
    State.CORRECT: SKY,
    State.PERSISTENT: BLUE,
    State.RESCUED: GREEN,
    State.REGRESSED: VERMILLION,
    State.FAILING: CLEAR,
}
COLUMNS = ("run", "round", "tasks", *map(str, COLOURS))


def states_plot(series: Sequence[Series]) -> Plot | None:
    """A bar for each round of each run that has a second one; None where none has."""
    shown = [one for one in series if one.rounds > 1]
    if not shown:
        return None
    title = "Rescued and persistent, round by round"
    what = (
        "Tasks by what the round's own candidates are against the round before, with counts; a task that submits "
        "nothing stands where it stood, and the first round knows correct and failing only."
    )
    caption = " ".join((what, f"{counted_tasks(shown)}.", *marks(shown)))
    rows = tuple(
        (one.label, str(number), str(counts.total()), *(str(counts[state]) for state in COLOURS))
        for one in shown
        for number, counts in enumerate(_rounds(one), start=1)
    )
    return Plot("states", title, caption, svg_of(_draw(shown), "states", title, caption), COLUMNS, rows)


def _rounds(series: Series) -> list[Counter[str]]:
    """Each round's tasks by state, summed over a series' runs that have the round."""
    rounds: list[Counter[str]] = [Counter() for _ in range(series.rounds)]
    for cell in series.cells:
        for counts, each in zip(rounds, cell.account.rounds, strict=False):
            counts.update(map(str, each.own.states.values()))
    return rounds


def _draw(series: Sequence[Series]) -> Figure:
    figure, axes = panels(series, 1.75, "round")
    colours = {str(state): colour for state, colour in COLOURS.items()}
    for one, axis in zip(series, axes, strict=True):
        for number, counts in enumerate(_rounds(one), start=1):
            stack(axis, number, counts, colours, upright=True, least=0.08)
        axis.set_xticks(range(1, max(each.rounds for each in series) + 1))
        axis.set_ylim(0, 1)
        axis.tick_params(axis="x", length=0)
        percent(axis, "y")
    key(figure, colours, 5)
    return figure
