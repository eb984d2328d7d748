"""Two runs task by task: who solves what, what the second lost, and how sure one can be of the difference."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from agents.budgets import is_budget
from agents.efficiency import Mean, mean_of
from agents.ranking import best
from agents.runfolder import state_of
from evaluator.records import Evaluation
from experiments.cells import Cell, cells_of
from experiments.figures import share_of
from tasks.errors import UserError

INTERVAL = "Newcombe's square-and-add interval"
# how fast a run goes, not what comes of it; the others are told by names of their own
ASIDE = (
    *("tasks", "workers", "model_concurrency", "requests_per_minute", "tokens_per_minute", "price", "prompts"),
    *("method", "model", "rounds", "seed", "targets", "device", "method_options", "params"),
)


class Who(StrEnum):
    """Who solves a task, in the order of a report: what the second run lost comes first."""

    FIRST = "only first"
    SECOND = "only second"
    BOTH = "both"
    NEITHER = "neither"


@dataclass(frozen=True)
class Pair:
    """A task and what each run's best candidate came to; None where a run submitted nothing for it."""

    task: str
    first: Evaluation | None
    second: Evaluation | None

    @property
    def who(self) -> Who:
        first, second = (bool(one and one.correct) for one in (self.first, self.second))
        return {(True, True): Who.BOTH, (True, False): Who.FIRST, (False, True): Who.SECOND}.get(
            (first, second), Who.NEITHER
        )

    @property
    def category(self) -> str:
        return self.task.rpartition("/")[0]

    def ratio(self, figure: str) -> float | None:
        """The second's `speedup` or `traffic` over the first's, where both solve it and have it."""
        if self.who is not Who.BOTH:
            return None
        first, second = (getattr(one, figure) for one in (self.first, self.second))
        return second / first if first and second else None


@dataclass(frozen=True)
class PairedTest:
    """`difference` is the second's rate less the first's, with its 95 % interval by `INTERVAL`; `p` is of McNemar's
    exact test."""

    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Ratios:
    """The second's figure over the first's. `p` is of Wilcoxon's signed-rank test on the logarithms of the `unequal`
    ones; None where all are equal."""

    figure: str
    mean: Mean
    unequal: int
    p: float | None


