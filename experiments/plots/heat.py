"""The correct rate by category and run, as a heat map with solved/tasks in its squares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plots.canvas import BLUE, sheet, shown_label
from experiments.plots.plot import Plot
from experiments.plots.series import Series, categories, category, counted_tasks, marks
from experiments.plots.svg import INK, svg_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALL = "all"
# with no more than this of the colour, a page's own text is read on it, dark on light or light on dark
DEEPEST = 0.6
Counts = list[tuple[int, int]]


def heat_plot(series: Sequence[Series]) -> Plot | None:
    """A row for each run, a square for each category and one for all; None before the first verdict."""
    if not any(cell.verdicts[task] for one in series for cell in one.cells for task in cell.tasks):
        return None
    names = categories(series)
    counts = [_counts(one, names) for one in series]
    title = "Correct by category"
    caption = " ".join(
        (
            "Tasks with a correct kernel over all tasks of the category; the deeper a square, the higher the share.",
            f"{counted_tasks(series)}.",
            *marks(series),
        )
    )
    rows = tuple((one.label, *map(_fraction, each)) for one, each in zip(series, counts, strict=True))
    figure = _draw(series, [*names, ALL], counts)
    return Plot("heat", title, caption, svg_of(figure, "heat", title, caption), ("run", *names, ALL), rows)


def _counts(series: Series, names: Sequence[str]) -> Counts:
    """Solved and all tasks of each category, then of all."""
    tasks = Counter(category(task) for cell in series.cells for task in cell.tasks)
    solved = Counter(category(task) for cell in series.cells for task in cell.solved)
    return [*((solved[name], tasks[name]) for name in names), (solved.total(), tasks.total())]


def _fraction(count: tuple[int, int]) -> str:
    return f"{count[0]}/{count[1]}" if count[1] else "-"


def _draw(series: Sequence[Series], names: Sequence[str], counts: Sequence[Counts]) -> Figure:
    figure = sheet(1.15 + 0.36 * len(series), series)
    axis = figure.subplots()
    for row, each in enumerate(counts):
        for column, count in enumerate(each):
            _square(axis, column + 0.25 * (names[column] == ALL), row, count)
    axis.set_xlim(0, len(names) + 0.25)
    axis.set_ylim(len(series), 0)
    places = [at + 0.5 + 0.25 * (name == ALL) for at, name in enumerate(names)]
    axis.set_xticks(places, names, rotation=40, ha="left", rotation_mode="anchor")
    labels = [shown_label(one.label, 30) if len(series) > 1 else "" for one in series]
    axis.set_yticks([row + 0.5 for row in range(len(series))], labels)
    axis.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    axis.spines[:].set_visible(False)
    return figure


def _square(axis: Axes, x: float, y: float, count: tuple[int, int]) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    solved, tasks = count
    fill = to_rgba(BLUE, DEEPEST * solved / tasks if tasks else 0.0)
    axis.add_patch(Rectangle((x + 0.03, y + 0.05), 0.94, 0.9, facecolor=fill, edgecolor=to_rgba(INK, 0.35), lw=0.5))
    said = _fraction(count)
    axis.text(x + 0.5, y + 0.5, said, ha="center", va="center", fontsize=8 if len(said) < 7 else 7)
