"""The account of a run, finished or not; or the figures of several runs, or of categories, side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.commands.shared import recorded_flag, runs_argument

HELP = "the account of a run, round by round; the figures of several, or of categories, side by side"
EXAMPLES = """\
  python -m experiments table RUN
  python -m experiments table RUN RUN --by category --figures
  python -m experiments table RUN --recorded                # an imported run by its origin's own verdicts
"""


def flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    runs_argument(command)
    add("--by", choices=("category",), help="a row for each category of each run")
    add("--figures", action="store_true", help="also each round's groups, fast_p, pass@k, error classes, contrasts")
    add("--json", type=Path, metavar="FILE", help="every figure, of runs and categories, into a new file")
    recorded_flag(command)


def run(arguments: argparse.Namespace) -> int:
    from experiments.table import tables

    return tables(
        arguments.runs,
        by_category=arguments.by == "category",
        figures=arguments.figures,
        out=arguments.json,
        recorded=arguments.recorded,
    )
