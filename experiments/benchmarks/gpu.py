"""The GPU tier measured on one GPU: each section prints a short table and writes its figures as JSON lines.

    python -m experiments.benchmarks.gpu oracles                      every built task's oracle: right? how fast?
    python -m experiments.benchmarks.gpu same                         eager against itself, at three lengths of a call
    python -m experiments.benchmarks.gpu clocks                       beside triton.testing.do_bench and the profiler
    python -m experiments.benchmarks.gpu verdicts --kernels FILE      seconds a verdict; verdicts beside recorded ones
    python -m experiments.benchmarks.gpu all --kernels FILE

A section stops when its seconds (`--cap-s`) are spent, and says how much is missing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.benchmarks.gpu_rig import Rig

if TYPE_CHECKING:
    from evaluator.timing import TimedCase
    from evaluator.timing_records import SizeTiming

REPEATS, SPREAD_OVER = 20, 10
LENGTHS = {"below 20 us": (256, 1024), "20 to 50 us": (8192, 1024), "above 50 us": (32768, 2048)}
SECTIONS = ("same", "clocks", "oracles", "verdicts")


class Report:
    """One section's rows: to a file as they come, and whether there is time for another."""

    def __init__(self, folder: Path, section: str, cap_s: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / f"{section}.jsonl").open("w", encoding="utf-8")
        self._end = time.monotonic() + cap_s
        print(f"\n## {section}")

    def write(self, **row: Any) -> None:
        self._file.write(json.dumps(row, default=str) + "\n")
        self._file.flush()

    def each(self, items: Sequence[Any], what: str) -> Iterator[Any]:
        """The items, until the time is spent; then says how many are missing."""
        for number, item in enumerate(items):
            if time.monotonic() > self._end:
                print(f"out of time: {len(items) - number} of {len(items)} {what} are missing")
                self.write(missing=[str(left)[:200] for left in items[number:]])
                return
            yield item


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the sections. Returns exit code 0, or 2 for a user's mistake."""
    arguments = _parser().parse_args(argv)
    from tasks.errors import UserError

    sections = SECTIONS if arguments.section == "all" else (arguments.section,)
    try:
        if "verdicts" in sections and not arguments.kernels:
            raise UserError("verdicts needs --kernels FILE")
        for section in sections:
            globals()[f"{section}_section"](arguments, Report(arguments.out, section, arguments.cap_s))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def same_section(arguments: argparse.Namespace, report: Report) -> None:
    """Eager in one process against eager in another."""
    from evaluator.paired import median

    with Rig(arguments.device) as rig:
        report.write(device=rig.facts, peaks=rig.peaks)
        print(f"{rig.title()}\n{'length':14}{'ms':>9}{'1 inside':>10}{'width':>9}{'spread':>9}{'batch':>7}{'pairs':>7}")
        for name in report.each(list(LENGTHS), "lengths"):
            sizes = [_softmax(name, repeat, rig) for repeat in range(REPEATS)]
            rows = [row for size in sizes if (row := rig.time("eager", {"eager"}, size, arguments.size_s))]
            for row in rows:
                report.write(length=name, timing=asdict(row))
            ratios = [row.speedup for row in rows if row.speedup]
            if not ratios:
                print(f"{name:14}no timing: {rows[0].message if rows else 'lost'}")
                continue
            inside = f"{sum(ratio.contains(1.0) for ratio in ratios)}/{REPEATS}"
            few = [ratio.median for ratio in ratios[:SPREAD_OVER]]
            ms, pairs = median(row.ms or 0.0 for row in rows), median(ratio.pairs for ratio in ratios)
            width = median(ratio.high - ratio.low for ratio in ratios)
            print(
                f"{name:14}{ms:9.4f}{inside:>10}{width:9.2%}{max(few) - min(few):9.2%}{rows[0].batch:7}{pairs:7.0f}",
                flush=True,
            )


def clocks_section(arguments: argparse.Namespace, report: Report) -> None:
    """The stopwatch beside two other clocks, in this process."""
    from experiments.benchmarks.gpu_clocks import compared, kernels

    print(f"{'kernel':28}{'ours ms':>10}{'do_bench':>10}{'profiler':>10}{'over it':>9}{'over it':>9}")
    for name, run in report.each(kernels(), "kernels"):
        ours, bench, profiled = compared(run)
        report.write(kernel=name, ours_ms=ours, do_bench_ms=bench, profiler_ms=profiled)
        over = f"{ours / bench - 1:9.2%}{ours / profiled - 1:9.2%}"
        print(f"{name:28}{ours:10.4f}{bench:10.4f}{profiled:10.4f}{over}", flush=True)


