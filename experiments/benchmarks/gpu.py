"""The GPU tier measured on one GPU: each section prints a short table and writes its figures as JSON lines.

    python -m experiments.benchmarks.gpu oracles                      every built task's oracle: right? how fast?
    python -m experiments.benchmarks.gpu compiled                     oracles beside torch.compile, at one size
    python -m experiments.benchmarks.gpu same                         eager against itself, at three lengths of a call
    python -m experiments.benchmarks.gpu clocks                       beside triton.testing.do_bench and the profiler
    python -m experiments.benchmarks.gpu verdicts --kernels FILE      seconds a verdict; verdicts beside recorded ones
    python -m experiments.benchmarks.gpu all --kernels FILE
    python -m experiments.benchmarks.gpu table                        what a folder of figures says, in Markdown

A section stops when its seconds (`--cap-s`) are spent, and says how much is missing. Several processes may share the
work (`--shard 0/2`, `--shard 1/2`): while one of them times, the others wait for the device.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.benchmarks.gpu_report import Report
from experiments.benchmarks.gpu_rig import Rig
from experiments.benchmarks.gpu_table import table
from experiments.benchmarks.gpu_verdicts import compiled_section, oracles_section, verdicts_section

if TYPE_CHECKING:
    from evaluator.windows import TimedCase

REPEATS, SPREAD_OVER = 20, 10
LENGTHS = {"below 20 us": (256, 1024), "20 to 50 us": (8192, 1024), "above 50 us": (32768, 2048)}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the sections. Returns exit code 0, or 2 for a user's mistake."""
    arguments = _parser().parse_args(argv)
    from evaluator.settings import usable_device
    from tasks.errors import UserError

    sections = tuple(SECTIONS) if arguments.section == "all" else (arguments.section,)
    try:
        if "verdicts" in sections and not arguments.kernels:
            raise UserError("verdicts needs --kernels FILE")
        if arguments.kernels and not arguments.kernels.is_file():
            raise UserError(f"no such file: {arguments.kernels}")
        if arguments.section == "table":
            if not arguments.out.is_dir():
                raise UserError(f"no such folder: {arguments.out}")
            print(table(arguments.out))
            return 0
        usable_device("cuda" if arguments.device == "cuda" else "cpu")
        for section in sections:
            SECTIONS[section](arguments, Report(arguments.out, section, arguments.cap_s, arguments.shard))
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
        ours, bench, profiled, mhz = compared(run)
        report.write(kernel=name, ours_ms=ours, do_bench_ms=bench, profiler_ms=profiled, mhz=mhz)
        over = f"{ours / bench - 1:9.2%}{ours / profiled - 1:9.2%}  {mhz} MHz"
        print(f"{name:28}{ours:10.4f}{bench:10.4f}{profiled:10.4f}{over}", flush=True)


def _softmax(length: str, repeat: int, rig: Rig) -> TimedCase:
    from evaluator.windows import TimedCase, slots_for
    from tasks.catalog import load
    from tasks.draw import Draw
    from tasks.task import Case

    rows, cols = LENGTHS[length]
    case = Case(length, (Draw(repeat).normal(rows, cols), -1))
    slots = slots_for(4 * rows * cols, rig.machine.l2_bytes)
    return TimedCase(load("Math/softmax"), "Math/softmax", f"{length}, {repeat}", [case], slots)


SECTIONS: dict[str, Callable[[argparse.Namespace, Report], None]] = {
    "same": same_section,
    "clocks": clocks_section,
    "oracles": oracles_section,
    "compiled": compiled_section,
    "verdicts": verdicts_section,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m experiments.benchmarks.gpu", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("section", choices=(*SECTIONS, "all", "table"))
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="of oracles, compiled: ids, categories, globs (all)")
    parser.add_argument("--kernels", type=Path, metavar="FILE", help='JSON lines {"task", "source", "recorded"}')
    parser.add_argument("--out", type=Path, default=Path("gpu-figures"), help="folder for the figures (gpu-figures)")
    parser.add_argument("--cap-s", type=float, default=300.0, help="seconds a section may take (300)")
    parser.add_argument("--size-s", type=float, default=1.0, help="seconds one size may take (1)")
    parser.add_argument("--shard", default="0/1", metavar="I/N", help="only every N-th task or kernel, from I on")
    parser.add_argument("--device", choices=("cuda", "host"), default="cuda", help="host: to try it without a GPU")
    return parser


if __name__ == "__main__":
    sys.exit(main())
