"""The GPU's part of an evaluation: the cases once more on the device, the timed ones at their real sizes."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch

from evaluator.cases import Drawn, cases_of, hands_of
from evaluator.conversation import Setting, Transcript, converse
from evaluator.layers import Layer
from evaluator.limits import Limits
from evaluator.pool import WarmDied, WarmProcess
from evaluator.targets import Target
from evaluator.verdict import Verdict, judge
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


class GpuTier:
    """One warm process for one GPU; candidates take turns. Close it."""

    def __init__(self, targets: Sequence[Target], limits: Limits, without: Collection[Layer] = ()) -> None:
        self._targets = targets
        self._limits = limits
        self._without = frozenset(without)
        self._setting = Setting(poison=None) if Layer.POISON in self._without else Setting()
        self._lock = threading.Lock()
        self._warm = WarmProcess(targets, limits, device="cuda")

    def close(self) -> None:
        self._warm.close()

    def judged(self, task: Task, source: str, seed: int) -> OnGpu:
        """Every case on the GPU, judged as on the CPU tier. Raises WarmDied when the device or its process failed."""
        without = self._without
        drawn = cases_of(
            task, seed, hidden=Layer.HIDDEN not in without, again=Layer.AGAIN not in without, stand_ins=False
        )
        with self._lock:
            try:
                transcript = self._once(task, source, drawn)
                fences = self._warm.ready()
                if _abnormal(transcript):
                    self._probe()
            except WarmDied:
                self._warm.close()
                self._warm = WarmProcess(self._targets, self._limits, device="cuda")
                raise
        return OnGpu(judge(task, drawn, [transcript], without), fences)

    def _once(self, task: Task, source: str, drawn: Sequence[Drawn]) -> Transcript:
        (hand,) = hands_of(drawn, 1)
        return converse(self._warm.fork(), source, task.entries, hand, self._limits, self._setting)

    def _probe(self) -> None:
        """A known kernel after an abnormal end. Raises WarmDied unless it is right."""
        from evaluator.conversation import Call

        x = torch.arange(100, dtype=torch.float32)
        call = Call(0, Case("probe", (x,)))
        transcript = converse(self._warm.fork(), PROBE, ["double"], [call], self._limits, self._setting)
        answer = transcript.calls.get(0)
        if answer is None or not any(bytes(frame) == (2 * x).numpy().tobytes() for frame in answer.frames):
            told = answer.header.get("error") if answer else (transcript.loss, transcript.ending.log[-2000:])
            raise self._warm.died(f"a known kernel fails on the GPU after an abnormal end: {told}")


def _abnormal(transcript: Transcript) -> bool:
    """Whether a worker was lost, or left the device with an error."""
    errors = [answer.header.get("error") for answer in transcript.calls.values()]
    return transcript.loss is not None or any(
        isinstance(error, dict) and "CUDA" in str(error.get("message")) for error in errors
    )
