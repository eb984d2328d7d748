"""From runs to the file of the report."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agents.report_table import many
from experiments.cells import cells_of
from tasks.errors import UserError

GENERATOR = "kernelmend report"
HEAD = 400  # characters in which a report says that it is one
LARGE_MB = 30


def report(
    names: Sequence[str], out: Path, *, plots: Path | None = None, recorded: bool = False, title: str | None = None
) -> int:
    """Writes the runs that `names` mean as one HTML file, `out`, and their plots as SVG files into the folder `plots`.

    A report that is there is written anew; any other file is left alone. `recorded` shows imports by their origin's
    verdicts. `title` is by default made of the names. Returns exit code 0. Raises UserError as `cells_of` does, when
    `out` is something else, and when it can't be written.
    """
    from experiments.plots import plots_of, write_plots
    from experiments.report.page import page

    _refuse(out)
    cells = cells_of(names, recorded=recorded)
    drawn = plots_of(cells)
    text = page(cells, drawn, title or f"kernelmend: {', '.join(Path(name).resolve().name for name in names)}")
    if plots:
        write_plots(drawn, plots)
    _put(out, text)
    for notice in dict.fromkeys(cell.run.simulation_notice for cell in cells):
        if notice:
            print(notice, file=sys.stderr)
    size = out.stat().st_size / 1e6
    trajectories = many(sum(len(cell.tasks) for cell in cells), "trajectory", "trajectories")
    print(f"{out}: {many(len(cells), 'run')}, {trajectories}, {size:.1f} MB")
    if size > LARGE_MB:
        print(f"a page over {LARGE_MB} MB opens slowly; fewer runs make a smaller one", file=sys.stderr)
    return 0


def _refuse(out: Path) -> None:
    """Only a report is written over."""
    if not os.path.lexists(out):
        return
    try:
        with out.open(encoding="utf-8", errors="replace") as file:
            if GENERATOR in file.read(HEAD):
                return
    except OSError as error:
        raise UserError(f"can't use {out}: {error.strerror}") from error
    raise UserError(f"{out} exists and is no report; name another file")


def _put(out: Path, text: str) -> None:
    """As a whole, so that a kill leaves the new report or the old one."""
    fresh = out.with_name(f".{out.name}.{os.getpid()}.new")
    try:
        fresh.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        os.replace(fresh, out)
    except OSError as error:
        raise UserError(f"can't write {out}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
