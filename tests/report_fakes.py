"""A run whose every text holds markup, and the report of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from loop_fakes import Answers, Lanes, Verdicts, go, make_run, verdict

from agents.log import sha_of
from agents.newrun import finish, held
from agents.protocol import Reply, Request
from agents.runfolder import Run, open_run
from evaluator.records import Evaluation, KernelBuild
from evaluator.timing_records import SizeTiming, TaskTiming
from tasks.task import Task

EVIL = "</script><img src=x onerror=\"window.owned='run'\"><!--<script>window.owned='run'</script>"
FOLDER = "<img src=x onerror=owned=1>"  # a run's name, so a label of plots and tables
TASKS = ("Toy/one", "Toy/two", "Other/three")


class Marked(Answers):
    """Replies whose prose and source hold markup."""

    def complete(self, request: Request) -> Reply:
        said = super().complete(request)
        name = f"{EVIL}\n    {request.task} {request.lane} {request.attempt}"
        source = f"import triton\n\n\ndef kernel():\n    '''{name}'''\n    return {request.attempt}\n"
        return replace(said, text=f"{EVIL}\n```python\n{source}```\n")


class Wary(Verdicts):
    """Toy/one is right and timed but for its first candidate, the others are wrong, in words that hold markup."""

    def evaluate(self, task: Task, source: str) -> Evaluation:
        said = super().evaluate(task, source)
        right = task.id == "Toy/one" and "Toy/one 0 0'" not in source
        said = verdict(task.id, source, right)
        build = KernelBuild("kernel", "sm90", 1024, 32, 0, 4, 3, 0.5)
        size = SizeTiming("big", ms=0.5, eager_ms=1.0)
        timing = TaskTiming((size,), 1, {"name": "a device", "uuid": "SECRET-UUID"}, {}, {})
        if right:
            return replace(said, speedup=2.0, builds=(build,), timing=timing)
        return replace(said, diagnosis=f"line 4: {EVIL} in {sha_of(source)[:6]}", warnings=(EVIL,))


def marked_run(parent: Path) -> Run:
    run = make_run(parent / FOLDER, names=TASKS, workers=1, model="a <b>model</b>")
    end = go(run, model=Marked(), evaluator=Wary(), method=Lanes(lanes=2))
    if end.state != "done":
        raise RuntimeError(end)
    with held(run):
        finish(run, end.state)
    return open_run(run.path)
