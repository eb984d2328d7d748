"""What a plot is: a drawing for a page or a file, and the same figures as a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plot:
    """One plot. `name` is a word for files and ids; `caption` says what is shown, of how many, and by whose verdicts.

    `svg` is one `svg` element to put into an HTML page: its text and lines take the page's colour (`currentColor`), its
    background is the page's, and its ids begin with `name`. `columns` and `rows` are the figures as texts.
    """

    name: str
    title: str
    caption: str
    svg: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
