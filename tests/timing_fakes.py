"""Players whose times are made up, and one size that they are timed at."""

import random
from dataclasses import dataclass, field

import torch

from evaluator.bounds import Machine
from evaluator.timing import time_case
from evaluator.timing_records import SizeTiming
from evaluator.windows import Lost, TimedCase, Window
from tasks.task import Case
from tests.sources import double_task

MACHINE = Machine(l2_bytes=50 * 2**20, flush_ms=0.03, gbs=4000, tflops={"float32": 50, "tf32": 400, "float16": 800})


@dataclass
class Fake:
    """Calls that take `ms`, with noise, of which it reports `told` times as much in stretches of fewer calls than
    `honest_from`; every stretch costs `beyond_ms`."""

    ms: float
    told: float = 1.0
    honest_from: int = 2**31
    spread: float = 0.003
    beyond_ms: float = 0.08
    host_ms: float = 0.0
    slow_at_first: int = 0
    fails: str = ""
    fails_at: int = 0
    asked: list[tuple[int, int, int | None, int]] = field(default_factory=list)
    rng: random.Random = field(default_factory=lambda: random.Random(9))

    def prepare(self, timed: TimedCase) -> None:
        if self.fails == "prepare":
            raise Lost("error", "no kernel for this\nand more")

    def window(self, calls: int, batch: int, keep: int | None, seed: int, cover: int) -> Window:
        self.asked.append((calls, batch, keep, cover))
        if self.fails == "window" and len(self.asked) > self.fails_at:
            raise Lost("died", "it ended during window")
        cost_ms = max(self.ms, self.host_ms - cover * MACHINE.flush_ms / batch)
        slow = min(calls, self.slow_at_first)
        self.slow_at_first -= slow
        true = [500.0] * slow + [cost_ms * self.rng.gauss(1, self.spread) for _ in range(calls - slow)]
        wall_s = (sum(true) * batch + calls * self.beyond_ms * self.rng.uniform(1, 1.1) + 0.1) / 1e3
        told = self.told if batch < self.honest_from else 1.0
        return Window(tuple(ms * told for ms in true), wall_s, self.host_ms)


def sized(elements: int = 2**24) -> TimedCase:
    """One size of y = 2 x; the tensor has no elements of its own, only their number."""
    case = Case(f"{elements}", (torch.empty(1).expand(elements),))
    return TimedCase(double_task(), "", "key", [case], 8)


def timing(candidate: Fake, elements: int = 2**24, **more: Fake) -> SizeTiming:
    return time_case(candidate, {"eager": Fake(0.2), **more}, sized(elements), MACHINE, seed=3)
