"""A run's candidates, rounds, predictions or best sources, as files."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.commands.shared import recorded_flag, run_argument

HELP = "a run's candidates, rounds, predictions or best sources, as files"
EXAMPLES = """\
  python -m experiments export RUN candidates --out candidates.csv
"""


def flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    run_argument(command)
    add("what", choices=("candidates", "rounds", "predictions", "sources"), help="what to write")
    add("--out", type=Path, metavar="PATH", help="a file, or for sources a new folder (default: standard output)")
    add("--format", choices=("csv", "json"), help="of candidates and rounds (default: by the name of the file)")
    add("--correct-only", action="store_true", help="predictions of correct kernels only")
    recorded_flag(command)


def run(arguments: argparse.Namespace) -> int:
    from agents.newrun import find_run
    from experiments.export import export

    return export(
        find_run(arguments.run),
        arguments.what,
        arguments.out,
        recorded=arguments.recorded,
        fmt=arguments.format,
        correct_only=arguments.correct_only,
    )
