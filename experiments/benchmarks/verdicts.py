"""Seconds for a verdict on each built task's oracle, beside a fresh Python process on the same cases.

    python -m experiments.benchmarks.verdicts                       every built task, once
    python -m experiments.benchmarks.verdicts Math/* --repeats 3    some of them, the median of three

The evaluator is warm, as it is from a run's second candidate on; starting it is timed apart. Both sides compile for
sm90 with an empty cache and run one after the other, task by task. The evaluator also judges what it gets, the fresh
process doesn't. The ratio is fresh over verdict, in wall seconds seen by the caller.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluator.judge import Evaluator

SECRET = b"the benchmark's own"
COLUMNS = ("verdict s", "compile s", "run s", "fresh s", "import s", "compile s", "interpret s", "ratio")


@dataclass(frozen=True)
class Row:
    """One task, in seconds: of the evaluator, and of the fresh process."""

    task: str
    status: str
    verdict_s: float
    compile_s: float
    run_s: float
    fresh_s: float
    fresh_import_s: float
    fresh_compile_s: float
    fresh_interpret_s: float

    @property
    def ratio(self) -> float:
        return self.fresh_s / self.verdict_s


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints. Returns the exit code: 1 when an oracle is not correct, 2 for a user's mistake."""
    arguments = _parser().parse_args(argv)
    from tasks.catalog import select
    from tasks.errors import UserError

    try:
        rows = measure(select(arguments.tasks), arguments.repeats, arguments.workers)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    ratio = statistics.median(row.ratio for row in rows)
    print(f"median ratio over {len(rows)} tasks: {ratio:.1f} (median of {arguments.repeats} for each task)")
    return 0 if all(row.status == "correct" for row in rows) else 1


def measure(tasks: Sequence[str], repeats: int, workers: int) -> list[Row]:
    """The medians of each task, printed as they come. Raises UserError where this machine can't evaluate."""
    from evaluator.judge import Evaluator

    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    rows = []
    with Evaluator(device="cpu", targets=("sm90",), workers=workers, secret=SECRET) as evaluator:
        start = time.perf_counter()
        evaluator.describe()
        print(f"the warm process is up after {time.perf_counter() - start:.1f} s, once a run")
        print(f"{'task':34}{'status':10}" + "".join(f"{name:>12}" for name in COLUMNS))
        for task in tasks:
            row = _median([_once(evaluator, task, number) for number in range(repeats)])
            rows.append(row)
            seconds = (row.verdict_s, row.compile_s, row.run_s, row.fresh_s)
            apart = (row.fresh_import_s, row.fresh_compile_s, row.fresh_interpret_s, row.ratio)
            print(f"{task:34}{row.status:10}" + "".join(f"{value:12.2f}" for value in (*seconds, *apart)), flush=True)
    return rows


def _once(evaluator: Evaluator, name: str, number: int) -> Row:
    """Both sides once. The comment makes each repeat a source of its own: the evaluator judges a source only once."""
    from evaluator.seeds import hidden_seed, source_sha
    from tasks.catalog import load, oracle_path

    task = load(name)
    source = f"{oracle_path(name).read_text(encoding='utf-8')}# repeat {number}\n"
    start = time.perf_counter()
    verdict = evaluator.evaluate(task, source)
    verdict_s = time.perf_counter() - start
    fresh_s, fresh = _fresh(name, hidden_seed(SECRET, task.id, source_sha(source)))
    apart = (fresh["import_s"], fresh["compile_s"], fresh["interpret_s"])
    return Row(name, str(verdict.status), verdict_s, verdict.compile_s, verdict.run_s, fresh_s, *apart)


def _fresh(name: str, seed: int) -> tuple[float, dict[str, float]]:
    """The wall seconds of the fresh process, and those that it counted itself."""
    command = [sys.executable, "-m", "experiments.benchmarks.fresh_process", name, str(seed)]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TRITON_CACHE_DIR": cache}
        start = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        total_s = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"the fresh process failed on {name}:\n{done.stderr[-2000:]}")
    return total_s, json.loads(done.stdout.splitlines()[-1])


def _median(rows: Sequence[Row]) -> Row:
    """Each figure's own median over the repeats."""
    figures = [[value for value in vars(row).values() if isinstance(value, float)] for row in rows]
    return Row(rows[0].task, rows[-1].status, *map(statistics.median, zip(*figures, strict=True)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m experiments.benchmarks.verdicts", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="ids, categories or globs (default: every built task)")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each side and task; medians are shown (1)")
    cores = os.cpu_count() or 1
    parser.add_argument(
        "--workers", type=int, default=cores, help="children that share the cases of one verdict (default: one a core)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
