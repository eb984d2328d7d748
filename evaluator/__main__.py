"""`python -m evaluator check TASK FILE`: one source file in, one evaluation out. `doctor`: what the machine permits."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.command import Parser, finish
from tasks.errors import UserError

if TYPE_CHECKING:
    from evaluator.records import Evaluation

EXAMPLE = """\
example:
  python -m evaluator check Math/softmax my_softmax.py
  python -m evaluator check path/to/my_task.py kernel.py --targets sm90,sm80 --json
  python -m evaluator doctor
"""


def main(argv: list[str] | None = None) -> int:
    """Exit code 0 only when the source is correct or all is well; 1 when not; 2 for a user's mistake."""
    args = _parser().parse_args(argv)
    try:
        return int(args.run(args))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def check(args: argparse.Namespace) -> int:
    """Evaluates the file and prints the verdict, as text or as one JSON object."""
    from tasks.catalog import load, select

    name, *others = select([args.task]) or [args.task]
    if others:
        raise UserError(f"{args.task} names {1 + len(others)} tasks; a kernel is checked against one")
    source = _read(Path(args.file))
    task = load(name)
    from evaluator.judge import Evaluator

    secret = args.seed.encode() if args.seed else None
    how = {"workers": 1, "secret": secret, "baselines": args.baselines.split(",")}
    with (
        _waiting(f"judging {args.file} for {name}"),
        Evaluator(args.device, args.targets.split(","), **how) as evaluator,
    ):
        evaluation = evaluator.evaluate(task, source)
    print(json.dumps(evaluation.to_json(), indent=2) if args.json else _text(evaluation))
    return 0 if evaluation.correct else 1


def doctor(args: argparse.Namespace) -> int:
    """Prints what this machine permits and how an honest and two hostile kernels fared."""
    from evaluator.doctor import report
    from evaluator.pool import WarmDied

    try:
        return 0 if report(args.device, args.targets.split(","), print) else 1
    except WarmDied as error:
        print(f"no worker can be started: {error}")
        return 1


def _waiting(what: str) -> AbstractContextManager[object]:
    """A line on the terminal, if there is one, for as long as it takes."""
    from rich.console import Console
    from rich.text import Text

    return Console(stderr=True).status(Text(f"{what}; starting takes a few seconds"), spinner="line")


def _text(evaluation: Evaluation) -> str:
    from evaluator.timing_text import timing_lines

    lines = [evaluation.diagnosis, ""]
    width = max((len(row.label) for row in evaluation.cases), default=0)
    for row in evaluation.cases:
        values = {True: "right", False: "wrong", None: "not compared"}[row.right]
        verdict = f"{row.reason}, values {values}" if row.reason else values
        kind = "small" if row.kind == "timed" and evaluation.device == "cpu" else row.kind
        lines.append(f"  {kind:7} {row.label:{width}} {verdict}, launches: {row.launches}")
    if evaluation.timing:
        lines += ["", *timing_lines(evaluation.timing), ""]
    for name, outcome in evaluation.targets.items():
        lines.append(f"  target {name}: {outcome}")
    lines += [f"  warning: {warning}" for warning in evaluation.warnings]
    lines.append(f"  assurance: {', '.join(evaluation.assurance) or 'none'}")
    lines.append(
        f"  compile {evaluation.compile_s:.2f} s, interpret {evaluation.run_s:.2f} s, in all {evaluation.total_s:.2f} s"
    )
    return "\n".join(lines)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"can't read {path}: {error}") from error


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m evaluator", epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser(
        "check", help="judge one source file", epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("task", help="a task's id, or the path of a task file")
    command.add_argument("file", help="the source of the kernel")
    command.add_argument("--seed", help="fixes the hidden cases, to repeat a verdict (default: drawn anew)")
    command.add_argument(
        "--baselines", default="eager,oracle", help="on a GPU: timed beside (default: eager,oracle; also compiled)"
    )
    command.add_argument("--json", action="store_true", help="print the whole evaluation as JSON")
    command.set_defaults(run=check)
    examination = commands.add_parser("doctor", help="say which fences this machine permits, and try them")
    examination.set_defaults(run=doctor)
    for one in (command, examination):
        one.add_argument("--targets", default="sm90", help="GPUs to compile for; the first decides (default: sm90)")
        one.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    return parser


if __name__ == "__main__":
    finish(main)
