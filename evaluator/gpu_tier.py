"""The GPU's part of an evaluation: every case once more on the device, timed ones at their real sizes; then times."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

import torch

from evaluator.bounds import Machine
from evaluator.cases import cases_of, hands_of
from evaluator.conversation import Answer, Call, Setting, Transcript, converse
from evaluator.gpu import exclusive, peaks_of, state_of
from evaluator.layers import Layer
from evaluator.limits import Limits
from evaluator.observe import sighting
from evaluator.players import BaselineProcess, SocketPlayer, timed_cases
from evaluator.pool import WarmDied, WarmProcess
from evaluator.seeds import hidden_seed
from evaluator.targets import Target
from evaluator.timing import Lost, TimedCase, time_task
from evaluator.timing_records import Invalid, SizeTiming, TaskTiming
from evaluator.verdict import Verdict, judge
from tasks.judges import Truth, compare, truth_of
from tasks.task import Case, Task

PROBE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


def double(x):
    y = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
"""


@dataclass(frozen=True)
class OnGpu:
    """What the GPU's part found, and what fenced its worker in."""

    verdict: Verdict
    fences: tuple[str, ...]


class Sizes:
    """The timed cases of a task, drawn once for all its candidates, with what is true of them."""

    def __init__(self, task: Task, seed: int, l2_bytes: int) -> None:
        self.task = task
        self.timed = timed_cases(task, _path(task), [seed, seed + 1], l2_bytes)
        self._truths: dict[tuple[int, int], Truth] = {}

    @property
    def cases(self) -> list[Case]:
        """One of each size."""
        return [timed.variants[0] for timed in self.timed]

    def truth(self, size: int, variant: int) -> Truth:
        """What the reference gives; computed once."""
        place = size, variant
        if place not in self._truths:
            self._truths[place] = truth_of(self.task, self.timed[size].variants[variant])
        return self._truths[place]


class GpuTier:
    """One warm process and one baseline for one GPU; candidates take turns. Close it."""

    def __init__(
        self, targets: Sequence[Target], limits: Limits, secret: bytes, without: Collection[Layer] = ()
    ) -> None:
        self._targets = targets
        self._limits = limits
        self._secret = secret
        self._without = frozenset(without)
        self._setting = Setting(poison=None) if Layer.POISON in self._without else Setting()
        self._lock = threading.Lock()
        self._warm = WarmProcess(targets, limits, device="cuda")
        self._baseline = BaselineProcess()
        self._sizes: Sizes | None = None

    def close(self) -> None:
        self._warm.close()
        self._baseline.close()

    def judged(self, task: Task, source: str, seed: int) -> OnGpu:
        """Every case on the GPU, judged as on the CPU tier. Raises WarmDied when the device or its process failed."""
        without = self._without
        with self._lock:
            sizes = self._sizes_of(task)
            drawn = cases_of(
                task, seed, hidden=Layer.HIDDEN not in without, again=Layer.AGAIN not in without, timed=sizes.cases
            )
            try:
                (hand,) = hands_of(drawn, 1)
                child = self._warm.fork()
                transcript = converse(child, source, task.entries, hand, self._limits, self._setting)
                fences = self._warm.ready()
                if _abnormal(transcript):
                    self._probe()
            except WarmDied:
                self._warm.close()
                self._warm = WarmProcess(self._targets, self._limits, device="cuda")
                raise
            timed = [index for index, entry in enumerate(drawn) if entry.kind == "timed"]
            truths = {index: sizes.truth(size, 0) for size, index in enumerate(timed) if index in transcript.calls}
            return OnGpu(judge(task, drawn, [transcript], without, truths), fences)

    def timed(self, task: Task, source: str) -> TaskTiming:
        """Every size beside eager and the oracle, and judged once more. Raises WarmDied when the device failed."""
        with self._lock:
            sizes = self._sizes_of(task)
            child = self._warm.fork()
            try:
                return self._timed(task, source, SocketPlayer(child.sock), sizes)
            except Lost as lost:
                self._baseline.close()
                self._baseline = BaselineProcess()
                raise WarmDied(f"the baseline failed: {lost.kind}: {lost.message}") from lost
            finally:
                child.kill()
                child.end()

    def _timed(self, task: Task, source: str, player: SocketPlayer, sizes: Sizes) -> TaskTiming:
        facts = self._baseline.facts()
        wrong: list[SizeTiming] = []

        def judge_kept(timed: TimedCase) -> None:
            header, frames = player.kept()
            case, size = timed.variants[header["variant"]], sizes.timed.index(timed)
            seen = sighting(task, case, Answer(header, frames), self._without)
            mismatch = compare(task, case, seen.observed, sizes.truth(size, header["variant"]))
            if mismatch:
                wrong.append(SizeTiming(timed.label, invalid=Invalid.FAILED, message=f"wrong: {mismatch.message}"))

        with exclusive(facts["uuid"]):
            peaks = peaks_of(facts["uuid"], facts["torch"], self._baseline.peaks)
            try:
                player.ask("load", {"source": source, "entries": list(task.entries), **asdict(self._setting)})
            except Lost as lost:
                failed = SizeTiming(sizes.timed[0].label, invalid=Invalid.FAILED, message=lost.message)
                return TaskTiming((failed,), len(sizes.timed), facts, {}, {})
            baselines = {name: self._baseline.player(name) for name in ("eager", "oracle")}
            timing = time_task(
                player,
                baselines,
                sizes.timed,
                Machine.of(facts, peaks),
                device={**facts, "peaks": peaks},
                state=lambda: state_of(facts["uuid"]).to_json(),
                after_size=judge_kept,
            )
        if not wrong:
            return timing
        return TaskTiming((*timing.sizes[:-1], wrong[0]), timing.expected, timing.device, timing.before, timing.after)

    def _sizes_of(self, task: Task) -> Sizes:
        if self._sizes is None or self._sizes.task is not task:
            try:
                l2_bytes = int(self._baseline.facts()["l2_bytes"])
            except Lost as lost:
                raise WarmDied(f"the baseline failed: {lost.message}\n{self._baseline.last_words()}") from lost
            self._sizes = Sizes(task, hidden_seed(self._secret, task.id, "timed"), l2_bytes)
        return self._sizes

    def _probe(self) -> None:
        """A known kernel after an abnormal end. Raises WarmDied unless it is right."""
        x = torch.arange(100, dtype=torch.float32)
        call = Call(0, Case("probe", (x,)))
        transcript = converse(self._warm.fork(), PROBE, ["double"], [call], self._limits, self._setting)
        answer = transcript.calls.get(0)
        if answer is None or not any(bytes(frame) == (2 * x).numpy().tobytes() for frame in answer.frames):
            told = answer.header.get("error") if answer else (transcript.loss, transcript.ending.log[-2000:])
            raise self._warm.died(f"a known kernel fails on the GPU after an abnormal end: {told}")


def _path(task: Task) -> str:
    """What the catalogue knows a task by: its id, or the file of a user's own."""
    from tasks.catalog import built

    return task.id if task.id in built() else str(inspect.getsourcefile(task.reference))


def _abnormal(transcript: Transcript) -> bool:
    """Whether a worker was lost, or left the device with an error."""
    errors = [answer.header.get("error") for answer in transcript.calls.values()]
    return transcript.loss is not None or any(
        isinstance(error, dict) and "CUDA" in str(error.get("message")) for error in errors
    )
