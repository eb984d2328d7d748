"""Runs as one HTML file: rates, plots and every trajectory."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.commands.shared import recorded_flag, runs_argument

HELP = "runs as one HTML file: rates, plots, and every prompt, reply, source and verdict"
EXAMPLES = """\
  python -m experiments report RUN --out report.html        # or several runs, or the folder of a matrix
"""


def flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    runs_argument(command)
    add("--out", type=Path, metavar="FILE", required=True, help="the HTML file; a report that is there is replaced")
    add("--plots", type=Path, metavar="DIR", help="the plots as SVG files too")
    add("--title", help="of the page (default: the names of the runs)")
    recorded_flag(command)


def run(arguments: argparse.Namespace) -> int:
    from experiments.report import report

    return report(
        arguments.runs,
        arguments.out,
        plots=arguments.plots,
        recorded=arguments.recorded,
        title=arguments.title,
    )
