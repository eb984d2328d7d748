"""`python -m tasks`: what tasks there are, and what a model reads about one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.catalog import HERE, index, load, select
from tasks.command import Parser, finish
from tasks.errors import UserError, unknown
from tasks.facts import FILE, README, dtypes_of, facts
from tasks.facts import write as renew
from tasks.skeleton import write

if TYPE_CHECKING:
    from tasks.task import Task

EXAMPLES = """\
examples:
  python -m tasks list --category Loss
  python -m tasks show Math/softmax
  python -m tasks new Mine/scale --signature "scale(x, factor=2.0)"
"""

NARROWEST = 150


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. Returns the exit code: 0, or 2 for a user's mistake, which is told in one line on stderr."""
    options = _parser().parse_args(argv)
    try:
        if options.command == "list":
            _list(options.category)
        elif options.command == "new":
            for path in write(options.id, options.signature, options.out):
                print(f"wrote {path}")
        elif options.command == "facts":
            print(f"{renew()} tasks in {FILE.name} and {README.name}")
        else:
            print("\n".join(_shown(_one(options.id))))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("python -m tasks", description=__doc__, epilog=EXAMPLES, formatter_class=raw)
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser(
        "list",
        help="a table of all tasks",
        description="All tasks of the suite, built or not.",
        epilog="example:\n  python -m tasks list --category Loss",
        formatter_class=raw,
    )
    listing.add_argument("--category", metavar="C", help="only this category")
    show = commands.add_parser(
        "show",
        help="the text, signature and contract of one task",
        description="What a model reads about one task, its contract, and its public cases in kind.",
        epilog="examples:\n  python -m tasks show softmax\n  python -m tasks show path/to/my_task.py",
        formatter_class=raw,
    )
    show.add_argument("id", metavar="ID", help="an id, the name behind its slash, or the path of a task file")
    new = commands.add_parser(
        "new",
        help="a task file to fill in, and a test that fails until it is",
        description="Writes a skeleton: name.py and test_name.py, or the file of a task of the suite that isn't built.",
        epilog='example:\n  python -m tasks new Mine/scale --signature "scale(x, factor=2.0)" --out my_tasks',
        formatter_class=raw,
    )
    new.add_argument("id", metavar="ID", help="Category/name")
    new.add_argument("--signature", metavar="S", help="of the function to be written (default: of one tensor)")
    new.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="where to (default: here)")
    commands.add_parser(
        "facts",
        help="renew what listings say of purity and cost",
        description=f"Renews {FILE.name} and the table in {README.name} from the tasks.",
    )
    return parser


def _list(category: str | None) -> None:
    from rich.console import Console
    from rich.table import Table

    categories = {row.category for row in index().values()}
    if category is not None and category not in categories:
        raise unknown("category", category, categories)
    rows = [row for row in index().values() if category in (None, row.category)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("task", "state"):
        table.add_column(name, no_wrap=True)
    table.add_column("difficulty", justify="right")
    for name in ("dtypes", "oracle", "cost", "summary"):
        table.add_column(name)
    known = facts()
    for row in rows:
        one = known.get(row.id) if row.built else None
        told = (one.purity, one.cost) if one else ("", "")
        state = "built" if row.built else "not built"
        table.add_row(row.id, state, str(row.difficulty), dtypes_of(row), *told, row.summary)
    console = Console(highlight=False, markup=False)
    # narrower columns are unreadable; without a terminal, one line a task, for grep
    console.width = max(console.width, NARROWEST) if console.is_terminal else 1000
    console.print(table)
    console.print(
        f"{len(rows)} tasks: {sum(row.built for row in rows)} built, {sum(not r.built for r in rows)} not built"
    )


def _one(name: str) -> str:
    chosen = select([name])
    if len(chosen) > 1:
        raise UserError(f"{name!r} names {len(chosen)} tasks, `show` takes one: {', '.join(chosen)}")
    return chosen[0]


def _shown(name: str) -> Iterator[str]:
    """The lines of `show`; `name` is an id, or the path of a task file."""
    task = load(name)
    path = name if name.endswith(".py") else f"{HERE.name}/{name}.py"
    yield f"{task.id}   ({Path(path).as_posix()})"
    yield ""
    yield task.signature
    yield ""
    yield task.text.rstrip()
    yield ""
    yield "Contract"
    yield from (f"  {line}" for line in _contract(task))
    yield ""
    yield from _judged(task)
    yield "Public cases"
    yield from (f"  {line}" for line in _public(task))


def _contract(task: Task) -> Iterator[str]:
    yield f"entry: {' or '.join(task.entries)}"
    if task.mutates:
        yield f"changed in place: {', '.join(task.mutates)}; every other input stays as it is"
    if task.writes_to:
        yield f"receives the result when given, and is returned: {task.writes_to}"
    if not task.returns:
        yield "the returned value is not judged"


def _judged(task: Task) -> Iterator[str]:
    from tasks.describe import judging, launch_rules

    if words := judging(task):
        yield words
        yield ""
    yield "What counts as a Triton solution:"
    yield from (f"- {rule}" for rule in launch_rules(task))
    yield ""


def _public(task: Task) -> Iterator[str]:
    from tasks.describe import describe_case
    from tasks.draw import Draw

    cases = [(case.label, describe_case(case, task)) for case in task.public(Draw(0))]
    widest = max((len(label) for label, _ in cases), default=0)
    yield from (f"{label:{widest}}  {text}" for label, text in cases)


if __name__ == "__main__":
    finish(main)
