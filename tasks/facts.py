"""What is known of each built task without loading it: whether its oracle is pure Triton, and what a call costs.

`python -m tasks facts` writes `facts.csv` and renews the table in `tasks/README.md`; listings only read it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from tasks.catalog import HERE, Row, built, index

FILE = HERE / "facts.csv"
README = HERE / "README.md"
BEGIN, END = "<!-- made by `python -m tasks facts` -->", "<!-- end -->"


@dataclass(frozen=True)
class Facts:
    """`torch` names the torch operations that a solution may call beyond allocation, views and copies; with none the
    oracle is pure Triton. `case` is the first timed case, `bytes_min` and `flops` its fewest bytes and operations."""

    torch: tuple[str, ...]
    case: str
    bytes_min: int
    flops: int

    @property
    def purity(self) -> str:
        return "Triton" if not self.torch else f"with {', '.join(self.torch)}"

    @property
    def cost(self) -> str:
        """Bytes and operations in words: `67 MB, 25 Mflop`."""
        return f"{_scaled(self.bytes_min, 'B')}, {_scaled(self.flops, 'flop')}"


@cache
def facts() -> dict[str, Facts]:
    """What the file says, by id."""
    if not FILE.exists():
        return {}
    with FILE.open(newline="", encoding="utf-8") as file:
        return {
            line["id"]: Facts(tuple(line["torch"].split()), line["case"], int(line["bytes_min"]), int(line["flops"]))
            for line in csv.DictReader(file)
        }


def computed(name: str) -> Facts:
    """The facts of a task, from the task."""
    from tasks.catalog import load
    from tasks.draw import Draw

    task = load(name)
    case = next(iter(task.timed(Draw(0))))
    cost = task.cost(*case.args, **case.kwargs)
    return Facts(tuple(sorted(task.allow)), case.label, cost.bytes_min, cost.flops)


def write() -> int:
    """Renews the file and the README's table; returns how many tasks they hold."""
    known = {name: computed(name) for name in built()}
    with FILE.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("id", "torch", "case", "bytes_min", "flops"))
        for name, one in known.items():
            rows.writerow((name, " ".join(one.torch), one.case, one.bytes_min, one.flops))
    facts.cache_clear()
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")
    return len(known)


def table() -> str:
    """All built tasks as a Markdown table."""
    lines = ["| task | difficulty | dtypes | oracle | cost of its first timed case |", "|---|---|---|---|---|"]
    for name, one in facts().items():
        row, case = index()[name], one.case.replace("|", "/")
        lines.append(f"| {name} | {row.difficulty} | {dtypes_of(row)} | {one.purity} | {one.cost} ({case}) |")
    pure = sum(not one.torch for one in facts().values())
    return "\n".join([f"{len(facts())} of {len(index())} tasks are built; {pure} oracles are pure Triton.", "", *lines])


def dtypes_of(row: Row) -> str:
    return row.in_dtypes if row.in_dtypes == row.out_dtypes else f"{row.in_dtypes or 'none'} -> {row.out_dtypes}"


def _scaled(count: int, unit: str) -> str:
    value, prefix = float(count), ""
    for larger in ("k", "M", "G", "T"):
        if value < 1000:
            break
        value, prefix = value / 1000, larger
    return f"{value:.3g} {prefix}{unit}"
