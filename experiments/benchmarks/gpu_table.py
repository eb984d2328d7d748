"""The figures of a GPU run as Markdown tables, from the files that the sections wrote."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiments.benchmarks.gpu_report import rows_of

LABEL_MAX = 60


def table(folder: Path) -> str:
    """What was measured, section by section; a section that was not run is left out."""
    parts = [_oracles(folder), _verdicts(folder)]
    return "\n\n".join(part for part in parts if part)


def _oracles(folder: Path) -> str:
    from evaluator.paired import geometric_mean
    from evaluator.timing_records import TaskTiming

    rows = {row["task"]: row for row in rows_of(folder, "oracles") if "task" in row}
    compiled = {row["task"]: row["size"] for row in rows_of(folder, "compiled") if row.get("task")}
    lines = ["| task | verdict | over eager | share of the bound | over torch.compile | ms / eager ms, by size |"]
    lines += ["|---|---|---|---|---|---|"]
    speedups = []
    for name, row in sorted(rows.items()):
        timing = TaskTiming.from_json(row["timing"]) if row["timing"] else None
        speedup = timing.speedup if timing else None
        speedups.append(speedup)
        over = (compiled.get(name) or {}).get("over_compiled")
        figures = [speedup, timing.share if timing else None, over["median"] if over else None]
        sizes = ", ".join(map(_size, timing.sizes)) if timing else ""
        lines.append(f"| {name} | {row['outcome']} | {' | '.join(map(_figure, figures))} | {sizes} |")
    right = sum(row["outcome"] == "correct" for row in rows.values())
    known = [value for value in speedups if value]
    if not rows:
        return ""
    overs = [one["over_compiled"]["median"] for one in compiled.values() if one and one.get("over_compiled")]
    summary = (
        f"{right} of {len(rows)} oracles correct; geometric mean over eager {_figure(geometric_mean(known))} "
        f"({len(known)} tasks), over torch.compile {_figure(geometric_mean(overs))} ({len(overs)} tasks). "
        f"Seconds a verdict with timing, back to back: median {_seconds(row['seconds'] for row in rows.values())}."
    )
    return "\n".join([summary, "", *lines])


def _verdicts(folder: Path) -> str:
    rows = [row for row in rows_of(folder, "verdicts") if "task" in row]
    if not rows:
        return ""
    timed = [row for row in rows if row["timing_on"]]
    beside = Counter((row["recorded"], row["outcome"]) for row in timed)
    lines = ["| recorded | here | kernels |", "|---|---|---|"]
    lines += [f"| {recorded} | {outcome} | {count} |" for (recorded, outcome), count in sorted(beside.items())]
    medians = [
        f"{what} timing {_seconds(row['seconds'] for row in rows if row['timing_on'] is on)}"
        for what, on in (("with", True), ("without", False))
    ]
    return "\n".join([f"Seconds a verdict, median and longest: {', '.join(medians)}.", "", *lines])


def _size(size: Any) -> str:
    if size.invalid or size.ms is None or size.eager_ms is None:
        return f"{size.invalid}: {size.message}"[:LABEL_MAX].replace("|", "/")
    return f"{size.ms:.3f} / {size.eager_ms:.3f}{'*' if size.launch_bound else ''}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _seconds(values: Iterable[float]) -> str:
    known = list(values)
    return f"{statistics.median(known):.1f} s and {max(known):.1f} s ({len(known)})" if known else "-"
