"""A run of the size of the paper's largest: how much disk, time and memory its log takes, and its table.

    python -m experiments.benchmarks.big_run --verdicts experiments/runs/verdicts.json
    python -m experiments.benchmarks.big_run --keep experiments/runs/big    the run stays there, and is measured again

SIMULATION: no language model is called. The whole index of tasks goes through the real loop, geak, prompts, apprentice
and log. One task of each category is judged; every other is one of those under its own name, with one of two seeds of
the apprentice, or the verdicts would take hours. They are the evaluator's own, one for each judged task and source:
minutes at the first time, so they are kept in the file of `--verdicts`. A correct kernel's traffic is raised to 1.01,
or geak would end where nothing is to gain.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.protocol import Reply, Request
    from agents.runfolder import Run
    from evaluator.judge import Evaluator
    from evaluator.records import Evaluation
    from tasks.task import Task

JUDGED = (
    "Activation/gelu_bf16", "Convolution/conv2d", "Fusion/fused_exp_mean", "Index/masked_select",
    "LinearAlgebra/cholesky", "Loss/cross_entropy", "Math/softmax", "MatrixMultiply/matmul", "Normalization/batch_norm",
    "Optimizer/AdamW", "Pooling/avg_pool1d", "Quantization/matmul_w8a8", "Random/rand", "Reduce/argmax",
    "SpatialOps/interpolate",
)  # fmt: skip
LEAST_TRAFFIC = 1.01
SEEDS = 2  # each one more is some 200 verdicts more
SECRET = b"the benchmark's own"
GOALS = {"open s": 2.0, "table s": 3.0, "table MB": 500.0}
# in an interpreter of their own: what a process has imported, or a child before, would count as memory of the next one
OPENING = """
import sys, time
from pathlib import Path
from agents.runfolder import open_run
start = time.perf_counter()
run = open_run(Path(sys.argv[1]))
events = sum(len(run.events(task)) for task in run.tasks)
print(events, time.perf_counter() - start, time.process_time())
"""
TABLE = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run([sys.executable, "-m", "experiments", "table", sys.argv[1]], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6)
"""


@dataclass
class Aliases:
    """The apprentice, for whom an id of the index stands for the judged task `stands_for[id]`."""

    stands_for: Mapping[str, str]
    name: str = "offline/apprentice"
    simulated: bool = True

    def complete(self, request: Request) -> Reply:
        from agents.models.apprentice import Apprentice
        from agents.protocol import Message

        known = self.stands_for[request.task]
        seed = list(self.stands_for).index(request.task) // len(set(self.stands_for.values())) % SEEDS
        titles = f"# Task: {request.task}\n", f"# Task: {known}\n"
        messages = tuple(Message(one.role, one.content.replace(*titles)) for one in request.messages)
        return Apprentice(seed).complete(replace(request, messages=messages, task=known))


@dataclass
class Verdicts:
    """The evaluator's verdict on a judged task and a source, reached once."""

    stands_for: Mapping[str, str]
    evaluator: Evaluator
    known: dict[str, Evaluation] = field(default_factory=dict)
    judged: int = 0
    _locks: dict[str, threading.Lock] = field(default_factory=dict)

    def evaluate(self, task: Task, source: str) -> Evaluation:
        from agents.log import sha_of
        from tasks.catalog import load

        name = self.stands_for[task.id]
        key = f"{name} {sha_of(source)}"
        with self._locks.setdefault(key, threading.Lock()):
            if key not in self.known:
                self.known[key] = self.evaluator.evaluate(load(name), source)
                self.judged += 1
        verdict = self.known[key]
        traffic = max(verdict.traffic, LEAST_TRAFFIC) if verdict.traffic and verdict.correct else verdict.traffic
        return replace(verdict, task=task.id, traffic=traffic)


