"""Two runs task by task: regressions first, paired tests, and the settings that differ."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.commands.shared import recorded_flag
from experiments.output import show, table, write_json

if TYPE_CHECKING:
    from rich.console import Group

    from evaluator.records import Evaluation
    from experiments.compare import Comparison, Pair, Who

HELP = "two runs task by task: regressions first, paired tests, and the settings that differ"
EXAMPLES = """\
  python -m experiments compare RUN RUN
"""
SIDES = ("first", "second")


def flags(command: argparse.ArgumentParser) -> None:
    for name in SIDES:
        command.add_argument(name, metavar="RUN", help=f"the {name} run, by path or by name")
    command.add_argument("--json", type=Path, metavar="FILE", help="write all of it to a new file too")
    recorded_flag(command)


def run(arguments: argparse.Namespace) -> int:
    from experiments.compare import compare

    found = compare(arguments.first, arguments.second, recorded=arguments.recorded)
    if arguments.json:
        write_json(arguments.json, as_json(found))
    show(_parts(found))
    return 0


def as_json(found: Comparison) -> dict[str, Any]:
    """All that is shown, and of each pair both verdicts, as JSON values."""
    from dataclasses import asdict

    from experiments.compare import INTERVAL, Who

    return {
        "runs": [
            {"run": cell.run.path.name, "label": cell.label, "notice": cell.run.simulation_notice}
            for cell in found.cells
        ],
        "settings": {name: dict(zip(SIDES, values, strict=True)) for name, values in found.settings.items()},
        "only": dict(zip(SIDES, found.only, strict=True)),
        "not_judged": dict(zip(SIDES, found.unjudged, strict=True)),
        "counts": {who: found.counts[who] for who in Who},
        "test": found.test and {**asdict(found.test), "interval": INTERVAL},
        "ratios": found.ratios and asdict(found.ratios),
        "categories": {name: {who: counts[who] for who in Who} for name, counts in found.categories.items()},
        "tasks": [
            {
                **{"task": pair.task, "who": pair.who, "ratio": pair.ratio(found.figure)},
                **{name: _verdict(one) for name, one in zip(SIDES, (pair.first, pair.second), strict=True)},
            }
            for who in Who
            for pair in found.of(who)
        ],
    }


def _verdict(one: Evaluation | None) -> dict[str, Any] | None:
    from experiments.compare import said

    if one is None:
        return None
    figures = {"speedup": one.speedup, "traffic": one.traffic}
    return {"status": one.status, "reason": one.reason, "diagnosis": said(one), **figures}


def _parts(found: Comparison) -> Iterable[str | Group]:
    from experiments.compare import Who, said

    for side, cell in zip(SIDES, found.cells, strict=True):
        yield f"{side:<7} {cell.run.path.name}: method {cell.method}, model {cell.model}, seed {cell.seed}"
    yield from dict.fromkeys(f"{cell.label}: {notice}" for cell in found.cells for notice in cell.notices)
    yield ""
    if found.settings:
        title = "Settings that differ: what follows may come of any of them"
        yield table(title, ("setting", *SIDES), [(name, *each) for name, each in found.settings.items()], left=3)
    else:
        yield "No recorded setting differs."
    yield ""
    yield f"{len(found.pairs)} tasks are compared"
    yield from _left_out(found, named=False)
    yield ""
    losses = [
        (pair.task, _outcome(pair.second), said(pair.second) if pair.second else "") for pair in found.of(Who.FIRST)
    ]
    title = f"Regressions, which only the first solves: {len(losses)}"
    yield table(title, ("task", "second", "which says"), losses, left=3)
    yield ""
    yield from _correctness(found)
    yield _figure(found)
    yield ""
    columns = ("category", "tasks", *Who)
    rows = [(name, str(c.total()), *(str(c[who]) for who in Who)) for name, c in found.categories.items()]
    yield table("By category", columns, rows)
    for who, title in ((Who.SECOND, "Only the second solves"), (Who.BOTH, "Both solve"), (Who.NEITHER, "Neither does")):
        yield from _tasks(found, who, title)
    yield from _left_out(found, named=True)


def _left_out(found: Comparison, *, named: bool) -> Iterable[str]:
    what = ("only the {} has on its task list", "the {} has no verdict on, or none that its machine did not break")
    for each, how in zip((found.only, found.unjudged), what, strict=True):
        for side, tasks in zip(SIDES, each, strict=True):
            if tasks and named:
                yield f"\nLeft out, {len(tasks)} that {how.format(side)}: {', '.join(tasks)}"
            elif tasks:
                yield f"left out, named at the end: {len(tasks)} that {how.format(side)}"


def _tasks(found: Comparison, who: Who, title: str) -> Iterable[str | Group]:
    from experiments.compare import Who

    pairs = found.of(who)
    if pairs:
        columns = ("task", *SIDES, *["second/first"] * (who is Who.BOTH))
        yield ""
        yield table(f"{title}: {len(pairs)}", columns, [_row(pair, found.figure) for pair in pairs], left=3)


def _row(pair: Pair, figure: str) -> tuple[str, ...]:
    from experiments.compare import Who

    ratio = [] if pair.who is not Who.BOTH else [pair.ratio(figure)]
    cells = (
        f"{figure} {value:.2f}x" if one and one.correct and (value := getattr(one, figure)) else _outcome(one)
        for one in (pair.first, pair.second)
    )
    return pair.task, *cells, *("-" if one is None else f"{one:.2f}" for one in ratio)


def _correctness(found: Comparison) -> Iterable[str]:
    from experiments.compare import INTERVAL, Who

    n, test = len(found.pairs), found.test
    if test is None:
        yield "No task has a verdict in both runs."
        return
    for side, own in zip(SIDES, (Who.FIRST, Who.SECOND), strict=True):
        solved = found.counts[Who.BOTH] + found.counts[own]
        yield f"{side:<7} correct {solved} of {n} ({solved / n:.1%})"
    low, high = 100 * test.low, 100 * test.high
    yield f"second less first: {100 * test.difference:+.1f} points, 95 % [{low:+.1f}, {high:+.1f}] by {INTERVAL}"
    lost, won = found.counts[Who.FIRST], found.counts[Who.SECOND]
    yield f"McNemar's exact test: p = {test.p:.3g}, from {won} won against {lost} lost"
    yield ""


def _figure(found: Comparison) -> str:
    from agents.report_table import many, mean_text

    ratios = found.ratios
    if ratios is None:
        return "No task that both solve has a measured figure in both."
    p = "-, all are equal" if ratios.p is None else f"{ratios.p:.3g} of {ratios.unequal} unequal"
    better = "larger" if ratios.figure == "speedup" else "smaller"
    return (
        f"{ratios.figure} ({better} is better), second over first, of {many(ratios.mean.n, 'task')} that both solve: "
        f"{mean_text(ratios.mean)}\nWilcoxon's signed-rank test: p = {p}"
    )


def _outcome(one: Evaluation | None) -> str:
    return "nothing submitted" if one is None else one.outcome
