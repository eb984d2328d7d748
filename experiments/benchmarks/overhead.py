"""The framework's own cost a candidate: the real loop, prompts and log, with a model and an evaluator that are instant.

    python -m experiments.benchmarks.overhead                   one task of 300 rounds, as much as geak does in each
    python -m experiments.benchmarks.overhead --method oneshot  another method

Every reply and every verdict is written and waited for as in a real run, so the disk is part of the figure: the last
line says what such a wait costs alone, on lines of the same size. Importing and loading the task are not counted.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.protocol import Reply, Request
    from agents.runfolder import Run
    from evaluator.records import Evaluation
    from tasks.task import Task

TASK = "Math/softmax"


@dataclass
class InstantModel:
    """Answers at once with the task's oracle, each time under another comment, so that no two sources are equal."""

    source: str
    name: str = "benchmark/instant"
    simulated: bool = True
    numbers: Iterator[int] = field(default_factory=count)

    def complete(self, request: Request) -> Reply:
        from agents.protocol import Reply, Usage

        text = f"Another attempt.\n\n```python\n# {next(self.numbers)}\n{self.source}```\n"
        return Reply(text, None, "stop", Usage(1000, 0, 500, 0, 0.01))


@dataclass(frozen=True)
class InstantEvaluator:
    """Gives the same verdict at once: wrong, so that the method goes on, with rows for as many cases as a real one."""

    verdict: Evaluation

    def evaluate(self, task: Task, source: str) -> Evaluation:
        return self.verdict


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints. Returns exit code 0, or 2 for a user's mistake."""
    arguments = _parser().parse_args(argv)
    from tasks.errors import UserError

    try:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            report(Path(folder), arguments.method, arguments.rounds)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def report(folder: Path, method: str, rounds: int) -> None:
    """Runs the loop in `folder` and prints milliseconds a candidate."""
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    run, seconds, cpu_s = measure(folder / "run", method, rounds)
    candidates = len(run.candidates(TASK))
    replies = sum(event["type"] == "reply" for event in run.events(TASK))
    log = run.log_path(TASK)
    log_kib = log.stat().st_size // 1024
    waits = candidates + replies
    fsync_ms = 1000 * fsync_s(folder / "probe", log.stat().st_size // waits, waits) / waits
    print(f"{method}: {candidates} candidates, {replies} replies in {seconds:.2f} s, a log of {log_kib} KiB")
    print(f"{1000 * seconds / candidates:.2f} ms a candidate, {1000 * cpu_s / candidates:.2f} of them on a CPU")
    print(f"{fsync_ms:.2f} ms for one write and fsync of the same size, {waits / candidates:.1f} of them a candidate")


def measure(folder: Path, method_name: str, rounds: int) -> tuple[Run, float, float]:
    """The run, and the wall and CPU seconds of its one task."""
    from agents.config import RunConfig
    from agents.loop import Parts, run_tasks
    from agents.newrun import create_run
    from agents.registry import load_method
    from prompts.loader import Templates
    from tasks.catalog import load, oracle_path

    task, method = load(TASK), load_method(method_name, {})
    source = oracle_path(TASK).read_text(encoding="utf-8")
    config = RunConfig(method_name, InstantModel.name, rounds, (TASK,), workers=1)
    run = create_run(folder, config, (TASK,), secret=b"0", method=method.name, rounds=rounds, simulated=True)
    parts = Parts(method, InstantModel(source), InstantEvaluator(_verdict()), Templates())
    start, cpu_start = time.perf_counter(), time.process_time()
    end = run_tasks(run, [task], parts, lambda name, event: None, lambda: None)
    seconds, cpu_s = time.perf_counter() - start, time.process_time() - cpu_start
    if end.state != "done":
        raise SystemExit(f"the run did not end well: {end.tasks[0].reason}")
    return run, seconds, cpu_s


def fsync_s(path: Path, size_bytes: int, times: int) -> float:
    """Seconds for so many appended lines of this size, each waited for until it is on the disk."""
    line = b"x" * size_bytes
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    start = time.perf_counter()
    for _ in range(times):
        os.write(file, line)
        os.fsync(file)
    seconds = time.perf_counter() - start
    os.close(file)
    return seconds


def _verdict() -> Evaluation:
    from evaluator.records import CaseRow, Evaluation
    from tasks.outcomes import Reason, Stage, Status

    right = CaseRow("last dimension", "public", True, launches=1, bytes_moved=1320, bytes_min=1320, run_s=0.01)
    wrong = replace(right, label="one column", kind="hidden", right=False, reason=Reason.MISMATCH)
    text = "case 'one column' (hidden), float32: 3 of 7 elements differ by more than the error budget\n" * 8
    verdict = Evaluation(TASK, "", Status.WRONG, Stage.COMPARE, Reason.MISMATCH, text, compiled=True, called=True)
    return replace(verdict, cases=(right,) * 9 + (wrong,), numerically_right=False, targets={"sm90": "ok"})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m experiments.benchmarks.overhead", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--method", default="geak", help="a built-in method, or one of your own (geak)")
    parser.add_argument("--rounds", type=int, default=300, help="rounds of the one task (300)")
    parser.add_argument("--folder", help="a folder on the disk to measure (default: where temporary files go)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
