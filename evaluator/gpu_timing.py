"""Timing one candidate on a GPU beside its baselines, and judging what it gave at the sizes that were timed."""

from __future__ import annotations

import inspect
import socket
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace

from evaluator import wire
from evaluator.bounds import Machine
from evaluator.cases import Drawn
from evaluator.conversation import Answer, Loss, Setting
from evaluator.gpu import exclusive, peaks_of, state_of
from evaluator.limits import Limits
from evaluator.observe import kept_values
from evaluator.players import BaselineProcess, SocketPlayer, timed_cases
from evaluator.pool import WarmDied
from evaluator.seeds import hidden_seed
from evaluator.timing import time_task
from evaluator.timing_records import Invalid, SizeTiming, TaskTiming
from evaluator.verdict import Failure
from evaluator.windows import Lost, TimedCase
from tasks.calls import Observed
from tasks.judges import Mismatch, Truth, compare, truth_of
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

LOST = {
    "deadline": (Status.TIMEOUT, Reason.DEADLINE),
    "died": (Status.RUNTIME_ERROR, Reason.DIED),
    "protocol": (Status.REJECTED, Reason.PROTOCOL),
    "error": (Status.RUNTIME_ERROR, Reason.EXCEPTION),
}


@dataclass(frozen=True)
class Timed:
    """Times, and why the candidate fails at a size that was timed (None: it is right at all of them)."""

    timing: TaskTiming
    failure: Failure | None


class Sizes:
    """The timed cases of a task, drawn once for all its candidates, with what is true of them."""

    def __init__(self, task: Task, seed: int, l2_bytes: int) -> None:
        self.task = task
        self.timed = timed_cases(task, _path(task), [seed, seed + 1], l2_bytes)
        self._truths: dict[tuple[int, int], Truth] = {}

    def truth(self, size: int, variant: int) -> Truth:
        """What the reference gives; computed once."""
        place = size, variant
        if place not in self._truths:
            self._truths[place] = truth_of(self.task, self.timed[size].variants[variant])
        return self._truths[place]