def oracles_section(arguments: argparse.Namespace, report: Report) -> None:
    """Every oracle: its verdict, then its times at all sizes, torch.compile at one of them."""
    from evaluator.judge import Evaluator
    from evaluator.paired import geometric_mean
    from tasks.catalog import load, oracle_path, select

    names = select(arguments.tasks)
    statuses: dict[str, str] = {}
    with _started(lambda: _evaluator(Evaluator, arguments.device, timing=False), "the evaluator") as evaluator:
        for name in names:
            statuses[name] = evaluator.evaluate(load(name), oracle_path(name).read_text(encoding="utf-8")).outcome
    means: list[float | None] = []
    with Rig(arguments.device) as rig:
        print(f"{rig.title()}\n{'task':34}{'verdict':22}{'speedup':>9}{'share':>8}{'compiled':>10}  sizes in ms")
        report.write(device=rig.facts, peaks=rig.peaks)
        for name in report.each(names, "tasks"):
            sizes = rig.sizes(load(name), name)
            rows = [_oracle(rig, size, number == len(sizes) // 2, arguments) for number, size in enumerate(sizes)]
            valid = all(row is not None and row.invalid is None for row in rows)
            speedup = geometric_mean(row.speedup.median if row and row.speedup else None for row in rows)
            share = geometric_mean(row.share if row else None for row in rows)
            compiled = next((row.over_compiled.median for row in rows if row and row.over_compiled), None)
            means.append(speedup if valid else None)
            report.write(task=name, verdict=statuses[name], sizes=[asdict(row) if row else None for row in rows])
            figures = f"{_figure(speedup if valid else None, 9)}{_figure(share, 8)}{_figure(compiled, 10)}"
            print(f"{name:34}{statuses[name]:22}{figures}  {', '.join(map(_short, rows))}", flush=True)
    right = sum(status == "correct" for status in statuses.values())
    known = [mean for mean in means if mean]
    mean = f"{geometric_mean(known):.2f}" if known else "unknown"
    print(f"{right} of {len(names)} oracles are correct; geometric mean of {len(known)} speedups over eager: {mean}")


def verdicts_section(arguments: argparse.Namespace, report: Report) -> None:
    """Seconds a verdict with and without timing, and what was said beside what is recorded."""
    from collections import Counter

    from evaluator.judge import Evaluator
    from tasks.catalog import find, index, load

    lines = [json.loads(line) for line in arguments.kernels.read_text(encoding="utf-8").splitlines() if line.strip()]
    known = [line for line in lines if (name := find(line["task"])) and index()[name].built]
    print(f"{len(known)} of {len(lines)} kernels are for a task that is built")
    beside: Counter[tuple[str, str]] = Counter()
    for timing in (True, False):
        report = report if timing else Report(arguments.out, "verdicts-untimed", arguments.cap_s)
        seconds = []
        with _started(lambda on=timing: _evaluator(Evaluator, arguments.device, on), "the evaluator") as evaluator:  # type: ignore[misc]
            for line in report.each(known, "verdicts"):
                name = str(find(line["task"]))
                start = time.perf_counter()
                said = evaluator.evaluate(load(name), line["source"])
                seconds.append(time.perf_counter() - start)
                recorded = str(line.get("recorded", ""))
                report.write(task=name, timing=timing, seconds=seconds[-1], recorded=recorded, said=said.to_json())
                if timing and recorded:
                    beside[recorded, said.outcome] += 1
        if seconds:
            middle, worst = statistics.median(seconds), max(seconds)
            what = "with" if timing else "without"
            print(f"{what} timing: median {middle:.2f} s, longest {worst:.2f} s, {len(seconds)} verdicts", flush=True)
    for (recorded, outcome), count in sorted(beside.items()):
        print(f"recorded {recorded:16} here {outcome:36} {count:5}")


def _softmax(length: str, repeat: int, rig: Rig) -> TimedCase:
    from evaluator.timing import TimedCase, slots_for
    from tasks.catalog import load
    from tasks.draw import Draw
    from tasks.task import Case

    rows, cols = LENGTHS[length]
    case = Case(length, (Draw(repeat).normal(rows, cols), -1))
    slots = slots_for(4 * rows * cols, rig.machine.l2_bytes)
    return TimedCase(load("Math/softmax"), "Math/softmax", f"{length}, {repeat}", [case], slots)


def _oracle(rig: Rig, size: TimedCase, compiled: bool, arguments: argparse.Namespace) -> SizeTiming | None:
    names = {"eager", "compiled"} if compiled and not arguments.no_compile else {"eager"}
    return rig.time("oracle", names, size, arguments.size_s)


def _evaluator(kind: Any, device: str, timing: bool) -> Any:
    return kind(device="cuda", timing=timing) if device == "cuda" else kind(device="cpu")


@contextmanager
def _started(make: Callable[[], Any], what: str) -> Iterator[Any]:
    """A context manager's value; says how long it took to start."""
    start = time.perf_counter()
    with make() as made:
        made.describe()
        print(f"{what} is up after {time.perf_counter() - start:.1f} s", flush=True)
        yield made


def _figure(value: float | None, width: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.2f}"


def _short(row: SizeTiming | None) -> str:
    if row is None or row.ms is None or row.eager_ms is None:
        return row.message[:60] if row else "lost"
    return (
        f"{row.ms:.3f}/{row.eager_ms:.3f}{'*' if row.launch_bound else ''}{f' ({row.invalid})' if row.invalid else ''}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m experiments.benchmarks.gpu", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("section", choices=(*SECTIONS, "all"))
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="for oracles: ids, categories or globs (all)")
    parser.add_argument("--kernels", type=Path, metavar="FILE", help='JSON lines {"task", "source", "recorded"}')
    parser.add_argument("--out", type=Path, default=Path("gpu-figures"), help="folder for the figures (gpu-figures)")
    parser.add_argument("--cap-s", type=float, default=300.0, help="seconds a section may take (300)")
    parser.add_argument("--size-s", type=float, default=1.0, help="seconds one size may take (1)")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--device", choices=("cuda", "host"), default="cuda", help="host: to try it without a GPU")
    return parser


if __name__ == "__main__":
    sys.exit(main())
