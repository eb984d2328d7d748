"""What commands print and write: tables that fit 120 columns, and JSON files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group

WIDTH = 120


def write_json(out: Path, data: dict[str, Any]) -> None:
    """Raises UserError when `out` exists or can't be written."""
    from tasks.errors import UserError

    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(json.dumps(data, indent=1, allow_nan=False) + "\n")
    except OSError as error:
        raise UserError(f"can't write {out}: {error.strerror}") from error


def show(parts: Iterable[str | Group]) -> None:
    """To standard output: as wide as a terminal, 120 columns elsewhere; lines are broken between words."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDTH
    with console.capture() as text:
        for part in parts:
            console.print(part)
    for line in text.get().splitlines():
        print(line.rstrip())


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> Group:
    """A title and a table without lines, its first `left` columns aligned to the left, the others to the right."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    made = Table(header_style="", box=None, pad_edge=False)
    for place, name in enumerate(columns):
        made.add_column(name, justify="left" if place < left else "right", overflow="fold")
    for row in rows:
        # among them are a candidate's own words, and those of an import's origin
        made.add_row(*(Text("".join(each if each.isprintable() else " " for each in cell)) for cell in row))
    return Group(Text(title, style="bold"), made) if made.row_count else Group(Text(title, style="bold"))
