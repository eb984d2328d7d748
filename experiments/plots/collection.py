"""All plots of some runs, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.cells import Cell
from experiments.plots.bound import bound_plot
from experiments.plots.canvas import settings
from experiments.plots.distribution import distribution_plot
from experiments.plots.errors import errors_plot
from experiments.plots.heat import heat_plot
from experiments.plots.plot import Plot
from experiments.plots.rates import rates_plot
from experiments.plots.rescued import rescued_plot
from experiments.plots.series import series_of
from experiments.plots.states import states_plot
from experiments.plots.svg import standalone
from tasks.errors import UserError

KINDS = (rates_plot, heat_plot, states_plot, rescued_plot, distribution_plot, bound_plot, errors_plot)


def plots_of(cells: Sequence[Cell]) -> list[Plot]:
    """The plots that have something to show, in the order of a report; [] for no runs, or runs without a verdict.

    Needs matplotlib, but no display. The same cells give the same plots.
    """
    if not cells:
        return []
    series = series_of(cells)
    with settings():
        drawn = [draw(series) for draw in KINDS]
    return [plot for plot in drawn if plot]


def write_plots(plots: Sequence[Plot], folder: Path) -> None:
    """Each plot as `folder`/NAME.svg, dark on white. Raises UserError when the folder or a file can't be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for plot in plots:
            (folder / f"{plot.name}.svg").write_text(standalone(plot.svg), encoding="utf-8")
    except OSError as error:
        raise UserError(f"can't write {error.filename or folder}: {error.strerror}") from error
