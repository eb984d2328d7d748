"""The table of a recorded run."""

from __future__ import annotations

from agents.accounts import account_of
from agents.report_table import print_account
from agents.runfolder import Run


def table(run: Run) -> int:
    """Prints what a run did so far. Returns exit code 0."""
    account = account_of(run)  # a damaged log is told before anything is printed
    print(f"{run.path.name}: method {run.record['method']}, model {run.config.model}, {run.rounds} rounds")
    if run.simulation_notice:
        print(run.simulation_notice)
    print()
    print_account(account)
    for state in ("waiting", "unfinished", "stopped", "error"):
        tasks = [task for task in run.tasks if run.state(task) == state]
        if tasks:
            print(f"{state}: {', '.join(tasks)}")
    return 0
