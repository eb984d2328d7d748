"""Methods x models x seeds over a selection of tasks; say it again to go on after a kill."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "methods x models x seeds over a selection of tasks, as one folder of runs; say it again to go on"
EXAMPLES = """\
  python -m experiments matrix configs/offline.toml
"""


def flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("config", nargs="?", type=Path, metavar="CONFIG.toml", help="methods, models, seeds, tasks, [run], [budget]")
    add(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="the matrix's folder (default: experiments/runs/<time>-<name>); one that holds it already goes on",
    )
    add("--resume", metavar="FOLDER", help="go on with a matrix as it was described")
    add("--dry-run", action="store_true", help="the cells, and the most that they can ask for; asks nobody")


def run(arguments: argparse.Namespace) -> int:
    from experiments.matrix import matrix

    return matrix(arguments.config, arguments.out, arguments.resume, dry_run=arguments.dry_run)
