"""What `python -m experiments diagnose` found, as text for a terminal or as a page of Markdown."""

from __future__ import annotations

import platform
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from typing import TYPE_CHECKING

from experiments.diagnose_labels import names_of
from tasks.faults.catalog import by_name
from tasks.faults.fault import VALUES

if TYPE_CHECKING:
    from experiments.diagnose import Control, Diagnosed

COLUMNS = ("kind", "pairs", "detected", "status", "named", "precision", "chars")
EXPLAINED = """\
Every known kind of mistake (`tasks/faults`) is put into every oracle that it fits, and the mutant is evaluated like
any other kernel, on the CPU tier. Kinds that are right and only slow are not among them.

- pairs: mutants of that kind, one for each oracle that it fits, without those kept apart (below)
- detected: not `correct`
- status: the status is one that the kind must lead to
- named: what the diagnosis names first is right for the kind (recall). A label is a pattern of wrong values, a hint
  for an error, or a reason code that says what happened (not `mismatch`, `compilation`, `exception`); which labels are
  right for which kind is fixed in `experiments/diagnose_labels.py`
- precision: of all mutants of any kind whose first label is one of this kind's, those for which it is right
- chars: median length of the diagnosis
"""


@dataclass(frozen=True)
class Line:
    """The figures of one kind. `precision`: (right, all) of the mutants whose first label is one of the kind's."""

    kind: str
    pairs: int
    detected: int
    status: int
    named: int
    precision: tuple[int, int]
    characters: float
    labels: str

    def cells(self) -> list[str]:
        right, asked = self.precision
        share = f"{right / asked:.0%}" if asked else "-"
        counts = [self.pairs, self.detected, self.status, self.named]
        return [self.kind, *map(str, counts), share, f"{self.characters:.0f}"]


def lines(rows: Sequence[Diagnosed]) -> list[Line]:
    """A line for each kind, in the rows' order; mutants that are kept apart count nowhere."""
    mistakes = [row for row in rows if not row.apart]
    found = []
    for kind in dict.fromkeys(row.fault for row in mistakes):
        its = [row for row in mistakes if row.fault == kind]
        asked = [row for row in mistakes if row.label in names_of(by_name(kind))]
        labels = Counter((row.label or "none") + "*" * row.right_label for row in its)
        found.append(
            Line(
                kind,
                len(its),
                sum(row.detected for row in its),
                sum(row.right_status for row in its),
                sum(row.right_label for row in its),
                (sum(row.right_label for row in asked), len(asked)),
                statistics.median(row.characters for row in its),
                ", ".join(f"{label} {count}" for label, count in labels.most_common()),
            )
        )
    return found


def totals(rows: Sequence[Diagnosed], controls: Sequence[Control]) -> Iterator[str]:
    """The figures over all kinds, a line each."""
    mistakes = [row for row in rows if not row.apart]
    labelled = [row for row in mistakes if row.label]
    right = sum(row.right_label for row in mistakes)
    yield f"{len(mistakes)} mistakes of {len({row.fault for row in mistakes})} kinds"
    yield f"detected: {_share(sum(row.detected for row in mistakes), len(mistakes))}"
    yield f"right status: {_share(sum(row.right_status for row in mistakes), len(mistakes))}"
    yield f"right label: {_share(right, len(mistakes))} (recall), {_share(right, len(labelled))} of those with a label"
    by_values = [row for row in mistakes if row.outcome.partition(": ")[2] in VALUES]
    named = sum(row.right_label for row in by_values)
    yield f"right label where wrong values are all there is: {_share(named, len(by_values))}"
    if mistakes:
        yield f"median length of a diagnosis: {statistics.median(row.characters for row in mistakes):.0f} characters"
    labelled_right = sum(bool(control.patterns) for control in controls)
    refused = sum(not control.correct for control in controls)
    yield f"right kernels with a label: {labelled_right} of {len(controls)}; refused: {refused}"


def remarks(rows: Sequence[Diagnosed], controls: Sequence[Control]) -> Iterator[str]:
    """What is not as it should be, a line each."""
    for row in rows:
        if not row.detected and not row.apart:
            yield f"not detected: {row.fault} in {row.task}"
        if row.detected and row.apart:
            yield f"kept apart and detected: {row.fault} in {row.task} ({row.outcome})"
    for control in controls:
        if not control.clean:
            yield f"right and refused or labelled: {control.name} ({control.outcome}) {', '.join(control.patterns)}"


def text(rows: Sequence[Diagnosed], controls: Sequence[Control]) -> None:
    """Prints it for a terminal, with how often each label came first; * is a right one."""
    _print_aligned([[*COLUMNS, "labels"], *([*line.cells(), line.labels] for line in lines(rows))])
    print()
    for line in (*totals(rows, controls), *remarks(rows, controls)):
        print(line)
    for row in rows:
        if row.apart:
            print(f"kept apart: {row.fault} in {row.task}, {row.apart}")


def page(rows: Sequence[Diagnosed], controls: Sequence[Control], command: str) -> None:
    """Prints it as a page: what was measured, by which command, with what, the table, and the lists."""
    on = f"Python {platform.python_version()}, torch {version('torch')}, triton {version('triton')}"
    print("# Diagnosis: is a mistake found, and is it named?\n")
    print(f"`{command}`\n")
    print(f"{date.today().isoformat()}, {on}.\n\n{EXPLAINED}")
    print(f"| {' | '.join(COLUMNS)} | labels (* right) |\n|---|{'---:|' * (len(COLUMNS) - 1)}---|")
    for line in lines(rows):
        print(f"| {' | '.join(line.cells())} | {line.labels} |")
    _print_list("Totals", totals(rows, controls))
    _print_list("Not as it should be", remarks(rows, controls))
    same = (row for row in rows if row.apart)
    _print_list("Kept apart, and correct", (f"`{row.fault}` in {row.task}: {row.apart}" for row in same))
    missed = (row for row in rows if row.detected and not row.right_label)
    _print_list("Found and not named", (f"`{row.fault}` in {row.task}: {row.label or 'nothing'}" for row in missed))


def _print_list(title: str, entries: Iterator[str]) -> None:
    print(f"\n## {title}\n")
    print("\n".join(f"- {entry}" for entry in entries) or "None.")


def _print_aligned(table: Sequence[Sequence[str]]) -> None:
    """The first and the last column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    last = len(widths) - 1
    for cells in table:
        sides: list[Callable[[str, int], str]] = [str.rjust if 0 < i < last else str.ljust for i in range(last + 1)]
        print("  ".join(side(cell, w) for side, cell, w in zip(sides, cells, widths, strict=True)).rstrip())


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.1%})" if whole else "0 of 0"
