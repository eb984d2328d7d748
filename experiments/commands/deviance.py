"""Shares of the deviance of correctness: the tasks' category against who made the kernel."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.commands.shared import recorded_flag, runs_argument

HELP = "how much of correctness the category explains, and how much the method or the model"
EXAMPLES = """\
  python -m experiments deviance RUN RUN RUN
  python -m experiments deviance MATRIX --by method --without NAME --out deviance.json
"""


def flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    runs_argument(command)
    add(
        "--by",
        choices=("method", "model", "cell"),
        help="the factor beside category (default: what differs, else cell)",
    )
    add(
        "--without",
        action="append",
        default=[],
        metavar="NAME",
        help="a level or a category to leave out; again for more",
    )
    add(
        "--of",
        default="correct",
        choices=("correct", "called", "compiled", "numerically_right"),
        help="what counts as correct: a lower bar where hardly anything passes the whole one",
    )
    add("--out", type=Path, metavar="FILE.json", help="the figures as a new JSON file")
    recorded_flag(command)


def run(arguments: argparse.Namespace) -> int:
    from experiments.cells import cells_of
    from experiments.deviance import deviance

    cells = cells_of(arguments.runs, recorded=arguments.recorded)
    return deviance(cells, by=arguments.by, without=arguments.without, of=arguments.of, out=arguments.out)
