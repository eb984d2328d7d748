"""`python -m experiments diagnose`: every known mistake in every oracle that it fits. Is it found, and is it named?"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agents.context import EvaluatorLike
from evaluator.patterns import PatternName as P
from tasks.catalog import built, load, oracle_path, select
from tasks.errors import unknown
from tasks.faults.catalog import FAULTS
from tasks.faults.fault import VALUES, Fault
from tasks.outcomes import Reason

OUTSIDE = frozenset({P.OUT_OF_BOUNDS_WRITE, P.OUT_OF_BOUNDS_READ})
MISSING = frozenset({P.LAST_TILE, P.NEVER_WRITTEN, P.TILE_LEFT_OUT})
LABELS: Mapping[str, frozenset[P]] = {
    "unmasked_store": frozenset({P.OUT_OF_BOUNDS_WRITE}),
    "unmasked_load": frozenset({P.PADDED_LANES, P.OUT_OF_BOUNDS_READ}),
    "swapped_strides": frozenset({P.STRIDES, P.TRANSPOSED}) | OUTSIDE,
    "dropped_stride": frozenset({P.STRIDES, P.REPEATED}) | OUTSIDE,
    "shifted_index": frozenset({P.SHIFTED}) | OUTSIDE,
    "loose_bound": OUTSIDE,
    "zero_padding": frozenset({P.PADDED_LANES}),
    "zero_start": frozenset({P.PADDED_LANES}),
    "no_max_subtraction": frozenset({P.OVERFLOW}),
    "wrong_axis": frozenset({P.WRONG_AXIS}),
    "last_dimension": frozenset({P.WRONG_AXIS, P.STRIDES}),
    "low_precision": frozenset({P.LOW_PRECISION}),
    "wrong_sign": frozenset({P.SIGN}),
    "dropped_factor": frozenset({P.CONSTANT_FACTOR}),
    "dropped_divisor": frozenset({P.CONSTANT_FACTOR, P.SLICE_FACTOR}),
    "floored_grid": MISSING,
    "short_grid": MISSING,
    "cut_loop": frozenset({P.LAST_TILE, P.TILE_LEFT_OUT}),
}
"""The patterns that say what a fault is, where wrong values are all that it leaves. Every other fault is named by the
reason code that it declares."""


@dataclass(frozen=True)
class Diagnosed:
    """One mistake in one oracle. `label` is the first pattern that the diagnosis names, else the reason code where that
    says what happened; None where there are wrong values and no pattern. `characters` are those of the diagnosis."""

    fault: str
    task: str
    outcome: str
    detected: bool
    right_status: bool
    label: str | None
    right_label: bool
    characters: int


def pairs(kinds: Sequence[str], tasks: Sequence[str]) -> Iterator[tuple[Fault, str, str]]:
    """Every kind in `kinds` (none: all) with every task of `tasks` that it fits, and the mutant. UserError for an
    unknown kind. Kinds that are right and only slow make no mistake, and are left out."""
    names = [fault.name for fault in FAULTS if not fault.slow]
    for kind in kinds:
        if kind not in names:
            raise unknown("kind of fault", kind, names)
    for fault in FAULTS:
        if fault.slow or (kinds and fault.name not in kinds):
            continue
        if Reason.NO_CODE in fault.reasons:
            yield from ((fault, task, "") for task in tasks)
            continue
        for task in tasks:
            mutant = fault.apply(oracle_path(task).read_text(encoding="utf-8"))
            if mutant is not None:
                yield fault, task, mutant


def diagnosed(judge: EvaluatorLike, fault: Fault, task: str, source: str) -> Diagnosed:
    """The mutant's verdict, set against what the fault declares."""
    verdict = judge.evaluate(load(task), source)
    by_values = verdict.reason in VALUES
    label = verdict.patterns[0] if verdict.patterns else None if by_values or verdict.correct else str(verdict.reason)
    right = (
        label in LABELS.get(fault.name, ()) if verdict.patterns else not by_values and verdict.reason in fault.reasons
    )
    return Diagnosed(
        fault.name,
        task,
        verdict.outcome,
        not verdict.correct,
        verdict.status in fault.expects,
        label,
        bool(right),
        len(verdict.diagnosis),
    )


def diagnose(
    kinds: Sequence[str],
    tasks: Sequence[str],
    workers: int,
    out: Path | None,
    make_judge: Callable[[int], Any] | None = None,
) -> int:
    """Prints a line for each kind, precision and recall over all, and what went undetected. `out` takes every pair as
    JSON. Returns 0 when every mistake is detected and no oracle gets a label, else 1. Raises UserError."""
    ids = [task for task in select(tasks) if task in set(built())] if tasks else built()
    work = list(pairs(kinds, ids))
    with (make_judge or _evaluator)(workers) as judge, ThreadPoolExecutor(workers) as pool:
        rows = list(pool.map(lambda pair: diagnosed(judge, *pair), work))
        oracles = list(pool.map(lambda task: judge.evaluate(load(task), _oracle(task)), ids))
    if out:
        out.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    false = [task for task, verdict in zip(ids, oracles, strict=True) if verdict.patterns or not verdict.correct]
    _print(rows, false, len(ids))
    return 0 if all(row.detected for row in rows) and not false else 1


def _oracle(task: str) -> str:
    return oracle_path(task).read_text(encoding="utf-8")


def _evaluator(workers: int) -> Any:
    from evaluator.judge import Evaluator

    return Evaluator(device="cpu", workers=workers, secret=b"diagnose")


def _print(rows: Sequence[Diagnosed], false: Sequence[str], oracles: int) -> None:
    if not rows:
        print("no such mistake fits these tasks")
        return
    head = f"{'kind':<26}{'pairs':>6}{'detected':>10}{'status':>8}{'named':>7}{'chars':>7}  labels"
    print(head)
    for kind in dict.fromkeys(row.fault for row in rows):
        its = [row for row in rows if row.fault == kind]
        labels = Counter((row.label or "none") + "*" * row.right_label for row in its)
        told = ", ".join(f"{label} {count}" for label, count in labels.most_common())
        counts = (
            sum(row.detected for row in its),
            sum(row.right_status for row in its),
            sum(r.right_label for r in its),
        )
        characters = statistics.median(row.characters for row in its)
        print(f"{kind:<26}{len(its):>6}{counts[0]:>10}{counts[1]:>8}{counts[2]:>7}{characters:>7.0f}  {told}")
    labelled = [row for row in rows if row.label]
    right = sum(row.right_label for row in rows)
    print()
    print(f"{len(rows)} mistakes of {len({row.fault for row in rows})} kinds; * is the right label")
    print(f"detected {_share(sum(row.detected for row in rows), len(rows))}")
    print(f"right status {_share(sum(row.right_status for row in rows), len(rows))}")
    print(f"label: precision {_share(right, len(labelled))}, recall {_share(right, len(rows))}")
    print(f"median {statistics.median(row.characters for row in rows):.0f} characters")
    print(f"oracles with a label or a refusal: {len(false)} of {oracles}{': ' + ', '.join(false) if false else ''}")
    for row in rows:
        if not row.detected:
            print(f"not detected: {row.fault} in {row.task}")


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.1%})" if whole else "0 of 0"
