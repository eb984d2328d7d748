"""Put every known mistake into every oracle: is it found, and is it named?"""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "put every known mistake into every oracle: is it found, and is it named?"
EXAMPLES = """\
  python -m experiments diagnose --kinds cut_loop zero_padding
"""


def flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--kinds", nargs="*", default=[], metavar="KIND", help="kinds of mistakes (default: all)")
    add("--tasks", nargs="*", default=[], metavar="TASK", help="ids, categories or globs (default: every built task)")
    add("--workers", type=int, metavar="N", help="candidates at a time (default: one a CPU)")
    add("--out", type=Path, metavar="FILE", help="every mistake with its verdict, as JSON")
    add("--right", type=Path, metavar="FOLDER", help="more right kernels, as Category__operator__style.py")
    add("--markdown", action="store_true", help="the table and the lists as a page")
    add("--list", action="store_true", help="only list the kinds of mistakes")


def run(arguments: argparse.Namespace) -> int:
    from experiments.diagnose import diagnose, list_kinds
    from experiments.score import cores

    if arguments.list:
        return list_kinds()
    workers = arguments.workers or cores()
    how = {"right": arguments.right, "markdown": arguments.markdown}
    return diagnose(arguments.kinds, arguments.tasks, workers, arguments.out, **how)
