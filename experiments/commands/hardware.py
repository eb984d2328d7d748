"""The same kernels on several GPUs: what compiles where, what it takes there, and how much speedups differ."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.commands.shared import runs_argument
from experiments.output import WIDTH, show, table, write_json

if TYPE_CHECKING:
    from rich.console import Group

    from experiments.hardware import Hardware, Kernel, Spread

HELP = "the same kernels on several GPUs: what compiles where, what it takes there, how much speedups differ"
EXAMPLES = """\
  python -m experiments hardware RUN RUN --targets sm90,gfx942
"""
TARGETS = "sm90,sm80,sm100,gfx942"
MOST = 10
LEGEND = """\
Of each source the largest of its specialisations; median and maximum over the sources. Registers of a thread: ptxas's
on NVIDIA, vector registers on AMD. Shared memory in bytes a block, spills in bytes a thread (NVIDIA: its stack)."""


def flags(command: argparse.ArgumentParser) -> None:
    runs_argument(command)
    add = command.add_argument
    add("--targets", metavar="LIST", help="compile targets to look at (default: those that the runs were judged for)")
    add("--json", type=Path, metavar="FILE", help="write all of it to a new file too")


def run(arguments: argparse.Namespace) -> int:
    from experiments.hardware import hardware

    found = hardware(arguments.runs, None if arguments.targets is None else arguments.targets.split(","))
    if arguments.json:
        write_json(arguments.json, as_json(found))
    show(_parts(found, arguments.targets or TARGETS))
    return 0


def as_json(found: Hardware) -> dict[str, Any]:
    """All figures, and every kernel with its outcomes, resources and speedups, as JSON values."""
    return {
        "runs": [
            {"run": cell.run.path.name, "label": cell.label, "notice": cell.run.simulation_notice}
            for cell in found.cells
        ],
        "sources": len(found.kernels),
        "infra": found.infra,
        "untried": found.untried,
        "targets": {
            name: {
                "all": asdict(found.rate(name, found.loading)),
                "common": asdict(found.rate(name, found.common)),
                "resources": {key: one and asdict(one) for key, one in found.resources(name).items()},
            }
            for name in found.targets
        },
        "devices": found.devices,
        "spread": found.spread and asdict(found.spread),
        "kernels": [{**asdict(kernel), "spread": kernel.spread} for kernel in found.kernels],
    }


def _parts(found: Hardware, wanted: str) -> Iterable[str | Group]:
    for cell in found.cells:
        yield f"{cell.label}: method {cell.method}, model {cell.model}, judged for {_judged_for(cell.run.record)}"
    yield from dict.fromkeys(f"{cell.label}: {notice}" for cell in found.cells for notice in cell.notices)
    several = sum(len(kernel.runs) > 1 for kernel in found.kernels)
    yield f"{len(found.kernels)} sources, {len(found.loading)} of them load, {several} are in several runs"
    if found.infra:
        yield f"left out, {found.infra} verdicts of a machine that failed"
    yield ""
    if len(found.untried) < len(found.targets):
        yield from _compilation(found)
        yield from _resources(found)
        yield from _differing(found)
    yield from _how_to(found, wanted)
    yield from _speedups(found)


def _compilation(found: Hardware) -> Iterable[str | Group]:
    rows = []
    for name in found.targets:
        rate = found.rate(name, found.loading)
        common = found.rate(name, found.common)
        rows.append(
            (
                name,
                *(f"{rate.tried} of {len(found.loading)}", *_share(rate.compile, rate.tried)),
                *_share(rate.compile_launching, rate.tried_launching),
                *_share(common.compile, common.tried),
            )
        )
    title = "Sources that load, by target: every launch that they make compiles"
    columns = ("target", "tried", "compile", "rate", "of those that launch", "rate", "of those tried for all", "rate")
    yield table(title, columns, rows)
    if len(found.common) < len(found.loading):
        yield (
            "Where the first target of a run refuses a launch, what the others make of it is not known: those tried\n"
            "for all are what the first compiles, unless runs differ in which is first."
        )
    yield ""


def _share(part: int, whole: int) -> tuple[str, str]:
    return f"{part} of {whole}", f"{part / whole:.1%}" if whole else "-"


def _resources(found: Hardware) -> Iterable[str | Group]:
    known = {name: found.resources(name) for name in found.targets}
    rows = [
        (name, *(cell for one in figures.values() for cell in _cells(one)), _spilling(figures["spill_bytes"]))
        for name, figures in known.items()
        if any(figures.values())
    ]
    if rows:
        columns = [cell for name in ("registers", "shared", "spills") for cell in ("sources", name, "max")]
        yield table("Resources, by target", ("target", *columns, "share that spill"), rows)
        yield LEGEND
        yield ""
    without = [name for name in known if name not in found.untried and not any(known[name].values())]
    if without:
        yield (
            f"No resources are recorded for {', '.join(without)}: a verdict has those of its first target. Judge the "
            "sources once with each of them first."
        )
        yield ""


def _cells(one: Spread | None) -> tuple[str, str, str]:
    return (str(one.n), f"{one.median:g}", str(one.largest)) if one else ("-", "-", "-")


def _spilling(one: Spread | None) -> str:
    return f"{one.nonzero} of {one.n} ({one.nonzero / one.n:.1%})" if one else "-"


def _differing(found: Hardware) -> Iterable[str | Group]:
    from experiments.hardware import OK

    rows = [
        (kernel.task, kernel.sha[:8], _compiling(kernel, found.targets), name, kernel.outcomes[name])
        for kernel in found.differing
        for name in found.targets
        if kernel.outcomes.get(name, OK) != OK
    ]
    title = f"Sources that compile for one target and not for another: {len(found.differing)}"
    yield table(title, ("task", "source", "compiles for", "not for", "error"), rows, left=5)
    yield ""


def _compiling(kernel: Kernel, targets: Iterable[str]) -> str:
    return ", ".join(name for name in targets if kernel.outcomes.get(name) == "ok")


def _how_to(found: Hardware, wanted: str) -> Iterable[str]:
    if found.untried:
        yield f"No run here was judged for {', '.join(found.untried)}."
    if not found.targets:
        yield "No run here was compiled for any target."
    if found.untried or len(found.targets) < 2:
        yield "To judge kernels for several targets (no GPU is needed), the first of which decides:"
        yield f"  python -m experiments score FILE --targets {wanted if ',' in wanted else TARGETS}"
        yield "where FILE has predictions; those of a run: python -m experiments export RUN predictions --out FILE"
        yield ""


def _speedups(found: Hardware) -> Iterable[str | Group]:
    from agents.report_table import mean_text

    if len(found.devices) < 2:
        here = f"only of {found.devices[0]}" if found.devices else "of none"
        yield f"Speedups by device need runs of the same kernels on two devices; timings here are {here}."
        return
    if found.spread is None:
        yield f"Speedups by device: no kernel was timed on more than one of {', '.join(found.devices)}."
        return
    head = f"Largest over smallest speedup of the {found.spread.n} kernels timed on two devices or more: "
    yield textwrap.fill(f"{head}{mean_text(found.spread)}, between {', '.join(found.devices)}", WIDTH)
    rows = [(kernel.task, kernel.sha[:8], _timed(kernel), f"{kernel.spread:.2f}") for kernel in found.most_dependent]
    columns = ("task", "source", "speedup over eager", "ratio")
    yield table("The most device-dependent ones", columns, rows[:MOST], left=3)


def _timed(kernel: Kernel) -> str:
    return ", ".join(f"{value:.2f}x {name}" for name, value in kernel.speedups.items())


def _judged_for(record: Any) -> str:
    judge = (record.get("scored") or {}).get("evaluator") or record.get("evaluator") or {}
    return ",".join(judge.get("targets", ())) or "no target"
