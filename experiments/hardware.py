"""The same kernels on several GPUs: what compiles where, what it takes there, and how much its speedup differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import geometric_mean, median

from agents.efficiency import Mean, mean_of
from evaluator.records import NOT_TRIED, Evaluation, KernelBuild
from evaluator.targets import targets_named
from experiments.cells import Cell, cells_of
from experiments.compare import said
from tasks.outcomes import Stage, Status

OK = "ok"
FIGURES = ("registers", "shared_bytes", "spill_bytes")


@dataclass(frozen=True)
class Kernel:
    """One source for one task, over all runs that judged it.

    `runs` are their labels. `loads`: it got past the static checks and the load stage in one of them. `outcomes` maps
    each target that it was compiled for to "ok" or the first line of an error; a target that is missing was not tried,
    or not with all of its launches. `largest` has, of each target whose builds are recorded, the largest of its
    `FIGURES` (a thread's registers, a block's bytes of shared memory, a thread's bytes of spills), None where unknown.
    `speedups` over eager are by device, each the geometric mean of the runs there.
    """

    task: str
    sha: str
    runs: tuple[str, ...]
    loads: bool
    launches: bool
    outcomes: Mapping[str, str]
    largest: Mapping[str, Mapping[str, int | None]]
    speedups: Mapping[str, float]

    @property
    def spread(self) -> float | None:
        """The largest of its speedups over the smallest; None unless it was timed on two devices."""
        return max(self.speedups.values()) / min(self.speedups.values()) if len(self.speedups) > 1 else None

    def differs(self, targets: Sequence[str]) -> bool:
        """Whether it compiles for one of these targets and not for another."""
        known = [self.outcomes[target] == OK for target in targets if target in self.outcomes]
        return any(known) and not all(known)


@dataclass(frozen=True)
class Rate:
    """How many of the sources that load were `tried` for a target, and compile; of these, how many launch a kernel."""

    tried: int
    compile: int
    tried_launching: int
    compile_launching: int


@dataclass(frozen=True)
class Spread:
    """One figure of the `n` sources in which it is known."""

    n: int
    median: float
    largest: int
    nonzero: int


@dataclass(frozen=True)
class Hardware:
    """`targets` are those looked at, in order; `untried` those of them that no run was judged for. `infra` verdicts of
    a broken machine are left out."""

    cells: tuple[Cell, ...]
    targets: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    infra: int

    @cached_property
    def untried(self) -> tuple[str, ...]:
        return tuple(name for name in self.targets if not any(name in kernel.outcomes for kernel in self.loading))

    @cached_property
    def loading(self) -> tuple[Kernel, ...]:
        return tuple(kernel for kernel in self.kernels if kernel.loads)

    @cached_property
    def common(self) -> tuple[Kernel, ...]:
        """The sources that were tried for every target that any was tried for."""
        tried = [target for target in self.targets if target not in self.untried]
        return tuple(kernel for kernel in self.loading if tried and all(name in kernel.outcomes for name in tried))

    @cached_property
    def devices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for kernel in self.kernels for name in kernel.speedups))

    @cached_property
    def spread(self) -> Mean | None:
        """Of the kernels timed on two devices or more; None without one."""
        return mean_of([spread for kernel in self.kernels if (spread := kernel.spread)])

    @property
    def differing(self) -> list[Kernel]:
        return [kernel for kernel in self.loading if kernel.differs(self.targets)]

    @property
    def most_dependent(self) -> list[Kernel]:
        """Those timed on two devices or more, the largest spread first."""
        timed = [kernel for kernel in self.kernels if kernel.spread]
        return sorted(timed, key=lambda kernel: -(kernel.spread or 0))

    def rate(self, target: str, kernels: Iterable[Kernel]) -> Rate:
        tried = [kernel for kernel in kernels if target in kernel.outcomes]
        launching = [kernel for kernel in tried if kernel.launches]
        right, there = (sum(kernel.outcomes[target] == OK for kernel in each) for each in (tried, launching))
        return Rate(len(tried), right, len(launching), there)

    def resources(self, target: str) -> dict[str, Spread | None]:
        """Each of `FIGURES` over the sources that load; None where no build of it is recorded."""
        found: dict[str, Spread | None] = {}
        for figure in FIGURES:
            known = [
                value for kernel in self.loading if (value := kernel.largest.get(target, {}).get(figure)) is not None
            ]
            nonzero = sum(value > 0 for value in known)
            found[figure] = Spread(len(known), median(known), max(known), nonzero) if known else None
        return found


def hardware(names: Sequence[str], targets: Sequence[str] | None = None) -> Hardware:
    """The runs that `names` mean, joined by task and source. `targets` None are those that the runs were judged for.

    Raises UserError for an unknown target and as `cells_of` does.
    """
    if targets is not None:
        targets_named(targets)
    cells = cells_of(names)
    gathered: dict[tuple[str, str], _Gathered] = {}
    infra = 0
    for cell in cells:
        for one in _evaluations(cell):
            if one.status is Status.INFRA_ERROR:
                infra += 1
                continue
            gathered.setdefault((one.task, one.source_sha), _Gathered()).add(cell, one)
    kernels = tuple(each.kernel(*key) for key, each in gathered.items())
    seen = dict.fromkeys(name for kernel in kernels for name in kernel.outcomes)
    return Hardware(tuple(cells), tuple(dict.fromkeys(seen if targets is None else targets)), kernels, infra)


def outcomes_of(one: Evaluation) -> dict[str, str]:
    """What each target made of a source that loads: "ok", or the first line of an error.

    The first target is the one behind `compiled`. The others are tried launch by launch, after the first target took
    it: where that refuses a launch, nothing but an error of theirs is known.
    """
    if not _loads(one):
        return {}
    found: dict[str, str] = {}
    for place, (name, outcome) in enumerate(one.targets.items()):
        if outcome not in (OK, NOT_TRIED):
            found[name] = outcome
        elif one.compiled:
            found[name] = OK
        elif place == 0:
            found[name] = said(one) or one.outcome
    return found


@dataclass
class _Gathered:
    """What the runs say of one source, before it is a `Kernel`. An error in one run outweighs an ok in another: each
    draws hidden cases of its own, and so other specialisations."""

    runs: list[str] = field(default_factory=list)
    loads: bool = False
    launches: bool = False
    outcomes: dict[str, str] = field(default_factory=dict)
    builds: list[KernelBuild] = field(default_factory=list)
    timed: dict[str, list[float]] = field(default_factory=dict)

    def add(self, cell: Cell, one: Evaluation) -> None:
        self.runs.append(cell.label)
        self.loads |= not cell.recorded and _loads(one)
        self.launches |= bool(one.builds) or one.status is Status.COMPILE_ERROR
        self.builds += one.builds
        for name, outcome in outcomes_of(one).items():
            if self.outcomes.get(name, OK) == OK:
                self.outcomes[name] = outcome
        if one.correct and one.speedup:
            self.timed.setdefault(_device(cell, one), []).append(one.speedup)

    def kernel(self, task: str, sha: str) -> Kernel:
        targets = dict.fromkeys(build.target for build in self.builds)
        return Kernel(
            task,
            sha,
            tuple(dict.fromkeys(self.runs)),
            self.loads,
            self.launches,
            self.outcomes,
            {name: _largest([build for build in self.builds if build.target == name]) for name in targets},
            {device: geometric_mean(speedups) for device, speedups in self.timed.items()},
        )


def _evaluations(cell: Cell) -> Iterator[Evaluation]:
    for task in cell.tasks:
        if cell.recorded:
            yield from (one.evaluation for one in cell.verdicts[task])
        elif cell.verdicts[task]:  # with their builds, which a cell leaves out
            yield from (one.evaluation for one in cell.run.candidates(task))


def _loads(one: Evaluation) -> bool:
    return one.stage not in (Stage.STATIC, Stage.LOAD)


def _device(cell: Cell, one: Evaluation) -> str:
    if cell.recorded:
        return f"that of {cell.run.path.name}, as recorded"
    return str(one.timing.device.get("name", one.device)) if one.timing else one.device


def _largest(builds: Sequence[KernelBuild]) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for figure in FIGURES:
        values: list[int | None] = [getattr(build, figure) for build in builds]
        found[figure] = max((value for value in values if value is not None), default=None)
    return found
