"""geak: generate, evaluate, reflect, optimise.

After GEAK (AMD, 2025), which this follows in its shape: several candidates a round, a pool of the best with their
figures, attempt histories, and a fresh start for a line that is stuck. A lane is one line of attempts. A lane without
a correct kernel mends its last attempt; once solved, it works on the measured figure, always from its best kernel, so
that a try that breaks something costs a round and no more. When no byte is left to save and nothing is timed, it ends.

The reflection is the first sentence of the mending reply, not a request of its own: a separate one would double the
requests of every failing round, and the model writes it with the same evidence before its eyes either way. What it
said comes back in the lane's history. `reflexion` is the method that asks apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from agents.extract import prose_of
from agents.protocol import Ask, Candidate, Context, Submission
from agents.ranking import rank
from evaluator.records import Evaluation
from tasks.task import Task

WAYS_TO_BEGIN = (
    "the plainest kernel that can be right: one program for each row or block of the output, one block of input at a "
    "time, every index computed from strides",
    "programs that loop over blocks of the input and carry float32 accumulators from block to block",
    "two kernels: one leaves partial results in a workspace, the other combines them",
    "make the inputs contiguous first, then treat them as flat one-dimensional arrays",
    "two-dimensional blocks, rows by columns, with one mask for each dimension",
)
WAYS_TO_IMPROVE = (
    "read every input element once and write every output element once: keep values in registers between steps",
    "merge kernels and passes, so that nothing goes through memory in between",
    "other block sizes, num_warps and num_stages, and more or less work for one program",
    "wider, coalesced accesses: neighbouring lanes on neighbouring addresses, no needless copies of the inputs",
)
LEAST_TRAFFIC = 1.005  # times the task's minimum: what is told to the model as 1.00
NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]?\d+)?", re.IGNORECASE)


@dataclass
class Lane:
    """One line of attempts: those since its last start or its last gain, with what the model said of each."""

    number: int
    start: int
    best: Candidate | None = None
    history: list[Candidate] = field(default_factory=list)
    remarks: dict[int, str] = field(default_factory=dict)
    met: Counter[str] = field(default_factory=Counter)
    abandoned: dict[str, str] = field(default_factory=dict)
    tries_to_improve: int = 0

    @property
    def strategy(self) -> str:
        if self.best:
            return WAYS_TO_IMPROVE[(self.number + self.tries_to_improve) % len(WAYS_TO_IMPROVE)]
        return WAYS_TO_BEGIN[self.start % len(WAYS_TO_BEGIN)]

    @property
    def parents(self) -> tuple[int, ...]:
        parent = self.best or (self.history[-1] if self.history else None)
        return (parent.index,) if parent else ()

    def take(self, candidate: Candidate, remark: str) -> int:
        """Adds an attempt; returns how often the lane has now met its outcome (0 for a gain)."""
        if self.best:
            self.tries_to_improve += 1
        if candidate.correct and (self.best is None or rank(candidate.evaluation) > rank(self.best.evaluation)):
            self.begin(candidate)
            return 0
        self.history.append(candidate)
        if remark:
            self.remarks[candidate.index] = remark
        outcome = fingerprint(candidate.evaluation)
        self.met[outcome] += 1
        return self.met[outcome]

    def begin(self, best: Candidate | None) -> None:
        """A new start, from `best` or from nothing."""
        self.best = best
        self.history, self.remarks, self.met = [], {}, Counter()

    def restart(self, pool: Sequence[Candidate], start: int) -> None:
        """Leaves a dead end: a solved lane goes to the pool's best kernel, another one to way `start` and nothing."""
        if self.best:
            self.begin(pool[0])
        else:
            outcome, times = self.met.most_common(1)[0]
            self.abandoned[self.strategy] = f"ended {times} times in {outcome.partition(' | ')[0]}"
            self.start = start
            self.begin(None)

    def avoid(self) -> list[str]:
        """Ways that were given up, save the one that is on."""
        return [f"{way} ({why})" for way, why in self.abandoned.items() if way != self.strategy]


@dataclass(frozen=True)
class Geak:
    """Lanes that mend their kernels by the diagnosis, then optimise them; a stuck lane starts afresh."""

    name: ClassVar[str] = "geak"
    max_rounds: ClassVar[int | None] = None

    candidates: int = field(default=2, metadata={"help": "lanes, each with one candidate a round (the paper has 4)"})
    pool: int = field(default=5, metadata={"help": "how many of the best kernels an optimising prompt shows"})
    trap: int = field(
        default=3, metadata={"help": "how often a lane may meet the same outcome before it starts afresh"}
    )

    def __post_init__(self) -> None:
        for option in ("candidates", "pool", "trap"):
            if getattr(self, option) < 1:
                raise ValueError(f"{option} must be at least 1")

    def run(self, task: Task, ctx: Context) -> None:
        lanes = [Lane(number, start=number) for number in range(self.candidates)]
        pool: list[Candidate] = []
        for _ in ctx.rounds():
            replies = ctx.ask_many([Ask(self.prompt(ctx, lane, pool), lane.number) for lane in lanes])
            judged = ctx.evaluate_many(
                [Submission(reply.code, lane.number, lane.parents) for lane, reply in zip(lanes, replies, strict=True)]
            )
            pool = best_of([*pool, *judged], self.pool)
            for lane, reply, candidate in zip(lanes, replies, judged, strict=True):
                times = lane.take(candidate, prose_of(reply.text))
                if times >= self.trap:
                    ctx.note(lane=lane.number, restart=fingerprint(candidate.evaluation), times=times)
                    lane.restart(pool, start=1 + max(other.start for other in lanes))
            if pool and nothing_to_gain(pool[0].evaluation):
                return

    def prompt(self, ctx: Context, lane: Lane, pool: list[Candidate]) -> str:
        """What the lane asks next: to optimise, to begin, or to mend."""
        past = {"attempts": lane.history, "remarks": lane.remarks}
        if lane.best:
            return ctx.render("optimise.j2", best=lane.best, pool=pool, strategy=lane.strategy, **past)
        if not lane.history:
            return ctx.render("generate.j2", strategy=lane.strategy, avoid=lane.avoid())
        return ctx.render("fix.j2", last=lane.history[-1], avoid=lane.avoid(), **past)


def nothing_to_gain(evaluation: Evaluation) -> bool:
    """Whether the measured figure is at its bound: every byte moved once, where nothing is timed."""
    return evaluation.speedup is None and evaluation.traffic is not None and evaluation.traffic < LEAST_TRAFFIC


def best_of(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """The best correct candidates with different sources, best first; of equals the earliest."""
    distinct: dict[str, Candidate] = {}
    for candidate in candidates:
        if candidate.correct:
            distinct.setdefault(candidate.source, candidate)
    return sorted(distinct.values(), key=lambda one: rank(one.evaluation), reverse=True)[:count]


def fingerprint(evaluation: Evaluation) -> str:
    """The outcome without its numbers, so that the same failure on other values is recognised."""
    if evaluation.correct:
        return "correct without gain"
    head = " ".join(" ".join(evaluation.diagnosis.split("\n")[:3]).split())
    return f"{evaluation.status}: {evaluation.reason} | {NUMBER.sub('#', head)}"
