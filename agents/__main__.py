"""`python -m agents`: the methods there are, whether one of your own keeps the contract, what a model reads, and
whether it answers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tasks.command import Parser, finish
from tasks.errors import UserError

EXAMPLES = """\
examples:
  python -m agents methods
  python -m agents methods --check my_method.py:MyMethod
  python -m agents methods --check my_package.methods:MyMethod
  python -m agents models
  python -m agents models --check openai/gpt-5-mini
  python -m agents prompt generate --task Math/softmax
  python -m agents prompt fix --task path/to/my_task.py --prompts my_prompts

To run tasks by a method: python -m agents.run --help
"""
DRY_TASK = "Math/softmax"


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code: 0, 1 for a method that breaks the contract or a model that gives no
    answer, 2 for a mistake."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.command == "prompt":
            from agents.prompting import show_prompt

            return show_prompt(arguments.template, arguments.task, arguments.prompts)
        if arguments.command == "models":
            return models(arguments.check, arguments.base_url)
        return show_methods() if arguments.check is None else check(arguments.check)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def models(name: str | None, base_url: str | None) -> int:
    """Asks one model a short question, or lists the providers."""
    from agents.models.probe import check_model, show_providers
    from agents.models.secrets import checked_url

    if name is not None:
        return check_model(name, checked_url(base_url))
    if base_url is not None:
        raise UserError("--base-url goes with --check MODEL")
    return show_providers()


def show_methods() -> int:
    """Lists every method with its options, their types, defaults and meaning."""
    from agents.registry import methods, options_text

    for name, method in methods().items():
        print(f"{name}: {(method.__doc__ or 'undocumented').strip().splitlines()[0]}")
        for option, kind, default, text in options_text(method):
            print(f"    -o {option}={default}  ({kind}) {text}".rstrip())
    return 0


def check(spec: str) -> int:
    """Prints what is right and wrong with a method adapter, line by line."""
    from agents.check import check_method
    from tasks.catalog import load

    findings = check_method(spec, load(DRY_TASK))
    for finding in findings:
        print(f"{finding.level:9}{finding.text}")
    kept = all(finding.level != "error" for finding in findings)
    print(f"{spec} {'keeps' if kept else 'breaks'} the contract")
    return 0 if kept else 1


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("python -m agents", description=__doc__, epilog=EXAMPLES, formatter_class=raw)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser(
        "methods", help="list methods and their options, or check one", epilog=EXAMPLES, formatter_class=raw
    )
    listing.add_argument(
        "--check",
        metavar="METHOD",
        help="say whether the adapter path/file.py:Class or module:Class keeps the contract",
    )
    providers = commands.add_parser(
        "models", help="list the providers, or ask one model a short question", epilog=EXAMPLES, formatter_class=raw
    )
    providers.add_argument("--check", metavar="MODEL", help="send one short request, and show what comes of it")
    providers.add_argument("--base-url", metavar="URL", help="with --check: the root of the server to ask")
    prompt = commands.add_parser(
        "prompt", help="print what a model would read of a task", epilog=EXAMPLES, formatter_class=raw
    )
    prompt.add_argument("template", metavar="TEMPLATE", help="generate, fix, optimise, reflect, or one of your own")
    prompt.add_argument("--task", metavar="ID", required=True, help="a task's id, its base name, or a task file's path")
    prompt.add_argument("--prompts", metavar="DIR", help="a folder whose templates come before the built-in ones")
    return parser


if __name__ == "__main__":
    finish(main)
