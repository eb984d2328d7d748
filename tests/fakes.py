"""Stand-ins for tests of methods: verdicts in one word, replies that carry a source, a context over a real task."""

from __future__ import annotations

from collections.abc import Callable

from agents.protocol import Candidate, Request
from agents.scripted import ScriptedContext
from evaluator.records import Evaluation
from tasks.catalog import load
from tasks.outcomes import Reason, Stage, Status

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr, {number})


def softmax(input, dim, dtype=None):
    return input
"""


def wrong(diagnosis: str = "3 of 165 elements differ") -> Evaluation:
    return Evaluation("", "", Status.WRONG, Stage.COMPARE, Reason.MISMATCH, diagnosis, compiled=True, called=True)


def broken(diagnosis: str = "line 7: tl has no attribute 'tanh'") -> Evaluation:
    return Evaluation("", "", Status.COMPILE_ERROR, Stage.RUN, Reason.COMPILATION, diagnosis)


def right(traffic: float | None = 2.0, speedup: float | None = None, diagnosis: str = "reads it twice") -> Evaluation:
    return Evaluation(
        "", "", Status.CORRECT, None, None, diagnosis, compiled=True, called=True, traffic=traffic, speedup=speedup
    )


def candidate(index: int, evaluation: Evaluation, *, lane: int = 0, source: str | None = None) -> Candidate:
    text = KERNEL.format(number=index) if source is None else source
    return Candidate(index, index + 1, lane, text, evaluation)


def numbered(request: Request) -> str:
    """A reply whose source says which question of which lane it answers, after a sentence that says it too."""
    number = 100 * request.lane + request.attempt
    return f"This is answer {number}.\n\n```python\n{KERNEL.format(number=number)}```\n"


def context(
    *verdicts: Evaluation, rounds: int = 5, reply: Callable[[Request], str] = numbered, task: str = "Math/softmax"
) -> ScriptedContext:
    return ScriptedContext(load(task), reply, verdicts, rounds=rounds)