def main(argv: Sequence[str] | None = None) -> int:
    """Builds, measures and prints. Returns exit code 0, 1 when a goal is missed, 2 for a user's mistake."""
    arguments = _parser().parse_args(argv)
    from tasks.errors import UserError

    try:
        with ExitStack() as stack:
            kept = Path(arguments.keep or stack.enter_context(tempfile.TemporaryDirectory()))
            if not (kept / "run.json").exists():
                build(kept, arguments)
            return 0 if report(kept) else 1
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def build(folder: Path, arguments: argparse.Namespace) -> None:
    """The run, in `folder`. Raises UserError where this machine can't evaluate."""
    from evaluator.judge import Evaluator
    from tasks.catalog import index

    ids = list(index())[: arguments.tasks]
    stands_for = {name: name if name in JUDGED else JUDGED[number % len(JUDGED)] for number, name in enumerate(ids)}
    file = Path(arguments.verdicts) if arguments.verdicts else None
    start = time.perf_counter()
    with Evaluator(device="cpu", targets=("sm90",), secret=SECRET) as evaluator:
        verdicts = Verdicts(stands_for, evaluator, read_verdicts(file))
        try:
            go_through(folder, arguments, stands_for, verdicts)
        finally:
            if file:
                write_verdicts(file, verdicts.known)
    print(f"built in {time.perf_counter() - start:.0f} s, with {verdicts.judged} verdicts that were not known yet")


def go_through(folder: Path, arguments: argparse.Namespace, stands_for: Mapping[str, str], verdicts: Verdicts) -> None:
    """Every id through the loop."""
    from agents.config import RunConfig
    from agents.loop import Parts, run_tasks
    from agents.newrun import create_run, finish, held
    from agents.registry import load_method
    from agents.templates import load_templates
    from tasks.catalog import load

    model, options = Aliases(stands_for), {"candidates": arguments.candidates}
    ids = tuple(stands_for)
    config = RunConfig("geak", model.name, arguments.rounds, ids, method_options=options)
    run = create_run(folder, config, ids, secret=SECRET, method="geak", rounds=arguments.rounds, simulated=True)
    parts = Parts(load_method("geak", options), model, verdicts, load_templates(None))
    renamed = [replace(load(known), id=name) for name, known in stands_for.items()]
    with held(run):
        end = run_tasks(run, renamed, parts, lambda task, event: None, lambda: None)
        finish(run, end.state)
    if end.state != "done":
        raise SystemExit(f"the run did not end well: {next(task.reason for task in end.tasks if task.reason)}")


def report(folder: Path) -> bool:
    """Prints the size of a run, and what opening it and its table take; whether all goals are met."""
    from agents.runfolder import open_run

    run = open_run(folder)
    submitted, size = candidates_of(run), sum(run.log_path(task).stat().st_size for task in run.tasks)
    total = sum(submitted)
    print(f"SIMULATION: {run.config.model}; no language model is called. Nothing here is a finding.")
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    a_task = f"{min(submitted)} to {max(submitted)} a task"
    print(f"{len(run.tasks)} tasks, {run.rounds} rounds: {total:,} candidates, {a_task}")
    print(f"{size / 1e6:.1f} MB on disk, {size / 1e3 / total:.1f} kB a candidate")
    events, open_s, open_cpu_s = _figures(OPENING, folder)
    table_s, table_cpu_s, table_mb = _figures(TABLE, folder)
    print(f"{events:,.0f} events; on a CPU {open_cpu_s:.2f} s to open them and {table_cpu_s:.2f} s for the table")
    found = {"open s": open_s, "table s": table_s, "table MB": table_mb}
    for name, figure in found.items():
        print(f"{name:10}{figure:8.2f}   goal: under {GOALS[name]:g}{'' if figure < GOALS[name] else '   MISSED'}")
    return all(figure < GOALS[name] for name, figure in found.items())


def candidates_of(run: Run) -> list[int]:
    """How many candidates each task has."""
    return [sum(event["type"] == "evaluation" for event in run.events(task)) for task in run.tasks]


def _figures(code: str, folder: Path) -> list[float]:
    done = subprocess.run([sys.executable, "-c", code, str(folder)], check=True, capture_output=True, text=True)
    return [float(figure) for figure in done.stdout.split()]


def read_verdicts(file: Path | None) -> dict[str, Evaluation]:
    """Verdicts that an earlier run kept, by judged task and hash of the source."""
    from evaluator.records import Evaluation

    if file is None or not file.exists():
        return {}
    kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return {key: Evaluation.from_json(verdict) for key, verdict in kept.items()}


def write_verdicts(file: Path, known: Mapping[str, Evaluation]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({key: verdict.to_json() for key, verdict in known.items()}), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m experiments.benchmarks.big_run", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=176, help="how many ids of the index (176)")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of each task (10)")
    parser.add_argument("--candidates", type=int, default=4, help="lanes of geak, one candidate a round each (4)")
    parser.add_argument("--verdicts", metavar="FILE", help="JSON file of the verdicts, read and written")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the run there, or measure the one that is there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
