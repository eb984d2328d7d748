"""The GPU's part of an evaluation: every case once more on the device, then times at sizes that are judged too."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from evaluator.cases import Drawn, hands_of
from evaluator.conversation import Call, Setting, Transcript, converse, converse_all
from evaluator.gpu import shared
from evaluator.gpu_timing import Timed, Timekeeper
from evaluator.layers import Layer
from evaluator.limits import Limits
from evaluator.pool import Child, Pool
from evaluator.second_look import Look
from evaluator.targets import Target
from evaluator.verdict import Verdict, judge
from evaluator.worker.core import any_core
from tasks.judges import Truth
from tasks.task import Case, Task

# each compiles for itself: more would share the cases out thinner than the specialisations
CHILDREN = 4
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
    """What the GPU's part found, what was said there, and what fenced its workers in."""

    verdict: Verdict
    transcripts: Sequence[Transcript]
    fences: tuple[str, ...]


class Stop:
    """Ends a candidate's part on the GPU before its time, for who has no more use for what is found there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: Sequence[Child] = ()
        self.set = False

    def __call__(self) -> None:
        with self._lock:
            self.set = True
            for child in self._children:
                child.kill()

    @contextmanager
    def ending(self, children: Sequence[Child]) -> Iterator[None]:
        """Inside, these are the ones to end."""
        with self._lock:
            self._children = children
        if self.set:
            self()
        try:
            yield
        finally:
            with self._lock:
                self._children = ()


class GpuTier:
    """The workers and the baselines of one GPU; candidates take turns. Without baselines none is timed. Close it."""

    def __init__(
        self,
        targets: Sequence[Target],
        limits: Limits,
        secret: bytes,
        without: Collection[Layer] = (),
        baselines: Sequence[str] = (),
    ) -> None:
        self._limits = limits
        self._without = frozenset(without)
        self._setting = Setting(poison=None) if Layer.POISON in self._without else Setting()
        self._lock = threading.Lock()
        self._pool = Pool(2 * CHILDREN, targets, limits, device="cuda")  # while some judge, the next start CUDA
        core = any_core()
        self._timers = Pool(1, targets, limits, device="cuda", core=core) if baselines else None
        self._pools = [pool for pool in (self._pool, self._timers) if pool]
        self._timekeeper = Timekeeper(secret, self._setting, limits, baselines, core)

    def close(self) -> None:
        for pool in self._pools:
            pool.close()
        self._timekeeper.close()

    def judged(
        self, task: Task, source: str, drawn: Sequence[Drawn], truths: dict[int, Truth], stop: Stop
    ) -> OnGpu | None:
        """Every case on the GPU, judged as on the CPU tier; None once it is stopped. Raises WarmDied when the device or
        its process failed."""
        with self._lock, shared(self._timekeeper.uuid()):
            if stop.set:
                return None
            if self._timers:
                self._timekeeper.draw(task)
            with self._pool.children(most=CHILDREN) as children, ThreadPoolExecutor(1) as pool, stop.ending(children):
                ahead = pool.submit(self._ahead)
                fences = children[0].warm.ready()
                hands = hands_of(drawn, len(children))
                transcripts = converse_all(children, source, task.entries, hands, self._limits, self._setting)
            ahead.result()
            if stop.set:
                return None
            if any(map(_abnormal, transcripts)):
                self._probe()
        return OnGpu(judge(task, drawn, transcripts, self._without, truths), transcripts, fences)

    def looked(self, task: Task, source: str, drawn: Sequence[Drawn], seen: OnGpu, seed: int) -> Verdict:
        """The verdict after a second look on the GPU, for a kernel that nobody else can run: with idle kernels the call
        must return something else. Bits may differ from call to call there, so that is not asked. Raises WarmDied."""
        answers = {index: answer for transcript in seen.transcripts for index, answer in transcript.calls.items()}
        without = self._without | {Layer.REPEAT}
        with self._lock, shared(self._timekeeper.uuid()), self._pool.processes(most=1) as (warm,):
            looked = Look(warm, task, source, drawn, answers, seed, self._limits, without).take()
        return replace(seen.verdict, failure=looked.failure, warnings=(*seen.verdict.warnings, *looked.warnings))

    def timed(self, task: Task, source: str) -> Timed:
        """Every size beside the baselines, and judged. Raises WarmDied when the device failed."""
        assert self._timers is not None
        with self._lock:
            self._pool.settle()  # nobody starts CUDA beside what is timed
            with self._timers.children(most=1) as (child,):
                timed = self._timekeeper.timed(task, source, child.sock)
            if timed.failure and timed.failure.loss:
                self._probe()
            return timed

    def _ahead(self) -> None:
        for pool in self._pools:
            pool.ahead()

    def _probe(self) -> None:
        """A known kernel after an abnormal end, in a worker that started after it, as all do that come. Raises WarmDied
        unless it is right."""
        for pool in self._pools:
            pool.discard()
        x = torch.arange(100, dtype=torch.float32)
        call = Call(0, Case("probe", (x,)))
        with self._pool.processes(most=1) as (warm,):
            transcript = converse(warm.fork(), PROBE, ["double"], [call], self._limits, self._setting)
            answer = transcript.calls.get(0)
            if answer is None or not any(bytes(frame) == (2 * x).numpy().tobytes() for frame in answer.frames):
                told = answer.header.get("error") if answer else (transcript.loss, transcript.ending.log[-2000:])
                raise warm.died(f"a known kernel fails on the GPU after an abnormal end: {told}")


def _abnormal(transcript: Transcript) -> bool:
    """Whether a worker was lost, or left the device with an error."""
    errors = [answer.header.get("error") for answer in transcript.calls.values()]
    return transcript.loss is not None or any(
        isinstance(error, Mapping) and "CUDA" in str(error.get("message")) for error in errors
    )
