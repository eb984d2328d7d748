"""Two clean processes on one GPU: one plays the candidate, with the project's own code, the other its baselines."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluator.timing_records import SizeTiming
    from evaluator.windows import TimedCase
    from tasks.task import Task

SEEDS = (11, 12)
NO_PEAKS = {"gbs": {"copy": 1e6}, "tflops": {}}


class Rig:
    """Use it as a context manager. A process that was lost is replaced."""

    def __init__(self, device: str) -> None:
        from evaluator import gpu
        from evaluator.bounds import Machine
        from evaluator.players import BaselineProcess
        from evaluator.worker.core import any_core

        self.device, self.core = device, any_core()
        self.first, self.second = BaselineProcess(device, self.core), BaselineProcess(device, self.core)
        self.facts: dict[str, Any] = self.first.facts()
        self.second.facts()
        self.peaks: Any = NO_PEAKS
        if device == "cuda":
            with gpu.exclusive(self.facts["uuid"]):
                self.peaks = gpu.peaks_of(self.facts["uuid"], self.facts["torch"], self.first.peaks)
        self.machine = Machine.of(self.facts, self.peaks)

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: object) -> None:
        self.first.close()
        self.second.close()

    def title(self) -> str:
        """Device, version, peaks and state in one line."""
        from evaluator.gpu import state_of

        state = state_of(self.facts["uuid"])
        rates = ", ".join(f"{kind} {rate:.0f}" for kind, rate in self.peaks["tflops"].items())
        return (
            f"{self.facts['name']}, torch {self.facts['torch']}, {self.machine.gbs:.0f} GB/s, TFLOP/s: {rates or '-'}; "
            f"{state.sm_mhz} MHz, {state.temperature_c} C, throttled: {', '.join(state.throttled) or 'no'}"
        )

    def sizes(self, task: Task, path: str) -> list[TimedCase]:
        """The task's timed cases."""
        from evaluator.players import timed_cases

        return timed_cases(task, path, SEEDS, self.machine.l2_bytes)

    def time(self, candidate: str, baselines: Collection[str], size: TimedCase, cap_s: float) -> SizeTiming | None:
        """One size of one player against others; None when a process was lost, which is said."""
        from evaluator.gpu import exclusive
        from evaluator.players import BaselineProcess
        from evaluator.timing import time_case
        from evaluator.windows import Lost

        try:
            with exclusive(self.facts["uuid"]):
                players = {name: self.first.player(name) for name in sorted(baselines)}
                return time_case(self.second.player(candidate), players, size, self.machine, cap_s)
        except Lost as lost:
            print(f"{size.task.id}, {size.label}: {lost.who} {lost.kind}: {lost.message.splitlines()[0][:300]}")
            if lost.kind != "error":
                print(self.first.last_words()[-500:], self.second.last_words()[-500:])
                self.first.close()
                self.second.close()
                self.first = BaselineProcess(self.device, self.core)
                self.second = BaselineProcess(self.device, self.core)
            return None
