"""Kernels made elsewhere, as a run of ours."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "kernels made elsewhere, as a run of ours"
EXAMPLES = """\
  python -m experiments import predictions model.jsonl --out RUN
"""


def flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("format", metavar="FORMAT", help="predictions, corpus, geak, folder, or auto")
    add("path", type=Path, metavar="PATH", help="a file or a folder")
    add("--out", type=Path, metavar="RUN", help="the run's folder (default: a new one in experiments/runs)")
    add("--model", metavar="NAME", help="who wrote them (default: the name of the file)")


def run(arguments: argparse.Namespace) -> int:
    from experiments.importing import import_

    return import_(arguments.format, arguments.path, arguments.out, arguments.model)
