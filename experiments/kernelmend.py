"""The console script `kernelmend`: one door to every command."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

from experiments.shadow import shadowed

COMMANDS = {
    "run": "agents.run",
    "tasks": "tasks.__main__",
    "evaluator": "evaluator.__main__",
    "agents": "agents.__main__",
    "experiments": "experiments.__main__",
}
HELP = """\
usage: kernelmend COMMAND ...

  run          drive a model through tasks          python -m agents.run
  tasks        list and show tasks                  python -m tasks
  evaluator    judge one source file                python -m evaluator
  agents       methods, adapters, prompts           python -m agents
  experiments  runs: matrices, tables, reports      python -m experiments

examples:
  kernelmend run --method geak --rounds 5 --tasks Math/softmax
  kernelmend experiments table experiments/runs/NAME

`kernelmend COMMAND --help` says more about each.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Hands over to the command's own module. Returns its exit code, or 2 for a mistake."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    problem = shadowed()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    if not arguments or arguments[0] in ("-h", "--help"):
        print(HELP, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if arguments[0] not in COMMANDS:
        from tasks.errors import unknown

        print(f"error: {unknown('command', arguments[0], COMMANDS)}", file=sys.stderr)
        return 2
    return int(importlib.import_module(COMMANDS[arguments[0]]).main(arguments[1:]))


def console() -> NoReturn:
    """The installed script."""
    if shadowed():
        sys.exit(main())
    from tasks.command import finish

    finish(main)


if __name__ == "__main__":
    console()
