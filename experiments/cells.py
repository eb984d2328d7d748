"""Runs as the analyses see them: a cell each, who made it and what came of every task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from agents.accounts import LoggedReply, LoggedVerdict, own_verdicts, recorded_verdicts, replies_of
from agents.newrun import ROOT, find_run
from agents.runfolder import Run, open_run, state_of
from agents.tracker import Account, account
from tasks.errors import UserError
from tasks.outcomes import Status


@dataclass(frozen=True)
class Cell:
    """One run, finished or not. `label` tells it from the others that were read with it.

    `states` are those of `agents.runfolder.Run.state`. `verdicts` has every task of the task list, in submission order,
    also one without a verdict; builds and cases are left out of them. `recorded`: they are those of an import's origin.
    What an import cost is unknown: no replies.
    """

    run: Run
    label: str
    recorded: bool
    states: Mapping[str, str]
    verdicts: Mapping[str, tuple[LoggedVerdict, ...]]
    replies: Mapping[str, tuple[LoggedReply, ...]]

    @property
    def method(self) -> str:
        return str(self.run.record.get("label") or self.run.record["method"])

    @property
    def model(self) -> str:
        return self.run.config.model

    @property
    def seed(self) -> int:
        return self.run.config.seed

    @property
    def simulated(self) -> bool:
        return self.run.simulated

    @property
    def tasks(self) -> tuple[str, ...]:
        """The denominator of every rate."""
        return tuple(self.verdicts)

    @property
    def notices(self) -> list[str]:
        """What must be said wherever its figures are shown: that it is a simulation, that it is not done."""
        open_tasks = sum(state != "done" for state in self.states.values()) if not self.run.imported else 0
        unfinished = f"UNFINISHED: {open_tasks} of {len(self.states)} tasks are not done" if open_tasks else None
        return [said for said in (self.run.simulation_notice, unfinished) if said]

    @cached_property
    def account(self) -> Account:
        return account(self.tasks, self.verdicts, self.replies)

    @cached_property
    def solved(self) -> frozenset[str]:
        """The tasks with a correct kernel."""
        return frozenset(task for task, each in self.verdicts.items() if any(v.evaluation.correct for v in each))

    def reached(self, task: str, outcome: str) -> bool:
        """Whether a candidate for the task is `correct`, `compiled`, `called` or `numerically_right`."""
        return any(getattr(one.evaluation, outcome) for one in self.counted(task))

    def counted(self, task: str) -> list[LoggedVerdict]:
        """A task's verdicts without those that the machine broke, which count against nobody."""
        return [one for one in self.verdicts[task] if one.evaluation.status is not Status.INFRA_ERROR]


def cells_of(names: Sequence[str], *, recorded: bool = False) -> list[Cell]:
    """The runs that `names` mean, by path or by name: a run, or a folder of runs such as a matrix.

    An import that was not scored here is read by its origin's verdicts, as is every import with `recorded`. Raises
    UserError for a name that is neither, a run named twice, `recorded` with nothing recorded, and a damaged log.
    """
    runs = [run for name in names for run in _runs_in(name)]
    paths = [run.path.resolve() for run in runs]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice:
        raise UserError(f"{twice.name} is named twice")
    if recorded and not any(run.imported for run in runs):
        raise UserError("none of these was imported: there are only their own verdicts")
    cells = [_cell(run, recorded) for run in runs]
    return [replace(cell, label=label) for cell, label in zip(cells, _labels(cells), strict=True)]


def _runs_in(name: str) -> list[Run]:
    for folder in (Path(name), ROOT / name):
        if folder.is_dir() and not (folder / "run.json").exists():
            found = sorted(path.parent for path in folder.glob("*/run.json"))
            if found:
                return [open_run(path) for path in found]
            if (folder / "matrix.json").exists():
                again = f"python -m experiments matrix --resume {folder}"
                raise UserError(f"{folder} is a matrix of which no run has begun; go on with: {again}")
    return [find_run(name)]


def _cell(run: Run, recorded: bool) -> Cell:
    recorded = run.imported and (recorded or not run.record.get("scored"))
    events = {task: run.events(task) for task in run.tasks}
    read = recorded_verdicts if recorded else own_verdicts
    return Cell(
        run,
        run.path.name,
        recorded,
        {task: state_of(each) for task, each in events.items()},
        {task: tuple(read(task, each)) for task, each in events.items()},
        {task: tuple(replies_of(each)) for task, each in events.items()},
    )


def _labels(cells: Sequence[Cell]) -> list[str]:
    """What tells them apart, in few words: of model, method and seed those that differ; else the folders' names."""
    told = [(cell.model, cell.method, f"seed {cell.seed}") for cell in cells]
    differing = [at for at in range(3) if len({each[at] for each in told}) > 1]
    labels = [" ".join(each[at] for at in differing) for each in told]
    names = [cell.run.path.name for cell in cells]
    whole = names if len(set(names)) == len(names) else [str(cell.run.path) for cell in cells]
    return labels if len(set(labels)) == len(labels) > 1 else whole
