"""`python -m experiments diagnose`: every known mistake in every oracle that it fits. Is it found, and is it named?"""

from __future__ import annotations

import difflib
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agents.context import EvaluatorLike
from evaluator.records import Evaluation
from experiments.diagnose_labels import LABELS, label_of, names_of
from tasks.catalog import built, load, oracle_path, select
from tasks.errors import UserError
from tasks.faults.catalog import FAULTS
from tasks.faults.equivalent import why_right
from tasks.faults.fault import Fault
from tasks.outcomes import Reason

STEP = 20  # verdicts between two lines of progress


@dataclass(frozen=True)
class Diagnosed:
    """One mistake in one oracle.

    `label` is what the diagnosis names first: a pattern, a hint, or a reason code that says what happened; None where
    nothing is named. `apart` says why a mutant is right that must be `characters` are those of the
    diagnosis.
    """

    fault: str
    task: str
    outcome: str
    detected: bool
    right_status: bool
    label: str | None
    right_label: bool
    characters: int
    apart: str | None = None


@dataclass(frozen=True)
class Control:
    """A right kernel, and what it got: `outcome` and every pattern that was named."""

    name: str
    outcome: str
    correct: bool
    patterns: tuple[str, ...]

    @property
    def clean(self) -> bool:
        return self.correct and not self.patterns


def pairs(kinds: Sequence[str], tasks: Sequence[str]) -> Iterator[tuple[Fault, str, str]]:
    """Every kind in `kinds` (none: all) with every task of `tasks` that it fits, and the mutant. UserError for an
    unknown kind. Kinds that are right and only slow make no mistake, and are left out."""
    chosen = _chosen(kinds)
    for fault in chosen:
        if Reason.NO_CODE in fault.reasons:
            yield from ((fault, task, "") for task in tasks)
            continue
        for task in tasks:
            mutant = fault.apply(_oracle(task))
            if mutant is not None:
                yield fault, task, mutant


def diagnosed(verdict: Evaluation, fault: Fault, task: str) -> Diagnosed:
    """The mutant's verdict, set against what the fault declares."""
    label = label_of(verdict)
    return Diagnosed(
        fault.name,
        task,
        verdict.outcome,
        not verdict.correct,
        verdict.status in fault.expects,
        label,
        label in names_of(fault),
        len(verdict.diagnosis),
        why_right(fault.name, task),
    )


def right_kernels(tasks: Sequence[str], folder: Path | None) -> list[tuple[str, str, str]]:
    """(name, task, source) of kernels that are right: the oracles, and those of `folder`, whose files are named
    `Category__operator__style.py`. UserError for a folder that has none for `tasks`."""
    found = [(f"oracle of {task}", task, _oracle(task)) for task in tasks]
    if folder is None:
        return found
    named = [("/".join(path.stem.split("__")[:-1]), path) for path in sorted(folder.glob("*.py"))]
    more = [(path.stem, task, path.read_text(encoding="utf-8")) for task, path in named if task in set(tasks)]
    if not more:
        raise UserError(f"{folder} holds no Category__operator__style.py for these tasks")
    return [*found, *more]


def diagnose(
    kinds: Sequence[str],
    tasks: Sequence[str],
    workers: int,
    out: Path | None,
    *,
    right: Path | None = None,
    markdown: bool = False,
    make_judge: Callable[[int], Any] | None = None,
) -> int:
    """Prints a line for each kind, the totals, and what went undetected; as a page with `markdown`.

    `right` is a folder of more right kernels. `out` takes every mistake and every right kernel as JSON. Returns 0 when
    every mistake is detected, every mutant kept apart is correct and no right kernel gets a label, else 1. Raises
    UserError.
    """
    from experiments import diagnose_table

    ids = [task for task in select(tasks) if task in set(built())] if tasks else built()
    work = list(pairs(kinds, ids))
    kernels = right_kernels(ids, right)
    sources = [(task, mutant) for _, task, mutant in work] + [(task, source) for _, task, source in kernels]
    with (make_judge or _evaluator)(workers) as judge:
        verdicts = _judged(judge, sources, workers)
    rows = [diagnosed(verdict, fault, task) for verdict, (fault, task, _) in zip(verdicts, work, strict=False)]
    controls = [
        Control(name, verdict.outcome, verdict.correct, verdict.patterns)
        for verdict, (name, _, _) in zip(verdicts[len(work) :], kernels, strict=True)
    ]
    if out:
        told = {"mistakes": [asdict(row) for row in rows], "right": [asdict(control) for control in controls]}
        out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    if not rows:
        print("no such mistake fits these tasks")
    elif markdown:
        given = [*(["--kinds", *kinds] if kinds else []), *(["--tasks", *tasks] if tasks else [])]
        given += ["--right", str(right)] if right else []
        diagnose_table.page(
            rows, controls, shlex.join(["python", "-m", "experiments", "diagnose", *given, "--markdown"])
        )
    else:
        diagnose_table.text(rows, controls)
    as_declared = all(row.detected is (row.apart is None) for row in rows)
    return 0 if as_declared and all(control.clean for control in controls) else 1


def list_kinds() -> int:
    """Prints every kind of mistake with what it is and the labels that name it. Returns 0."""
    for fault in _chosen(()):
        labels = LABELS.get(fault.name, names_of(fault))
        print(f"{fault.name:<26}{fault.summary} [{', '.join(sorted(labels)) or 'no label says it'}]")
    return 0


def _chosen(kinds: Iterable[str]) -> list[Fault]:
    known = {fault.name: fault for fault in FAULTS if not fault.slow}
    for kind in kinds:
        if kind not in known:
            near = difflib.get_close_matches(kind, known, n=3, cutoff=0.5) or [name for name in known if kind in name]
            hint = f"did you mean {', '.join(map(repr, near))}? " if near else ""
            raise UserError(f"unknown kind of fault {kind!r}; {hint}`python -m experiments diagnose --list` shows all")
    wanted = set(kinds) or set(known)
    return [fault for name, fault in known.items() if name in wanted]


def _judged(judge: EvaluatorLike, sources: Sequence[tuple[str, str]], workers: int) -> list[Evaluation]:
    """The verdicts on (task, source) pairs, in their order; how far it is goes to standard error."""
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(judge.evaluate, load(task), source) for task, source in sources]
        for done, _ in enumerate(as_completed(waiting), start=1):
            if done % STEP == 0:
                print(f"{done} of {len(waiting)} judged", file=sys.stderr, flush=True)
        return [verdict.result() for verdict in waiting]


def _oracle(task: str) -> str:
    return oracle_path(task).read_text(encoding="utf-8")


def _evaluator(workers: int) -> Any:
    from evaluator.judge import Evaluator

    return Evaluator(device="cpu", workers=workers, secret=b"diagnose")
