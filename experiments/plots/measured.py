"""The measured figure of correct kernels: speedup where something was timed, else traffic; and how it is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.ranking import best
from evaluator.records import Evaluation
from experiments.cells import Cell
from experiments.plots.series import Series
from experiments.plots.svg import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# each is some fifty bytes in the file
MOST_DOTS = 1000


@dataclass(frozen=True)
class Figure:
    """`name` is the evaluation's field; `axis`, or `unit` where there is room, stands on the axis."""

    name: str
    axis: str
    unit: str
    more_is_better: bool

    def of(self, evaluation: Evaluation) -> float | None:
        value = getattr(evaluation, self.name)
        return None if value is None else float(value)


SPEEDUP = Figure("speedup", "speedup over eager", "speedup over eager (1 = as fast)", True)
TRAFFIC = Figure("traffic", "traffic over minimum", "traffic: bytes moved over the least possible (1 = perfect)", False)


def figure_of(series: Sequence[Series]) -> Figure:
    """Speedup if any correct kernel was timed, else the CPU tier's traffic."""
    ends = (end for one in series for _, end in one.ends())
    return SPEEDUP if any(end.speedup is not None for end in ends) else TRAFFIC


def standing(cell: Cell, task: str, number: int) -> Evaluation | None:
    """What stands for a task in round `number`, as in the account's own view: the best of its latest round so far."""
    so_far = [one for one in cell.counted(task) if one.round <= number]
    latest = max((one.round for one in so_far), default=0)
    found = best(one for one in so_far if one.round == latest)
    return found.evaluation if found else None


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile, linear between the values."""
    import numpy as np

    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return float(low), float(middle), float(high)


def spread(
    axis: Axes, found: Mapping[float, Sequence[float]], colour: str, *, upright: bool, dots: bool, marker: str = "o"
) -> None:
    """Values at their places, along the other axis: dots beside each other, or without `dots` a bar from quartile to
    quartile; with both, a tick at the median."""
    quarters = {place: quartiles(values) for place, values in found.items() if values}
    if not quarters:
        return
    if dots:
        places = [place + offset for place in quarters for offset in _offsets(len(found[place]))]
        values = [value for place in quarters for value in found[place]]
        at = (places, values) if upright else (values, places)
        axis.plot(*at, marker, color=colour, ms=4, alpha=0.85, mec=INK, mew=0.25, clip_on=False)
    else:
        bar = axis.vlines if upright else axis.hlines
        bar(list(quarters), *_ends((low, high) for low, _, high in quarters.values()), color=colour, lw=5, alpha=0.8)
    tick = axis.hlines if upright else axis.vlines
    middles = [middle for _, middle, _ in quarters.values()]
    tick(middles, *_ends((at - 0.2, at + 0.2) for at in quarters), color=INK, lw=1.6)


def log_ticks(axis: Axes, which: str, values: Sequence[float]) -> None:
    """A logarithmic axis with plain numbers, over `values` and 1, and a line at 1."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = min(1.0, *values) / 1.15, max(1.0, *values) * 1.15
    steps = (1, 2, 5) if high / low < 500 else (1,)
    ticks = [step * 10.0**power for power in range(-9, 10) for step in steps if low <= step * 10.0**power <= high]
    if which == "x":
        axis.set_xscale("log")
        axis.set_xlim(low, high)
        axis.axvline(1, color="#8a8a8a", lw=0.9)
    else:
        axis.set_yscale("log")
        axis.set_ylim(low, high)
        axis.axhline(1, color="#8a8a8a", lw=0.9)
    ruler = axis.xaxis if which == "x" else axis.yaxis
    ruler.set_major_locator(FixedLocator(ticks))
    ruler.set_minor_locator(NullLocator())
    ruler.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _offsets(count: int) -> list[float]:
    """Where dots stand beside their place, the same every time: a golden-ratio sequence, within 0.15."""
    return [0.0] if count == 1 else [0.3 * (at * 0.6180339887 % 1) - 0.15 for at in range(count)]


def _ends(spans: Iterable[tuple[float, float]]) -> tuple[list[float], list[float]]:
    starts, ends = zip(*spans, strict=True)
    return list(starts), list(ends)
