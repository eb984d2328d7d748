"""The page: template, style, script and data put together into one HTML text.

What comes from a model, a log or a file's name is untrusted. The template escapes it, the script puts it in as text,
and data stands in elements that hold no markup: JSON without `<`, and base64. The page's policy allows its own script,
by hash, and no address at all, so that nothing else would run or be fetched either.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.report import overview
from experiments.report.build import GENERATOR
from experiments.report.provenance import notices, provenance
from experiments.report.trajectories import parcel_of

if TYPE_CHECKING:
    from experiments.cells import Cell
    from experiments.plots import Plot

FOLDER = Path(__file__).parent
SCRIPTS = ("code.js", "trajectory.js", "list.js", "page.js")
POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def page(cells: Sequence[Cell], plots: Sequence[Plot], title: str) -> str:
    """The page of these runs as HTML. Needs nothing beside itself: no network, no fonts, no files."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    index = overview.index(cells)
    script = "\n".join(_read(name) for name in SCRIPTS)
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(
        title=title,
        generator=GENERATOR,
        policy=POLICY.format(script=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()),
        style=_read("page.css"),
        script=script,
        notices=notices(cells),
        rates=overview.rates(cells),
        provenance=provenance(cells),
        rounds=overview.rounds(cells),
        plots=plots,
        index=inert_json(index),
        several=len(cells) > 1,
        parcels=[parcel_of(task, cells) for task in index["tasks"]],
    )


def inert_json(value: Any) -> str:
    """JSON that can't end the script element that it stands in, nor begin a comment there."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
