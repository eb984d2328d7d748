"""May each task stay? its oracle, its negative controls, and one mutant of each kind."""

from __future__ import annotations

import argparse

HELP = "may each task stay? its oracle, its negative controls, and one mutant of each kind"
EXAMPLES = """\
  python -m experiments admit Loss Math/softmax             # oracles, negative controls, mutants
"""


def flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("tasks", nargs="*", metavar="TASK", help="ids, categories or globs (default: every built task)")
    add("--workers", type=int, metavar="N", help="candidates at a time (default: one a CPU)")
    add("--seeds", type=int, default=1, metavar="N", help="how often the oracle's hidden cases are drawn (1)")
    add("--no-mutants", action="store_true", help="only oracles and controls")


def run(arguments: argparse.Namespace) -> int:
    from experiments.admission import admission
    from experiments.score import cores
    from tasks.errors import UserError

    if arguments.seeds < 1:
        raise UserError(f"--seeds must be at least 1, not {arguments.seeds}")
    return admission(arguments.tasks, arguments.workers or cores(), arguments.seeds, mutants=not arguments.no_mutants)
