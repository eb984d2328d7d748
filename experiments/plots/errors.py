"""How the best candidate of each task ended: outcomes by category, and by run where there are several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from experiments.plots.bars import key, stack
from experiments.plots.canvas import BLUE as SOLVED
from experiments.plots.canvas import CLEAR, FILLS, GREY, percent, sheet, shown_label
from experiments.plots.plot import Plot
from experiments.plots.series import NOTHING, Series, category, counted_tasks, marks, outcome
from experiments.plots.svg import svg_of
from tasks.outcomes import Reason, Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CORRECT = str(Status.CORRECT)
OTHER = "other"
# counted apart wherever it is: it says nothing about the kernel
APART = f"{Status.REJECTED}: {Reason.NOT_INTERPRETABLE}"
Bar = tuple[str, Counter[str]]


def errors_plot(series: Sequence[Series]) -> Plot | None:
    """Bars of shares with the counts in them; rare outcomes are drawn as `other`. None before the first verdict."""
    ends = [(one.label, category(end.task), outcome(cell, end)) for one in series for cell, end in one.ends()]
    total = Counter(said for _, _, said in ends)
    if set(total) <= {NOTHING}:
        return None
    groups = {"category": sorted(_bars((where, said) for _, where, said in ends))}
    if len(series) > 1:
        groups["run"] = _bars((label, said) for label, _, said in ends)
    outcomes = sorted(total, key=lambda said: (said != CORRECT, said == NOTHING, -total[said], said))
    rows = tuple(
        (by, name, str(counts.total()), *(str(counts[said]) for said in outcomes))
        for by, bars in groups.items()
        for name, counts in bars
    )
    title = "How kernels ended"
    colours = _colours(outcomes)
    what = "The best candidate of each task by status and reason, as shares of the tasks, with counts"
    rare = "; rare ones are drawn together as `other`" if OTHER in colours else ""
    caption = " ".join((f"{what}{rare}. {counted_tasks(series)}.", *marks(series)))
    figure = _draw(series, list(groups.values()), colours)
    svg = svg_of(figure, "errors", title, caption)
    return Plot("errors", title, caption, svg, ("by", "group", "tasks", *outcomes), rows)


def _bars(pairs: Iterable[tuple[str, str]]) -> list[Bar]:
    bars: dict[str, Counter[str]] = {}
    for name, said in pairs:
        bars.setdefault(name, Counter())[said] += 1
    return list(bars.items())


def _colours(outcomes: Sequence[str]) -> dict[str, str]:
    """The outcomes that are drawn, in order, with their colours; those without one are `other`."""
    failures = [said for said in outcomes if said not in (CORRECT, NOTHING)]
    named = failures[: len(FILLS)]
    if APART in failures and APART not in named:
        named[-1] = APART
    colours = {CORRECT: SOLVED} if CORRECT in outcomes else {}
    colours |= dict(zip(named, FILLS, strict=False))
    if len(failures) > len(named):
        colours[OTHER] = GREY
    return colours | ({NOTHING: CLEAR} if NOTHING in outcomes else {})


def _draw(series: Sequence[Series], groups: Sequence[Sequence[Bar]], colours: dict[str, str]) -> Figure:
    bars = [len(each) for each in groups]
    figure = sheet(0.9 + 0.2 * -(-len(colours) // 3) + 0.24 * sum(bars) + 0.3 * len(bars), series)
    axes = figure.subplots(len(groups), squeeze=False, height_ratios=bars, sharex=True)[:, 0]
    for axis, each in zip(axes, groups, strict=True):
        for place, (_, counts) in enumerate(each):
            drawn = Counter(said if said in colours else OTHER for said in counts.elements())
            stack(axis, place, drawn, colours, upright=False, least=0.025)
        names = [f"{shown_label(name, 40)} (n={counts.total()})" for name, counts in each]
        axis.set_yticks(range(len(each)), names)
        axis.set_ylim(len(each) - 0.4, -0.6)
        axis.set_xlim(0, 1)
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        percent(axis, "x")
    key(figure, colours, 3)
    return figure
