"""A table of the page."""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN = "?"
NONE = "-"


@dataclass(frozen=True)
class Table:
    """Texts in rows; the first column heads its row. The first `left` columns hold words, the others figures."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
