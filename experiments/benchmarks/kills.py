"""Runs that are killed and resumed, compared with runs that never were: what a crash may cost, and what it may not.

    python -m experiments.benchmarks.kills               200 runs
    python -m experiments.benchmarks.kills --runs 1000 --seed 1

SIMULATION: no model is called. The loop, the log, geak, the prompts and two built tasks are real; replies and verdicts
are instant, fixed by what is asked, and noted on a bill outside the run before they are given. Each run is killed with
SIGKILL one to three times: every second run inside a write to a log, with part of the line on the disk, the others from
outside at a drawn number of bytes and a drawn time after. Then it is resumed to its end. Exit code 1 if a run was not
as it would have been, or a recorded answer was paid for again. Needs Linux, as runs do.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.benchmarks.billed import MODEL, Bill, BilledEvaluator, BilledModel
from tasks.errors import UserError

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from agents.log import LogWriter
    from agents.runfolder import Run

TASKS = ("Math/softmax", "Reduce/argmax")
LANES, ROUNDS, STORIES, MOST_KILLS = 2, 4, 10, 3
SECRET = b"the benchmark's own"
LONGEST_DELAY_S = 0.01


@dataclass(frozen=True)
class Story:
    """What a run would be without a kill: a number that fixes the answers, and a run that went through undisturbed."""

    number: int
    whole: Run
    writes: int
    bytes: int


@dataclass
class Tally:
    """Counts over the runs of one kind of kill, and what was wrong in them."""

    kind: str
    runs: int = 0
    kills: int = 0
    torn: int = 0
    events: int = 0
    in_flight: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def main(argv: Sequence[str] | None = None) -> int:
    """Kills, resumes and prints. Returns exit code 0, or 1 if anything was wrong."""
    parser = argparse.ArgumentParser(
        "python -m experiments.benchmarks.kills", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200, help="runs, each killed at least once (200)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills (0)")
    arguments = parser.parse_args(argv)
    warm_up()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        tallies = kill_all(Path(folder), arguments.runs, random.Random(arguments.seed))
    show(tallies, time.perf_counter() - start)
    return 1 if any(tally.wrong for tally in tallies) else 0


def warm_up() -> None:
    """Imports all that a session needs, so that its process is a fork and not a new interpreter."""
    import agents.loop
    import agents.registry  # noqa: F401
    from agents.brief import case_lines
    from agents.templates import load_templates
    from tasks.catalog import load

    load_templates(None)
    for task in TASKS:
        case_lines(load(task))


def kill_all(folder: Path, runs: int, chance: random.Random) -> list[Tally]:
    """`runs` runs in `folder`, every second one killed inside a write."""
    stories = [tell(folder / f"story{number}", number) for number in range(min(STORIES, runs))]
    tallies = [Tally("inside a write"), Tally("from outside")]
    for number in range(runs):
        tally, story = tallies[number % 2], stories[number // 2 % len(stories)]
        for attempt in count():
            try:
                if kill_one(folder / f"run{number}-{attempt}", story, number % 2 == 0, chance, tally):
                    break
            except UserError as error:  # a log that can't be read
                tally.wrong.append(str(error))
                break
        tally.runs += 1
    return tallies


def tell(folder: Path, number: int) -> Story:
    """The run of a story, in a process that nobody kills."""
    run = new_run(folder)
    child = begin(run, Bill(folder.with_suffix(".bill")), number)
    child.join()
    if child.exitcode != 0:
        raise SystemExit(f"story {number} did not end well: exit code {child.exitcode}")
    logs = [run.log_path(task) for task in TASKS]
    return Story(number, run, sum(log.read_bytes().count(b"\n") for log in logs), size_of(run))


def kill_one(folder: Path, story: Story, inside: bool, chance: random.Random, tally: Tally) -> bool:
    """One run, killed one to three times and resumed to its end. False if it was done before the first kill."""
    run, bill, kills = new_run(folder), Bill(folder.with_suffix(".bill")), 0
    for _ in range(chance.randint(1, MOST_KILLS)):
        left = story.writes - sum(len(run.events(task)) for task in TASKS)
        if inside:
            cut = (chance.randint(1, max(1, left)), min(1.0, max(0.0, chance.uniform(-0.1, 1.1))))
            code = watched(run, bill, story, tally, cut=cut)
        else:
            size = chance.randint(1, max(1, story.bytes - size_of(run)))
            code = watched(run, bill, story, tally, kill_at=(size, chance.uniform(0, LONGEST_DELAY_S)))
        if code != -signal.SIGKILL:
            break
        kills += 1
    else:
        code = watched(run, bill, story, tally)
    tally.kills += kills
    tally.events += sum(len(run.events(task)) for task in TASKS)
    problems = [f"the last session ended with exit code {code}"] if code else []
    tally.wrong += [f"{folder.name}: {problem}" for problem in (*problems, *flaws(run, story.whole))]
    return kills > 0


def watched(
    run: Run,
    bill: Bill,
    story: Story,
    tally: Tally,
    cut: tuple[int, float] | None = None,
    kill_at: tuple[int, float] | None = None,
) -> int | None:
    """One session and its exit code. What it was billed must be new to the log, and in the log after unless the kill
    came between."""
    recorded, before = answers_of(run), bill.lines()
    child = begin(run, bill, story.number, cut)
    if kill_at:
        enough = size_of(run) + kill_at[0]
        while size_of(run) < enough and child.is_alive():
            time.sleep(0.0002)
        time.sleep(kill_at[1])
        child.kill()
    child.join()
    killed = child.exitcode == -signal.SIGKILL
    billed = bill.lines() - before
    in_flight = set(billed) - answers_of(run)
    tally.torn += any(not log.read_bytes().endswith(b"\n") for log in logs_of(run) if log.stat().st_size)
    tally.in_flight.update(line.split()[0] for line in in_flight)
    wrong = [f"paid again though recorded: {line}" for line in billed if line in recorded]
    wrong += [f"paid twice in one session: {line}" for line, times in billed.items() if times > 1]
    if len(in_flight) > (LANES * len(TASKS) if killed else 0):
        wrong.append(f"{len(in_flight)} paid and not recorded in a session that was {'' if killed else 'not '}killed")
    tally.wrong += [f"{run.path.name}: {problem}" for problem in wrong]
    return child.exitcode


def begin(run: Run, bill: Bill, story: int, cut: tuple[int, float] | None = None) -> BaseProcess:
    """A session of the run in a process of its own."""
    child = multiprocessing.get_context("fork").Process(target=session, args=(run.path, bill, story, cut))
    child.start()
    return child


def session(path: Path, bill: Bill, story: int, cut: tuple[int, float] | None) -> None:
    """The run from where it stands to its end, as `--resume` does it. Ends the process."""
    from agents.loop import Parts, run_tasks
    from agents.newrun import finish, held
    from agents.registry import load_method
    from agents.runfolder import open_run
    from agents.templates import load_templates
    from tasks.catalog import load

    if cut:
        die_inside(*cut)
    run = open_run(path)
    method = load_method(run.config.method, run.config.method_options)
    parts = Parts(method, BilledModel(bill, story), BilledEvaluator(bill), load_templates(None))
    with held(run):
        end = run_tasks(run, [load(task) for task in TASKS], parts, lambda task, event: None, lambda: None)
        finish(run, end.state)
    for task in end.tasks:
        if task.reason:
            print(f"{path.name}, {task.task}: {task.state}: {task.reason}", file=sys.stderr)
    sys.exit(0 if end.state == "done" else 1)


def die_inside(at: int, share: float) -> None:
    """From now on this process kills itself inside its `at`-th write to a log, with `share` of the line written."""
    from agents.log import LogWriter

    numbers, whole_line = count(1), LogWriter._append

    def append(log: LogWriter, line: bytes) -> None:
        if next(numbers) == at:
            os.write(log._file, line[: round(share * len(line))])
            os.kill(os.getpid(), signal.SIGKILL)
        whole_line(log, line)

    LogWriter._append = append  # type: ignore[assignment, method-assign]


def new_run(folder: Path) -> Run:
    from agents.config import RunConfig
    from agents.newrun import create_run

    options = {"candidates": LANES}
    config = RunConfig("geak", MODEL, ROUNDS, TASKS, workers=len(TASKS), method_options=options)
    return create_run(folder, config, TASKS, secret=SECRET, method="geak", rounds=ROUNDS, simulated=True)


def answers_of(run: Run) -> set[str]:
    """What the logs hold, in the words of the bill."""
    found = set()
    for task in TASKS:
        events = run.events(task)
        asked = {(e["key"], e["n"]): f"{e['lane']} {e['attempt']}" for e in events if e["type"] == "request"}
        found |= {f"reply {task} {asked[e['key'], e['n']]}" for e in events if e["type"] == "reply"}
        found |= {f"verdict {task} {e['source']}" for e in events if e["type"] == "evaluation"}
    return found


def flaws(run: Run, whole: Run) -> Iterator[str]:
    """How a run that is done differs from one that never was killed."""
    from agents.accounts import account_of
    from agents.journal import describe, identity, settled
    from agents.replay import replay_run
    from agents.runfolder import open_run

    if open_run(run.path).record["state"] != "done":
        yield "run.json does not say done"
    for task in TASKS:
        events = run.events(task)
        if run.state(task) != "done":
            yield f"{task} is {run.state(task)}"
        seen = Counter(identity(event) for event in events if event["type"] != "resume")
        yield from (f"{task}: {times} times {name[:2]}" for name, times in seen.items() if times > 1)
        ours, theirs = settled(events), settled(whole.events(task))
        differ = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        yield from (f"{task}: differs in {describe(ours.get(name) or theirs[name])}" for name in differ[:3])
        best = [folder / "best" / f"{task}.py" for folder in (run.path, whole.path)]
        if len({path.read_text() if path.exists() else None for path in best}) > 1:
            yield f"{task}: best/ differs"
    if account_of(run) != account_of(whole):
        yield "the account differs"
    for one in replay_run(run):
        yield from (f"the replay diverges: {divergence}" for divergence in one.divergences[:1])


def logs_of(run: Run) -> list[Path]:
    return [path for path in map(run.log_path, TASKS) if path.exists()]


def size_of(run: Run) -> int:
    return sum(path.stat().st_size for path in logs_of(run))


def show(tallies: Sequence[Tally], seconds: float) -> None:
    """The table, and the first things that were wrong."""
    columns = ("runs", "kills", "torn lines", "events", "asked twice", "judged twice", "wrong")
    print("SIMULATION: no model is called; real loop, log, geak and prompts, instant answers with a bill outside")
    print(f"{'killed':16}" + "".join(f"{name:>14}" for name in columns))
    for tally in tallies:
        twice = (tally.in_flight["reply"], tally.in_flight["verdict"])
        figures = (tally.runs, tally.kills, tally.torn, tally.events, *twice, len(tally.wrong))
        print(f"{tally.kind:16}" + "".join(f"{figure:14,}" for figure in figures))
    wrong = [problem for tally in tallies for problem in tally.wrong]
    for problem in wrong[:20]:
        print(f"    {problem}")
    print(
        f"{'as if never killed' if not wrong else f'{len(wrong)} things were WRONG'}, {seconds:.0f} s; "
        "asked and judged twice: only what was in flight at a kill, and not yet in the log"
    )


if __name__ == "__main__":
    sys.exit(main())
