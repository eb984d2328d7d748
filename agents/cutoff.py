"""Replies that ended at the token limit: what is said of the kernels that came with them."""

from __future__ import annotations

from dataclasses import replace

from agents.protocol import Reply, Usage
from evaluator.records import Evaluation
from tasks.outcomes import Reason, Stage, Status

# what the clients make of every provider's word for it
LENGTH = "length"


class CutReplies:
    """A task's replies that were cut, by lane and source. Used from several threads."""

    def __init__(self) -> None:
        self._usage: dict[tuple[int, str], Usage] = {}

    def heard(self, lane: int, reply: Reply) -> Reply:
        """`reply`, of which is kept whether it was cut."""
        place = (lane, reply.code or "")
        if reply.finish_reason == LENGTH:
            self._usage[place] = reply.usage
        else:
            self._usage.pop(place, None)
        return reply

    def told(self, lane: int, source: str, verdict: Evaluation) -> Evaluation:
        """The verdict on a lane's `source`, with the news that its reply was cut, if it was and that may be the cause.

        Without a whole program it is `rejected: cut_off`; one that parses keeps its own verdict, with a line more.
        """
        usage = self._usage.get((lane, source))
        if usage is None or verdict.status in (Status.CORRECT, Status.INFRA_ERROR):
            return verdict
        told = _told(usage)
        if verdict.reason in (Reason.NO_CODE, Reason.SYNTAX_ERROR):
            return replace(verdict, status=Status.REJECTED, stage=Stage.STATIC, reason=Reason.CUT_OFF, diagnosis=told)
        return replace(verdict, diagnosis=f"{verdict.diagnosis.rstrip()}\nnote: {told}")


def _told(usage: Usage) -> str:
    tokens = f"{usage.output_tokens:,} tokens" if usage.output_tokens else "the most tokens that it may have"
    thought = f", {usage.reasoning_tokens:,} of them for thinking" if usage.reasoning_tokens else ""
    return (
        f"The last reply was cut at {tokens}{thought}, before it came to its end. "
        "Answer shorter: few words, and the whole file in one fenced block that begins with ```python."
    )