@dataclass(frozen=True)
class Comparison:
    """`settings` are those that differ, by name. `only` has the tasks that one run's list alone has, `unjudged` those
    of both lists that one run has no verdict on yet, or none that its machine did not break. Neither is a pair."""

    cells: tuple[Cell, Cell]
    settings: Mapping[str, tuple[str, str]]
    pairs: tuple[Pair, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    unjudged: tuple[tuple[str, ...], tuple[str, ...]]

    @cached_property
    def counts(self) -> Counter[Who]:
        return Counter(pair.who for pair in self.pairs)

    @cached_property
    def test(self) -> PairedTest | None:
        """None without a pair."""
        return paired_test(*(self.counts[who] for who in (Who.BOTH, Who.FIRST, Who.SECOND, Who.NEITHER)))

    @cached_property
    def figure(self) -> str:
        """What tells the kernels apart that both solve: speedup where any pair has it, else traffic."""
        return "speedup" if any(pair.ratio("speedup") for pair in self.pairs) else "traffic"

    @cached_property
    def ratios(self) -> Ratios | None:
        """None where no task that both solve has the figure in both."""
        return ratios_of(self.figure, [ratio for pair in self.pairs if (ratio := pair.ratio(self.figure))])

    @property
    def categories(self) -> dict[str, Counter[Who]]:
        found: dict[str, Counter[Who]] = {}
        for pair in self.pairs:
            found.setdefault(pair.category, Counter())[pair.who] += 1
        return dict(sorted(found.items()))

    def of(self, who: Who) -> list[Pair]:
        return [pair for pair in self.pairs if pair.who is who]


def compare(first: str, second: str, *, recorded: bool = False) -> Comparison:
    """Two runs, by path or name, over the tasks that both lists have; of each task the best candidate of all rounds.

    With `recorded` imports are read by their origin's verdicts. Raises UserError for one run named twice, a folder of
    several runs, lists without a common task, and as `cells_of` does.
    """
    cells = cells_of([first, second], recorded=recorded)
    if len(cells) != 2:
        raise UserError(f"compare takes two runs, and these are {len(cells)}; name two of a folder's runs")
    one, other = cells
    common = [task for task in one.tasks if task in other.verdicts]
    if not common:
        raise UserError(f"{one.run.path.name} and {other.run.path.name} have no task in common")
    missing = [tuple(task for task in common if not _judged(cell, task)) for cell in cells]
    pairs = [task for task in common if task not in missing[0] and task not in missing[1]]
    return Comparison(
        (one, other),
        differing(one, other),
        tuple(Pair(task, *(_best(cell, task) for cell in cells)) for task in pairs),
        (tuple(t for t in one.tasks if t not in other.verdicts), tuple(t for t in other.tasks if t not in common)),
        (missing[0], missing[1]),
    )


def paired_test(both: int, only_first: int, only_second: int, neither: int) -> PairedTest | None:
    """The difference of two paired rates, from the counts of a fourfold table; None for an empty one.

    The test is McNemar's, exact (binomial). The interval is method 10 of R. G. Newcombe, Improved confidence intervals
    for the difference between binomial proportions based on paired data, Statistics in Medicine 17 (1998) 2635-2650:
    Wilson's limits of either rate, put together by their continuity-corrected correlation.
    """
    from scipy.stats import binomtest

    n = both + only_first + only_second + neither
    if not n:
        return None
    solved, others = both + only_second, both + only_first  # the second's and the first's
    below, above = _wilson(solved, n)
    below_other, above_other = _wilson(others, n)
    product = solved * (n - solved) * others * (n - others)
    excess = both * neither - only_first * only_second
    corrected = max(excess - n / 2, 0) if excess > 0 else excess
    phi = corrected / math.sqrt(product) if product else 0.0
    difference = (solved - others) / n
    return PairedTest(
        difference,
        difference - math.sqrt(below**2 - 2 * phi * below * above_other + above_other**2),
        difference + math.sqrt(above**2 - 2 * phi * above * below_other + below_other**2),
        float(binomtest(only_second, only_first + only_second).pvalue) if only_first + only_second else 1.0,
    )


def ratios_of(figure: str, ratios: Sequence[float]) -> Ratios | None:
    """Positive paired ratios: their geometric mean with its bootstrap interval over tasks, and Wilcoxon's signed-rank
    test (Biometrics Bulletin 1 (1945) 80-83; equal pairs are dropped). None for none of them."""
    from scipy.stats import wilcoxon

    mean = mean_of(ratios)
    if mean is None:
        return None
    logs = [math.log(ratio) for ratio in ratios if ratio != 1]
    return Ratios(figure, mean, len(logs), float(wilcoxon(logs).pvalue) if logs else None)


def differing(one: Cell, other: Cell) -> dict[str, tuple[str, str]]:
    """What the two runs were made or judged with, where it differs; `-` is not recorded."""
    first, second = _settings(one), _settings(other)
    found: dict[str, tuple[str, str]] = {}
    for group in first:
        ours, theirs = first[group], second[group]
        if bool(ours) != bool(theirs):  # of an import there is no more to know
            found[group] = (_many(ours), _many(theirs))
            continue
        for name in ours | theirs:
            values = (_text(ours.get(name)), _text(theirs.get(name)))
            if values[0] != values[1]:
                found[f"{group} {name}".strip()] = values
    return found


def _settings(cell: Cell) -> dict[str, dict[str, Any]]:
    record, config = cell.run.record, cell.run.config
    judge = {} if cell.recorded else (record.get("scored") or {}).get("evaluator") or record.get("evaluator") or {}
    tasks = sorted(cell.tasks)
    return {
        "": {
            **{"model": cell.model, "method": cell.method, "rounds": cell.run.rounds, "seed": cell.seed},
            "task list": f"{len(tasks)} tasks, {_hash(tasks)}",
            "verdicts": "the origin's" if cell.recorded else "this project's",
            **{name: value for name, value in judge.items() if name != "assurance"},
            **{name: value for name, value in config.to_json().items() if name not in ASIDE},
        },
        "option": dict(config.method_options),
        "parameter": dict(config.params),
        "fence": dict.fromkeys(judge.get("assurance", ()), "up"),
        "version of": dict(record.get("versions") or {}),
        "prompt": {name: sha[:12] for name, sha in (record.get("prompts") or {}).items()},
        "git": {"commit": commit[:12]} if (commit := (record.get("git") or {}).get("commit")) else {},
    }


def said(one: Evaluation) -> str:
    """The first line of a diagnosis that is not the verdict again, nor the case; "" where there is none."""
    return next((line for line in one.diagnosis.splitlines() if not line.startswith((one.outcome, "case:"))), "")


def _judged(cell: Cell, task: str) -> bool:
    """Whether there is something to hold for or against a run: a verdict, or that its method or a budget ended."""
    if cell.counted(task) or cell.verdicts[task] or cell.run.imported:
        return bool(cell.counted(task))
    events = cell.run.events(task)
    return state_of(events) == "done" or bool(events and is_budget(events[-1].get("reason")))


def _best(cell: Cell, task: str) -> Evaluation | None:
    found = best(cell.counted(task))
    return found.evaluation if found else None


def _wilson(count: int, n: int) -> tuple[float, float]:
    """How far Wilson's 95 % limits lie below and above a rate."""
    share = share_of(count, n)
    return share.value - share.low, share.high - share.value


def _hash(names: Iterable[str]) -> str:
    from hashlib import sha256

    return sha256("\n".join(names).encode()).hexdigest()[:8]


def _many(values: Mapping[str, Any]) -> str:
    return f"{len(values)} recorded" if values else "-"


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
