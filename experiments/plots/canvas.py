"""Figures without a display: sizes, colours that hold on light and dark pages, and panels of one kind."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from experiments.plots.series import Series, marks
from experiments.plots.svg import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 9.6  # inches; 691 points
PANELS_A_ROW = 4
# Okabe and Ito, Color Universal Design (2008); the yellow only where an outline holds it on white
BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, GREY = "#e69f00", "#56b4e9", "#8a8a8a"
# as lines they need a contrast of 3 on white and on black, so a darker orange
LINE_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, "#b87a00", INK)
LINE_STYLES = ("-", (0, (4, 1.5)), (0, (1, 1.2)))
CLEAR = "none"
FILLS = (VERMILLION, ORANGE, SKY, PURPLE, GREEN, "#f0e442")
SMALL = 7.5
SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.5,
    "axes.titlesize": 8.5,
    "axes.unicode_minus": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "grid.color": INK,
    "grid.alpha": 0.18,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "text.parse_math": False,
    "svg.hashsalt": "kernelmend",
    "path.simplify": False,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}


@contextmanager
def settings() -> Iterator[None]:
    """matplotlib's settings for these plots, whatever the reader's own; those come back afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def sheet(height: float, series: Sequence[Series]) -> Figure:
    """An empty figure, `height` inches without the marks, which stand on top of it."""
    from matplotlib.figure import Figure

    said = [line for mark in marks(series) for line in textwrap.wrap(mark, 120)]
    figure = Figure(figsize=(WIDTH, height + 0.16 * len(said)), layout="constrained")
    if said:
        figure.suptitle("\n".join(said), x=0.01, ha="left", fontsize=SMALL, style="italic")
    return figure


def panels(series: Sequence[Series], height: float, x: str, y: str = "") -> tuple[Figure, list[Axes]]:
    """A panel for each series, `height` inches each, which share their scales; with a single one it is as wide as two.

    Their titles are the labels, left out for a single one; `x` and `y` stand at the outer axes.
    """
    across = min(PANELS_A_ROW, max(2, len(series)))
    down = -(-len(series) // across)
    lines = max(shown_label(one.label, 32).count("\n") for one in series)
    figure = sheet(down * (height + 0.15 * lines) + 0.5, series)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    axes = list(grid.flat)
    for spare in axes[len(series) :]:
        spare.set_visible(False)
    for at, (one, axis) in enumerate(zip(series, axes, strict=False)):
        # a panel over an empty place shows the scale that stands below the others
        lowest, first = at + across >= len(series), at % across == 0
        axis.tick_params(labelbottom=lowest, bottom=lowest, left=first)
        axis.set_xlabel(x if lowest else "")
        axis.set_ylabel(y if first else "")
        if len(series) > 1:
            axis.set_title(shown_label(one.label, 32), loc="left")
    return figure, axes[: len(series)]


def shown_label(label: str, width: int) -> str:
    """A label in at most three lines of `width` characters, broken where words or names break; the table has it all."""
    lines = textwrap.wrap(label.replace("/", "/ "), width, max_lines=3, placeholder="...")
    return "\n".join(lines).replace("/ ", "/")


def text_on(fill: str) -> str:
    """Black or white, whichever is read better on a colour (contrast as in WCAG 2.1, 1.4.3); the page's on CLEAR."""
    if fill == CLEAR:
        return INK
    channels = [int(fill[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#0b0b0b" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


def percent(axis: Axes, which: str) -> None:
    """Ticks of a share in percent on the `x` or `y` axis."""
    from matplotlib.ticker import PercentFormatter

    (axis.xaxis if which == "x" else axis.yaxis).set_major_formatter(PercentFormatter(1.0, decimals=0))
