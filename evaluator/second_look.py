"""A second look at a candidate that passed: once more in a fresh process over other memory, there with idle kernels,
and in another one again and again with the same values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from evaluator import wire
from evaluator.cases import Drawn, picks_of
from evaluator.conversation import Answer, Call, Setting, Transcript, converse
from evaluator.layers import Layer
from evaluator.limits import Limits
from evaluator.observe import Breach, same_values, sighting
from evaluator.pool import WarmProcess
from evaluator.remembering import calls_of, remembered
from evaluator.verdict import Failure
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

OTHER_POISON = 0x7F  # 3e38 as a float32, where the first is NaN; 127 as a byte, where the first is -1
PICKS_MAX = 3
KERNELS_MAX = 4
ONE_IDLE_S = 1.0


@dataclass(frozen=True)
class Looked:
    """What a second look found: a failure or None, and warnings."""

    failure: Failure | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Look:
    """All that a second look needs: the candidate, its cases, what it answered, and where to run it."""

    warm: WarmProcess
    task: Task
    source: str
    drawn: Sequence[Drawn]
    answers: Mapping[int, Answer]
    seed: int
    limits: Limits
    without: Collection[Layer] = ()

    def take(self) -> Looked:
        """Raises WarmDied."""
        picks = list(picks_of(self.drawn, self.seed, PICKS_MAX))
        if not picks:
            return Looked(None)
        kernels = self._kernels(picks[0])
        hand = [Call(0, self.drawn[picks[0]].case)]
        hand += [Call(1 + i, self.drawn[pick].case, knock_out=()) for i, pick in enumerate(picks)]
        case = self.drawn[picks[0]].case
        # without one of its kernels another may wait for ever
        hand += [Call(10 + i, case, knock_out=(name,), most_s=ONE_IDLE_S) for i, name in enumerate(kernels)]
        transcript = self._once_more(hand)
        failure = self._reproduced(picks[0], transcript) or self._knocked_out(picks, transcript) or self._remembered()
        idle = [name for i, name in enumerate(kernels) if self._same(picks[0], transcript.calls.get(10 + i))]
        return Looked(failure, tuple(f"kernel {name} made no difference in a call" for name in idle))

    def _once_more(self, hand: Sequence[Call]) -> Transcript:
        """Compiled again only where launches failed before (a configuration may have been chosen by it), or where the
        candidate did not get through without."""
        failed = any(answer.header.get("swallowed") for answer in self.answers.values())
        for interprets_only in [False] if failed else [True, False]:
            setting = Setting(None if Layer.POISON in self.without else OTHER_POISON, interprets_only, grad=False)
            transcript = converse(self.warm.fork(), self.source, self.task.entries, hand, self.limits, setting)
            first = transcript.calls.get(hand[0].index)
            if first is not None and "error" not in first.header:
                break
        return transcript

    def _kernels(self, pick: int) -> list[str]:
        names = self.answers[pick].header.get("kernels")
        known = sorted({str(name) for name in names}) if isinstance(names, list) else []
        return known if 1 < len(known) <= KERNELS_MAX else []

    def _reproduced(self, pick: int, transcript: Transcript) -> Failure | None:
        if self.task.stochastic or Layer.REPEAT in self.without:
            return None
        if self._same(pick, transcript.calls.get(0)):
            return None
        message = (
            "the same call in a fresh process gave another result: it depends on memory that nobody wrote, on time, "
            "or on what is left from earlier calls"
        )
        return self._failure(Status.WRONG, Reason.NOT_REPRODUCIBLE, pick, message, Layer.REPEAT)

    def _remembered(self) -> Failure | None:
        """Stochastic tasks may draw until something fits: their kernels' work may differ from call to call."""
        hand = calls_of(self.drawn)
        if self.task.stochastic or Layer.REPEAT in self.without or not hand:
            return None
        message = remembered(self._once_more(hand).calls)
        return self._failure(Status.REJECTED, Reason.REMEMBERS, 0, message, Layer.REPEAT) if message else None

    def _knocked_out(self, picks: Sequence[int], transcript: Transcript) -> Failure | None:
        if Layer.KNOCKOUT in self.without:
            return None
        judged = [pick for pick in picks if self._kernels_ran(pick)]
        if not judged or not all(self._same(pick, transcript.calls.get(1 + picks.index(pick))) for pick in judged):
            return None
        message = "with every kernel turned into a no-op the call returns the same: no kernel computes the result"
        return self._failure(Status.REJECTED, Reason.NOT_FROM_KERNEL, judged[0], message, Layer.KNOCKOUT)

    def _kernels_ran(self, pick: int) -> bool:
        return bool(self.answers[pick].header.get("launches"))

    def _same(self, pick: int, answer: Answer | None) -> bool:
        """Whether `answer` has the bits of the first answer to this case."""
        if answer is None or "error" in answer.header:
            return False
        case = self.drawn[pick].case
        try:
            return same_values(sighting(self.task, case, self.answers[pick]), sighting(self.task, case, answer))
        except wire.WireError:
            return False

    def _failure(self, status: Status, reason: Reason, pick: int, message: str, layer: Layer) -> Failure:
        return Failure(status, Stage.CONTRACT, reason, self.drawn[pick], breach=Breach(reason, message, layer))
