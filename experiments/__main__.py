"""`python -m experiments`: tables and replays of recorded runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from experiments.shadow import shadowed

EXAMPLES = """\
examples:
  python -m experiments table experiments/runs/20260101-120000-geak-offline-apprentice
  python -m experiments replay experiments/runs/20260101-120000-geak-offline-apprentice
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code: 0, 1 for a replay that differs from its log, 2 for a mistake."""
    problem = shadowed()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    arguments = _parser().parse_args(argv)
    from agents.newrun import find_run
    from experiments.replay import replay
    from experiments.table import table
    from tasks.errors import UserError

    try:
        return {"table": table, "replay": replay}[arguments.command](find_run(arguments.run))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    from tasks.command import Parser

    parser = Parser("python -m experiments", description=__doc__, epilog=EXAMPLES, formatter_class=raw)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in (
        ("table", "the account of a run, finished or not: rates, states and figures of every round, then every task"),
        (
            "replay",
            "run the method again over the recorded answers, with no live call; exit 1 if it differs from the log",
        ),
    ):
        command = commands.add_parser(name, help=text, description=text, epilog=EXAMPLES, formatter_class=raw)
        command.add_argument("run", metavar="RUN", help="a run's folder, or its name in experiments/runs")
    return parser


if __name__ == "__main__":
    if shadowed():
        sys.exit(main())
    from tasks.command import finish

    finish(main)
