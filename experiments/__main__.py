"""`python -m experiments`: what to do with runs that are recorded, or made elsewhere."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from experiments.shadow import shadowed

# a module of `experiments.commands` each; `import_` is called `import`
COMMANDS = (
    *("table", "compare", "deviance", "hardware", "report", "matrix"),
    *("replay", "import_", "score", "export", "diagnose", "admit"),
)


class Command(Protocol):
    """What a module of `experiments.commands` has. `run` returns the exit code and raises UserError for a mistake."""

    HELP: str
    EXAMPLES: str
    flags: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code: 0, 1 for a replay that differs or a machine that failed, 2 for a
    mistake, 130 when interrupted."""
    problem = shadowed()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    from tasks.errors import UserError

    commands = {name.rstrip("_"): _module(name) for name in COMMANDS}
    try:
        arguments = _parser(commands).parse_args(argv)
        return commands[arguments.command].run(arguments)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _module(name: str) -> Command:
    return cast(Command, importlib.import_module(f"experiments.commands.{name}"))


def _parser(commands: dict[str, Command]) -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    from tasks.command import Parser

    everything = "".join(command.EXAMPLES for command in commands.values())
    parser = Parser(
        "python -m experiments", description=__doc__, epilog=f"examples:\n{everything}", formatter_class=raw
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in commands.items():
        text = command.HELP
        epilog = f"examples:\n{command.EXAMPLES}"
        command.flags(subparsers.add_parser(name, help=text, description=text, epilog=epilog, formatter_class=raw))
    return parser


if __name__ == "__main__":
    if shadowed():
        sys.exit(main())
    from tasks.command import finish

    finish(main)
