"""The table of a recorded run."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from agents.accounts import account_and_states
from agents.report_table import PLAIN_WIDTH, many, print_account
from agents.runfolder import Run
from tasks.errors import UserError


def table(run: Run, *, recorded: bool = False) -> int:
    """Prints what a run did so far; of an imported run by its origin's verdicts, with `recorded` or where there are no
    others. Returns exit code 0. Raises UserError when `recorded` is asked of a run that has no such verdicts."""
    if recorded and not run.imported:
        raise UserError(f"{run.path} was not imported: there are only its own verdicts")
    recorded = recorded or (run.imported and not run.record.get("scored"))
    account, states = account_and_states(run, recorded=recorded)  # a damaged log is told before anything is printed
    print(f"{run.path.name}: method {run.record['method']}, model {run.config.model}, {many(run.rounds, 'round')}")
    if run.simulation_notice:
        print(run.simulation_notice)
    if run.imported:
        print(_whose(recorded))
    print()
    print_account(account)
    if not run.imported:
        _print_unfinished(states)
    return 0


def _whose(recorded: bool) -> str:
    if recorded:
        return (
            "IMPORTED: verdicts and speedups as the origin recorded them, not measured here; round 1 is its first.\n"
            "A task of which it tells no change stands where it stood."
        )
    return "IMPORTED: sources from elsewhere with this project's own verdicts; --recorded shows the origin's"


def _print_unfinished(states: Mapping[str, str]) -> None:
    for state in ("waiting", "unfinished", "stopped", "error"):
        tasks = [task for task, its in states.items() if its == state]
        if tasks:
            print(textwrap.fill(f"{state}: {', '.join(tasks)}", PLAIN_WIDTH, break_on_hyphens=False))