class Timekeeper:
    """The baseline's process, and the sizes of the task that is timed. One thread at a time. Close it."""

    def __init__(
        self,
        secret: bytes,
        setting: Setting,
        limits: Limits,
        baselines: Sequence[str],
        core: int | None = None,
        device: str = "cuda",
    ) -> None:
        self._secret = secret
        self._names = tuple(baselines)
        self._setting = setting
        self._limits = limits
        self._device, self._core = device, core
        self._baseline = BaselineProcess(device, core)
        self._drawer = ThreadPoolExecutor(1)
        self._sizes: tuple[Task, Future[Sizes]] | None = None

    def close(self) -> None:
        self._drawer.shutdown(wait=False, cancel_futures=True)
        self._baseline.close()

    def draw(self, task: Task) -> Future[Sizes]:
        """Begins to draw the sizes of a task, unless it is the one whose sizes are there. May be called while a
        candidate is judged."""
        if self._sizes is None or self._sizes[0] is not task:
            l2_bytes = int(self._baseline.facts()["l2_bytes"])
            seed = hidden_seed(self._secret, task.id, "timed")
            self._sizes = task, self._drawer.submit(Sizes, task, seed, l2_bytes)
        return self._sizes[1]

    def uuid(self) -> str:
        """The device's. Raises WarmDied when the baseline does not start."""
        try:
            return str(self._baseline.facts()["uuid"])
        except Lost as lost:
            raise WarmDied(f"the baseline failed: {lost.message}\n{self._baseline.last_words()}") from lost

    def timed(self, task: Task, source: str, sock: socket.socket) -> Timed:
        """Times the candidate behind this socket of a fresh worker. Raises WarmDied when the baseline failed."""
        try:
            sizes = self.draw(task).result()
            with ThreadPoolExecutor(1) as judges:
                player = SocketPlayer(sock, answer_s=self._limits.call_s, compile_s=self._limits.compile_s)
                return self._timed(task, source, player, sizes, judges)
        except Lost as lost:
            words = self._baseline.last_words()
            self._baseline.close()
            self._baseline = BaselineProcess(self._device, self._core)
            self._sizes = None
            raise WarmDied(f"the baseline or an empty worker failed: {lost.kind}: {lost.message}\n{words}") from lost

    def _timed(self, task: Task, source: str, player: SocketPlayer, sizes: Sizes, judges: ThreadPoolExecutor) -> Timed:
        facts = self._baseline.facts()
        found: list[tuple[int, int, Future[Mismatch | None]]] = []

        def judge_kept(timed: TimedCase) -> None:
            """Takes what the kept call left; it is judged while the next size is timed."""
            header, frames = player.kept()
            size, variant = sizes.timed.index(timed), int(header["variant"])
            if not 0 <= variant < len(timed.variants):
                raise Lost("protocol", f"there is no variant {variant}")
            try:
                seen = kept_values(task, timed.variants[variant], Answer(header, frames))
            except wire.WireError as error:
                raise Lost("protocol", str(error)) from error
            found.append((size, variant, judges.submit(self._judged, sizes, size, variant, seen)))

        with exclusive(facts["uuid"]):
            peaks = peaks_of(facts["uuid"], facts["torch"], self._baseline.peaks)
            player.ask("calibrate", {})
            try:
                player.ask("load", {"source": source, "entries": list(task.entries), **asdict(self._setting)})
            except Lost as lost:
                return _unloaded(lost, sizes, facts)
            baselines = {name: self._baseline.player(name) for name in self._names}
            timing, lost_at = time_task(
                player,
                baselines,
                sizes.timed,
                Machine.of(facts, peaks),
                device={**facts, "peaks": peaks},
                state=lambda: state_of(facts["uuid"]).to_json(),
                take_kept=judge_kept,
            )
        for size, variant, future in found:
            if mismatch := future.result():
                return self._wrong(timing, sizes, size, variant, mismatch)
        return Timed(timing, _loss(lost_at, sizes, len(timing.sizes) - 1) if lost_at else None)

    def _judged(self, sizes: Sizes, size: int, variant: int, seen: Observed) -> Mismatch | None:
        return compare(sizes.task, sizes.timed[size].variants[variant], seen, sizes.truth(size, variant))

    def _wrong(self, timing: TaskTiming, sizes: Sizes, size: int, variant: int, mismatch: Mismatch) -> Timed:
        row = replace(timing.sizes[size], speedup=None, invalid=Invalid.WRONG, message=mismatch.message)
        drawn = Drawn("timed", sizes.timed[size].variants[variant])
        failure = Failure(Status.WRONG, Stage.TIME, mismatch.reason, drawn, mismatch=mismatch)
        return Timed(replace(timing, sizes=(*timing.sizes[:size], row)), failure)


def _unloaded(lost: Lost, sizes: Sizes, facts: dict[str, object]) -> Timed:
    row = SizeTiming(sizes.timed[0].label, invalid=Invalid.FAILED, message=lost.message)
    return Timed(TaskTiming((row,), len(sizes.timed), facts, {}, {}), _loss(lost, sizes, 0))


def _loss(lost: Lost, sizes: Sizes, size: int) -> Failure:
    status, reason = LOST[lost.kind]
    drawn = Drawn("timed", sizes.timed[size].variants[0])
    if lost.kind == "error":
        error = lost.error if isinstance(lost.error, dict) else {"message": lost.message}
        return Failure(status, Stage.TIME, reason, drawn, error)
    return Failure(status, Stage.TIME, reason, drawn, loss=Loss(lost.kind, "call", lost.message))


def _path(task: Task) -> str:
    """What the catalogue knows a task by: its id, or the file of a user's own."""
    from tasks.catalog import built

    return task.id if task.id in built() else str(inspect.getsourcefile(task.reference))
