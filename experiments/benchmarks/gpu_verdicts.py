"""The evaluator on a GPU, measured: oracles, torch.compile beside them, and recorded kernels."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from experiments.benchmarks.gpu_report import Report
from experiments.benchmarks.gpu_rig import Rig

if TYPE_CHECKING:
    from evaluator.records import Evaluation

T = TypeVar("T")


def oracles_section(arguments: argparse.Namespace, report: Report) -> None:
    """Every oracle through the evaluator: its verdict, and its times at all sizes beside eager."""
    from tasks.catalog import load, oracle_path, select

    names = sharded(select(arguments.tasks), arguments.shard)
    right = 0
    with _started(lambda: _evaluator(arguments.device, timing=True), "the evaluator") as evaluator:
        report.write(versions=evaluator.describe())
        for name in report.each(names, "tasks"):
            start = time.perf_counter()
            said = evaluator.evaluate(load(name), oracle_path(name).read_text(encoding="utf-8"))
            seconds = time.perf_counter() - start
            right += said.correct
            report.write(task=name, seconds=seconds, **_told(said))
            figures = f"{_figure(said.speedup)}{_figure(said.timing.share if said.timing else None)}"
            print(f"{name:52}{said.outcome:26}{seconds:6.1f} s{figures}  {_sizes(said)}", flush=True)
            if not said.correct:
                print("    " + said.diagnosis[:600].replace("\n", "\n    "), flush=True)
    print(f"{right} of {len(names)} oracles are correct")


def compiled_section(arguments: argparse.Namespace, report: Report) -> None:
    """The oracle beside eager and torch.compile, at one size, in two clean processes."""
    from dataclasses import asdict

    from tasks.catalog import load, select

    with Rig(arguments.device) as rig:
        print(rig.title())
        for name in report.each(sharded(select(arguments.tasks), arguments.shard), "tasks"):
            sizes = rig.sizes(load(name), name)
            row = rig.time("oracle", {"eager", "compiled"}, sizes[len(sizes) // 2], arguments.size_s)
            report.write(task=name, size=asdict(row) if row else None)
            over = row.over_compiled.median if row and row.over_compiled else None
            eager = row.speedup.median if row and row.speedup else None
            note = (row.message or ", ".join(row.notes)) if row else "lost"
            print(f"{name:52}{_figure(eager)}{_figure(over)}  {note}", flush=True)


def verdicts_section(arguments: argparse.Namespace, report: Report) -> None:
    """Seconds a verdict with and without timing, and what was said beside what is recorded."""
    from tasks.catalog import find, index, load

    lines = [json.loads(line) for line in arguments.kernels.read_text(encoding="utf-8").splitlines() if line.strip()]
    known = [line for line in lines if (name := find(line["task"])) and index()[name].built]
    known = sharded(known, arguments.shard)
    beside: Counter[tuple[str, str]] = Counter()
    for timing in (False, True):
        seconds = []
        with _started(lambda on=timing: _evaluator(arguments.device, on), "the evaluator") as evaluator:  # type: ignore[misc]
            for line in report.each(known, f"verdicts with timing {timing}"):
                name = str(find(line["task"]))
                start = time.perf_counter()
                said = evaluator.evaluate(load(name), line["source"])
                seconds.append(time.perf_counter() - start)
                recorded = str(line.get("recorded", ""))
                row = {"task": name, "timing_on": timing, "seconds": seconds[-1], "recorded": recorded}
                report.write(**row, recorded_speedup=line.get("speedup"), **_told(said))
                if timing and recorded:
                    beside[recorded, said.outcome] += 1
        if seconds:
            what, middle = "with" if timing else "without", statistics.median(seconds)
            print(f"{what} timing: median {middle:.2f} s, longest {max(seconds):.2f} s, {len(seconds)} verdicts")
    for (recorded, outcome), count in sorted(beside.items()):
        print(f"recorded {recorded:16} here {outcome:36} {count:5}")


def sharded(items: Sequence[T], shard: str) -> list[T]:
    """Every n-th of the items from the i-th on, of a shard "i/n"."""
    first, every = map(int, shard.split("/"))
    return list(items[first::every])


def _told(said: Evaluation) -> dict[str, Any]:
    timing = said.timing.to_json() if said.timing else None
    return {"outcome": said.outcome, "diagnosis": said.diagnosis[:1500], "warnings": said.warnings, "timing": timing}


def _evaluator(device: str, timing: bool) -> Any:
    from evaluator.judge import Evaluator

    return Evaluator(device="cuda", timing=timing) if device == "cuda" else Evaluator(device="cpu")


@contextmanager
def _started(make: Callable[[], Any], what: str) -> Iterator[Any]:
    """A context manager's value; says how long it took to start."""
    start = time.perf_counter()
    with make() as made:
        made.describe()
        print(f"{what} is up after {time.perf_counter() - start:.1f} s", flush=True)
        yield made


def _figure(value: float | None) -> str:
    return f"{'-':>8}" if value is None else f"{value:8.2f}"


def _sizes(said: Evaluation) -> str:
    rows = said.timing.sizes if said.timing else ()
    return ", ".join(
        row.message[:60]
        if row.ms is None or row.eager_ms is None or row.invalid
        else f"{row.ms:.3f}/{row.eager_ms:.3f}{'*' if row.launch_bound else ''}"
        for row in rows
    )
