"""How often the first pattern names the fault that was put in: `python -m tests.pattern_table [fault or task ...]`.

Every kind of fault whose values may be wrong, on every oracle that it fits, goes through the real evaluator: minutes.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import evaluator.judge
from evaluator import wire
from evaluator.conversation import Answer
from evaluator.judge import Evaluator
from evaluator.observe import sighting
from evaluator.patterns import Pattern, Seen, patterns_of
from evaluator.patterns import PatternName as P
from tasks.catalog import built, load, oracle_path
from tasks.faults.catalog import FAULTS
from tasks.faults.fault import VALUES
from tasks.judges import truth_of

OUTSIDE = {P.OUT_OF_BOUNDS_WRITE, P.OUT_OF_BOUNDS_READ}
MISSING = {P.LAST_TILE, P.NEVER_WRITTEN, P.TILE_LEFT_OUT}
MEANT: dict[str, set[P]] = {
    "unmasked_store": {P.OUT_OF_BOUNDS_WRITE},
    "unmasked_load": {P.PADDED_LANES, P.OUT_OF_BOUNDS_READ},
    "swapped_strides": {P.STRIDES, P.TRANSPOSED} | OUTSIDE,
    "dropped_stride": {P.STRIDES, P.REPEATED} | OUTSIDE,
    "shifted_index": {P.SHIFTED} | OUTSIDE,
    "loose_bound": OUTSIDE,
    "zero_padding": {P.PADDED_LANES},
    "zero_start": {P.PADDED_LANES},
    "no_max_subtraction": {P.OVERFLOW},
    "wrong_axis": {P.WRONG_AXIS},
    "last_dimension": {P.WRONG_AXIS, P.STRIDES},
    "low_precision": {P.LOW_PRECISION},
    "wrong_sign": {P.SIGN},
    "dropped_factor": {P.CONSTANT_FACTOR},
    "dropped_divisor": {P.CONSTANT_FACTOR, P.SLICE_FACTOR},
    "floored_grid": MISSING,
    "short_grid": MISSING,
    "cut_loop": {P.LAST_TILE, P.TILE_LEFT_OUT},
}
"""The patterns that say what a fault is. They were fixed before the first measurement."""


def pairs(wanted: list[str]) -> Iterator[tuple[str, str, str]]:
    """Kind, task and mutant, of those in `wanted` (empty: all)."""
    for fault in FAULTS:
        for task in built() if not fault.slow and fault.reasons & VALUES else ():
            mutant = fault.apply(oracle_path(task).read_text())
            if mutant is not None and (not wanted or {fault.name, task} & set(wanted)):
                yield fault.name, task, mutant


def judged(running: Evaluator, task_id: str, source: str) -> list[Pattern] | None:
    """The patterns of the case that decided; None where no values did."""
    task, heard = load(task_id), {}
    real = evaluator.judge.judge

    def listening(task: Any, drawn: Any, transcripts: Any, without: Any = ()) -> Any:
        answers = {index: answer for transcript in transcripts for index, answer in transcript.calls.items()}
        heard.update(drawn=drawn, answers=answers, verdict=real(task, drawn, transcripts, without))
        return heard["verdict"]

    def seen(index: int, answer: Answer) -> Seen | None:
        case = heard["drawn"][index].case
        try:
            observed = sighting(task, case, answer).observed
        except wire.WireError:
            return None
        return Seen(case, observed, truth_of(task, case), answer.header.get("strays") or ())

    evaluator.judge.judge = listening
    try:
        running.evaluate(task, source)
    finally:
        evaluator.judge.judge = real
    failure = heard["verdict"].failure if heard else None
    if failure is None or not (failure.mismatch or failure.strays):
        return None
    looks = {index: seen(index, answer) for index, answer in heard["answers"].items() if "error" not in answer.header}
    which = next(index for index, entry in enumerate(heard["drawn"]) if entry is failure.drawn)
    first = looks.pop(which)
    return patterns_of(task, first, [look for look in looks.values() if look]) if first else None


def main(wanted: list[str]) -> None:
    table: defaultdict[str, Counter[str]] = defaultdict(Counter)
    total: Counter[str] = Counter()
    with Evaluator(device="cpu", targets=("sm90",), secret=b"pattern table") as running:
        for fault, task, source in pairs(wanted):
            found = judged(running, task, source)
            first = "no values" if found is None else str(found[0].name) if found else "no pattern"
            right = bool(found) and found[0].name in MEANT.get(fault, set())
            table[fault][first + ("*" if right else "")] += 1
            total["right" if right else first if not found else "another"] += 1
            print(f"{fault} {task}: {first}{' *' if right else ''}", flush=True)
    for fault, firsts in table.items():
        print(f"{fault:20}", ", ".join(f"{name} {n}" for name, n in firsts.most_common()))
    print(dict(total))


if __name__ == "__main__":
    main(sys.argv[1:])
