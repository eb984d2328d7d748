"""`python -m experiments admit`: whether each task of the suite can be solved, and refuses what is wrong.

For every task its negative controls are judged as values, its oracle goes through the evaluator, and so does one mutant
of every kind of mistake that fits the oracle.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

from evaluator.judge import Evaluator
from evaluator.records import Evaluation
from tasks.catalog import index, load, oracle_path, select
from tasks.errors import UserError
from tasks.faults.catalog import fitting
from tasks.faults.equivalent import why_right
from tasks.faults.fault import Fault
from tasks.outcomes import Reason

SEED = 101
SECRET = b"admission"
AHEAD = 2  # tasks whose verdicts are on their way while another's are waited for


@dataclass
class Admitted:
    """What became of one task.

    `refused` counts controls that were; `lax` names those that were not, `unfit` those that no case can tell. `oracle`
    has the outcome for each secret, "correct" or why not. `found` counts mutants that were refused, or rightly not;
    `missed` names those that were judged otherwise, `other` those refused with another status than the kind says.
    """

    task: str
    refused: int = 0
    lax: list[str] = field(default_factory=list)
    unfit: list[str] = field(default_factory=list)
    oracle: list[str] = field(default_factory=list)
    found: int = 0
    missed: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def passes(self) -> bool:
        return not self.lax and not self.missed and all(outcome == "correct" for outcome in self.oracle)


def admission(patterns: Sequence[str], workers: int, seeds: int, *, mutants: bool) -> int:
    """Prints a line for each task as it is done, then the totals. Returns 0 when all pass, else 1. Raises UserError."""
    names = select(patterns)
    if own := [name for name in names if name not in index()]:
        raise UserError(
            f"{own[0]} has no oracle to admit it by; `python -m tasks new` writes a test for a task of one's own"
        )
    start, rows = time.perf_counter(), []
    print(f"{'task':52}{'controls':>9}{'oracle':>9}{'mutants':>9}{'seconds':>9}")
    for row in admitted(names, workers, seeds, mutants=mutants):
        rows.append(row)
        print(_line(row), flush=True)
    passing = sum(row.passes for row in rows)
    found, tried = sum(row.found for row in rows), sum(row.found + len(row.missed) for row in rows)
    others = sum(len(row.other) for row in rows)
    print(
        f"{passing} of {len(rows)} tasks pass; {sum(row.refused for row in rows)} controls refused; "
        f"{found} of {tried} mutants judged as they should be, {others} of them with another status than the kind "
        f"names; {time.perf_counter() - start:.0f} s"
    )
    return 0 if passing == len(rows) else 1


def admitted(names: Sequence[str], workers: int, seeds: int, *, mutants: bool) -> Iterator[Admitted]:
    """Each task's row, in order; `seeds` is how many secrets draw the oracle's hidden cases."""
    with (
        ProcessPoolExecutor(workers, get_context("spawn")) as processes,
        ThreadPoolExecutor(workers) as threads,
        Evaluator(device="cpu", workers=workers, secret=SECRET) as evaluator,
    ):
        controls = [processes.submit(_controls, name) for name in names]
        ahead: deque[_Judging] = deque()
        for place, name in enumerate([*names, *[None] * AHEAD]):
            if name is not None:
                ahead.append(_Judging(name, evaluator, threads, seeds, mutants=mutants))
            if place >= AHEAD:
                row = ahead.popleft().row()
                row.refused, row.lax, row.unfit = controls[place - AHEAD].result()
                yield row


class _Judging:
    """One task's oracle and mutants on their way through the evaluator."""

    def __init__(
        self, name: str, evaluator: Evaluator, threads: ThreadPoolExecutor, seeds: int, *, mutants: bool
    ) -> None:
        self.name = name
        task, source = load(name), oracle_path(name).read_text(encoding="utf-8")
        # another source is another draw of the hidden cases
        right = [source, *(f"{source}\n# {number}\n" for number in range(1, seeds))]
        self._right = [threads.submit(evaluator.evaluate, task, text) for text in right]
        kinds = [fault for fault in fitting(source) if Reason.NO_CODE not in fault.reasons] if mutants else []
        self._wrong: list[tuple[Fault, Future[Evaluation]]] = [
            (fault, threads.submit(evaluator.evaluate, task, str(fault.apply(source)))) for fault in kinds
        ]

    def row(self) -> Admitted:
        row = Admitted(self.name)
        for future in self._right:
            said = future.result()
            row.seconds += said.total_s
            row.oracle.append(said.outcome)
        for fault, future in self._wrong:
            said = future.result()
            row.seconds += said.total_s
            should_pass = fault.slow or why_right(fault.name, self.name) is not None
            if said.correct is not should_pass:
                row.missed.append(f"{fault.name} ({said.outcome})")
                continue
            row.found += 1
            if not should_pass and (said.status not in fault.expects or said.reason not in fault.reasons):
                row.other.append(f"{fault.name} ({said.outcome})")
        return row


def _controls(name: str) -> tuple[int, list[str], list[str]]:
    """How many are refused, and which are not, or fit no case; in a process of its own."""
    import torch

    from tasks.controls import admit

    torch.set_num_threads(1)
    findings = admit(load(name), SEED)
    lax = [f"{one.control}: {one.detail}" for one in findings if one.refused is False]
    return (
        sum(one.refused is True for one in findings),
        lax,
        [one.control for one in findings if one.refused is None],
    )


def _line(row: Admitted) -> str:
    right = sum(outcome == "correct" for outcome in row.oracle)
    tried = row.found + len(row.missed)
    line = f"{row.task:52}{row.refused:9}{f'{right}/{len(row.oracle)}':>9}{f'{row.found}/{tried}':>9}{row.seconds:9.1f}"
    more = [f"  accepted: {one}" for one in row.lax]
    more += [f"  oracle: {outcome}" for outcome in row.oracle if outcome != "correct"]
    more += [f"  judged otherwise than it should be: {one}" for one in row.missed]
    more += [f"  with another status: {one}" for one in row.other]
    return "\n".join([line, *more])
