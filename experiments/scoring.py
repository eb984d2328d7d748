"""`python -m experiments score`: from a file of predictions to a table of verdicts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from agents.imports import import_run
from agents.newrun import find_run
from agents.report_table import many
from agents.runfolder import Run, open_run
from experiments.outcomes import compared, counts_of, outcomes_of
from tasks.errors import UserError

MOST_SHOWN = 20


def scoring(
    path: Path,
    out: Path | None,
    *,
    form: str | None = None,
    model: str | None = None,
    workers: int | None = None,
    targets: Sequence[str] | None = None,
    device: str | None = None,
    compare: bool = False,
) -> int:
    """Score predictions in `path`, or go on with the run that they were imported into, and print what came of them.

    `targets` and `device` None are those of the run; sm90 and auto for a new one. Settings that differ from a run's are
    refused. Returns 0, 1 when the machine failed some (say it again to go on), 130 when interrupted. Raises UserError.
    """
    from evaluator.targets import targets_named
    from experiments.score import check_same, cores, judged_by, score

    if targets is not None:
        targets_named(targets)
    run = _run(path, out, form, model)
    if targets is not None:
        check_same(run, {"targets": list(targets)})
    targets = targets or judged_by(run).get("targets", ("sm90",))
    device = device or judged_by(run).get("device", "auto")
    print(f"run {run.path}: {many(len(run.tasks), 'task')}; starting the evaluator", flush=True)
    from evaluator.judge import Evaluator  # torch, some seconds

    workers = workers or cores()
    with Evaluator(device=device, targets=targets, workers=workers, secret=run.secret) as judge:
        end = score(run, judge, workers=workers, say=lambda line: print(line, flush=True))
    print(f"{many(end.judged, 'source')} judged now, {end.before} before")
    print()
    report(run, compare=compare)
    if end.infra:
        print(f"not judged, since the machine failed: {many(end.infra, 'source')}", file=sys.stderr)
    if end.interrupted or end.infra:
        print(f"go on with: python -m experiments score {run.path}")
    return 130 if end.interrupted else 1 if end.infra else 0


def report(run: Run, *, compare: bool) -> None:
    """Prints the outcomes of a scored run; with `compare` beside what the origin said."""
    outcomes = outcomes_of(run)
    evaluated, loaded = counts_of(outcomes)
    _print_counts("for built tasks, judged in full", evaluated)
    _print_counts("for tasks that are not built: static checks and load stage only", loaded)
    if not compare:
        return
    pairs, differing = compared(outcomes)
    if not pairs:
        print("the origin recorded no verdict to compare with")
        return
    print(f"{'theirs':<10}{'ours':<16}{'sources':>8}")
    for (theirs, ours), count in sorted(pairs.items()):
        print(f"{theirs:<10}{ours:<16}{count:>8}")
    for one in differing[:MOST_SHOWN]:
        place = f"{one.source.task} round {one.source.round}"
        print(f"{place}: {one.theirs} there, {one.ours} here")
    if len(differing) > MOST_SHOWN:
        print(f"and {len(differing) - MOST_SHOWN} more")


def _print_counts(title: str, counts: Counter[str]) -> None:
    if counts:
        print(f"{many(sum(counts.values()), 'source')} {title}")
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            print(f"{count:>6}  {name}")
        print()


def _run(path: Path, out: Path | None, form: str | None, model: str | None) -> Run:
    """The run to score: `path` itself, the one in `out` if it holds the same sources, or a new import."""
    from experiments.importing import fingerprint, notes, read

    if (path / "run.json").exists() or not path.exists():
        run = find_run(str(path))
        if out is not None and out.resolve() != run.path.resolve():
            raise UserError(f"{run.path} is a run already and is scored where it is; leave --out out")
        return _same(_whole(run), form, model)
    if out is not None and (out / "run.json").exists():
        run = open_run(out)
        if not run.imported or run.record["origin"].get("sha") != fingerprint(path):
            raise UserError(f"{out} is a run of something else; name another folder by --out")
        return _same(_whole(run), form, model)
    found = read(form or "auto", path, model)
    run, counts = import_run(out, found)
    for line in notes(found, counts):
        print(line)
    return run


def _same(run: Run, form: str | None, model: str | None) -> Run:
    """Raises UserError for a format or a model that is not the one of an import that is there."""
    was = {"format": (run.record.get("origin") or {}).get("format"), "model": run.config.model}
    for name, now in (("format", None if form == "auto" else form), ("model", model)):
        if now is not None and was[name] not in (None, now):
            raise UserError(f"{run.path} was imported with {name} {was[name]}, not {now}; name a new folder by --out")
    return run


def _whole(run: Run) -> Run:
    if run.imported and run.record["state"] == "running":
        raise UserError(f"the import into {run.path} was broken off; delete that folder and import again")
    return run
