"""How near correct kernels come to what the hardware allows, by category."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.ranking import best
from evaluator.records import Evaluation
from experiments.plots.canvas import BLUE, GREY, panels, percent
from experiments.plots.measured import MOST_DOTS, quartiles, spread
from experiments.plots.plot import Plot
from experiments.plots.series import Series, category, counted_tasks, marks
from experiments.plots.svg import INK, svg_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("run", "category", "tasks", "measured", "lowest", "median", "highest")
Shares = dict[str, list[float]]


def bound_plot(series: Sequence[Series]) -> Plot | None:
    """The share of the bound of timed kernels, else the fewest bytes over those moved; None with nothing measured."""
    timed = any(_share(kernel, True) is not None for one in series for _, kernel in _kernels(one))
    found = [(one, shares) for one in series if (shares := _shares(one, timed))]
    if not found:
        return None
    shown = [one for one, _ in found]
    total = sum(len(each) for _, shares in found for each in shares.values())
    dots = total <= MOST_DOTS
    title = "Share of the physical bound" if timed else "The fewest bytes over the bytes moved (CPU tier)"
    what = (
        "The least time that a task's bytes and operations take at the device's measured peaks, over the kernel's time"
        if timed
        else "The fewest bytes that a task needs over those that the kernel moves (1 / traffic); nothing was timed"
    )
    caption = " ".join(
        (
            f"{what}; the best correct kernel of each task,",
            f"{'a dot each' if dots else 'bars from quartile to quartile'}, with a tick at the median.",
            f"n = {total} kernels, of {counted_tasks(shown).removeprefix('n = ')}.",
            *marks(shown),
        )
    )
    svg = svg_of(_draw(found, timed, dots), "bound", title, caption)
    rows = tuple(_row(one, name, shares[name]) for one, shares in found for name in sorted(shares))
    return Plot("bound", title, caption, svg, COLUMNS, rows)


def _kernels(series: Series) -> list[tuple[str, Evaluation]]:
    """The best correct kernel of each solved task of each run."""
    chosen = [(task, best(cell.counted(task))) for cell in series.cells for task in cell.tasks]
    return [(task, one.evaluation) for task, one in chosen if one and one.evaluation.correct]


def _share(kernel: Evaluation, timed: bool) -> float | None:
    if timed:
        return kernel.timing.share if kernel.timing else None
    return 1 / kernel.traffic if kernel.traffic else None


def _shares(series: Series, timed: bool) -> Shares:
    shares: Shares = {}
    for task, kernel in _kernels(series):
        share = _share(kernel, timed)
        if share is not None:
            shares.setdefault(category(task), []).append(share)
    return shares


def _draw(found: Sequence[tuple[Series, Shares]], timed: bool, dots: bool) -> Figure:
    names = sorted({name for _, shares in found for name in shares})
    unit = "share of the bound" if timed else "fewest bytes / bytes moved"
    figure, axes = panels([one for one, _ in found], 0.5 + 0.19 * len(names), unit)
    highest = max(1.0, *(value for _, shares in found for each in shares.values() for value in each))
    for (_, shares), axis in zip(found, axes, strict=True):
        axis.axvline(1, color=GREY, lw=0.9)
        axis.hlines(range(len(names)), 0, highest * 1.03, color=INK, alpha=0.18, lw=0.5)
        places = {float(place): shares.get(name, []) for place, name in enumerate(names)}
        spread(axis, places, BLUE, upright=False, dots=dots)
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xlim(0, highest * 1.03)
        axis.grid(axis="x")
        percent(axis, "x")
    return figure


def _row(series: Series, name: str, shares: Sequence[float]) -> tuple[str, ...]:
    tasks = sum(category(task) == name for cell in series.cells for task in cell.tasks)
    figures = (min(shares), quartiles(shares)[1], max(shares))
    return (series.label, name, str(tasks), str(len(shares)), *(f"{share:.1%}" for share in figures))
