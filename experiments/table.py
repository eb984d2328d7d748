"""The table of a recorded run."""

from __future__ import annotations

from pathlib import Path

from agents.accounts import account_of
from agents.newrun import ROOT
from agents.report_table import print_account
from agents.runfolder import Run, open_run
from tasks.errors import UserError, unknown


def find_run(name: str) -> Run:
    """The run in the folder `name`, or of that name in `experiments/runs`. Raises UserError, with near names."""
    for folder in (Path(name), ROOT / name):
        if folder.is_dir():
            return open_run(folder)
    there = [path.name for path in ROOT.iterdir() if path.is_dir()] if ROOT.is_dir() else []
    raise unknown("run", name, there) if there else UserError(f"no run folder {name!r}")


def table(run: Run) -> int:
    """Prints what a run did so far. Returns exit code 0."""
    print(f"{run.path.name}: method {run.record['method']}, model {run.config.model}, {run.rounds} rounds")
    if run.simulation_notice:
        print(run.simulation_notice)
    print()
    print_account(account_of(run))
    for state in ("waiting", "unfinished", "stopped", "error"):
        tasks = [task for task in run.tasks if run.state(task) == state]
        if tasks:
            print(f"{state}: {', '.join(tasks)}")
    return 0
