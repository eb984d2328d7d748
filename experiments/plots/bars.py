"""Stacked bars whose segments carry their counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.plots.canvas import SMALL, text_on
from experiments.plots.svg import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def stack(
    axis: Axes, place: float, counts: Mapping[str, int], colours: Mapping[str, str], *, upright: bool, least: float
) -> None:
    """One bar at `place`: a segment for each count in the order of `colours`, as shares of their sum.

    A segment with at least the share `least` shows its count. `upright` bars stand, others lie.
    """
    total, start = sum(counts.values()), 0.0
    for name, colour in colours.items():
        share = counts.get(name, 0) / total if total else 0.0
        if not share:
            continue
        if upright:
            axis.bar(place, share, 0.78, start, color=colour, edgecolor=INK, linewidth=0.4)
        else:
            axis.barh(place, share, 0.78, start, color=colour, edgecolor=INK, linewidth=0.4)
        if share >= least:
            middle = start + share / 2
            at = (place, middle) if upright else (middle, place)
            axis.text(*at, str(counts[name]), ha="center", va="center", fontsize=SMALL, color=text_on(colour))
        start += share


def key(figure: Figure, colours: Mapping[str, str], columns: int) -> None:
    """A legend of the colours, below."""
    from matplotlib.patches import Patch

    names = [Patch(facecolor=colour, edgecolor=INK, linewidth=0.4, label=name) for name, colour in colours.items()]
    figure.legend(handles=names, loc="outside lower center", ncols=columns)
