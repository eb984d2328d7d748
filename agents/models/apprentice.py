"""offline/apprentice: a simulation of a model, for runs without a key. It calls no language model.

It answers with oracles into which known mistakes have been put, and mends a mistake only when the prompt carries the
evidence for it. So the whole loop runs on any machine, and feedback that stops reaching the prompt shows as kernels
that stop being rescued. Nothing that it does is ever a finding about models.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

from agents.extract import code_of
from agents.models import mutants
from agents.models.mutants import Stack
from agents.models.prompt import Prompt, read
from agents.protocol import Reply, Request
from tasks.faults.contract import PROSE
from tasks.faults.fault import Fault

T = TypeVar("T")

NOTICE = "(Simulated reply: no language model was called.)"
# shares of fresh draws; what is left goes to kernels with one or two faults
CLEAN, SLOW, WORDS_ONLY = 0.12, 0.15, 0.06


class Apprentice:
    """The simulated model. The same request always gets the same reply, in any process."""

    name = "offline/apprentice"
    simulated = True

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def complete(self, request: Request) -> Reply:
        """One reply, at once. Token counts are unknown: there are none."""
        prompt = read(request.messages)
        if prompt.task is None or not mutants.knows(prompt.task):
            return _reply(f"I know no task {prompt.task!r}, only those of the suite.")
        if not prompt.wants_code:
            return _reply(_reflection(prompt))
        if prompt.source is None:
            return self._draw(prompt.task, request)
        stack = mutants.stack_of(prompt.task, prompt.source)
        if stack is None:
            return _reply("I don't know this kernel, so I leave it as it is.", prompt.source)
        return _improved(prompt, prompt.task, prompt.source, stack)

    def _draw(self, task: str, request: Request) -> Reply:
        """A first attempt: fixed by seed, task, lane and attempt."""
        chance = _Chance(f"{self.seed}/{task}/{request.lane}/{request.attempt}")
        share = chance.number()
        faults = mutants.choices(task)
        slow = [fault for fault in faults if fault.slow]
        wrong = [fault for fault in faults if not fault.slow]
        if share < CLEAN:
            stack: Stack = ()
        elif share < CLEAN + SLOW:
            stack = (chance.pick(slow),) if slow else ()
        elif share < CLEAN + SLOW + WORDS_ONLY:
            return _reply(PROSE)
        else:
            first = chance.pick(wrong)
            second = chance.pick([fault for fault in faults if fault is not first])
            stack = (first, second) if chance.number() < 0.5 else (first,)
            stack = tuple(fault for fault in faults if fault in stack)
            stack = stack if mutants.source_with(task, stack) is not None else (first,)
        return _reply("A kernel for this task.", mutants.source_with(task, stack))


class _Chance:
    """Numbers that a text fixes, the same in every process and version."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._drawn = 0

    def number(self) -> float:
        """The next number, uniform in [0, 1)."""
        self._drawn += 1
        digest = hashlib.sha256(f"{self._key}/{self._drawn}".encode()).digest()
        return int.from_bytes(digest[:6], "big") / 2**48

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.number() * len(options))]


def _improved(prompt: Prompt, task: str, source: str, stack: Stack) -> Reply:
    """The source with one fault fewer where the prompt gives cause for it, and unchanged where it doesn't."""
    fault = _to_mend(prompt, stack)
    if fault is None:
        return _reply("I see nothing in this that tells me what to change.", source)
    rest = tuple(other for other in stack if other is not fault)
    return _reply(f"This was the matter: {fault.summary}.", mutants.source_with(task, rest))


def _to_mend(prompt: Prompt, stack: Stack) -> Fault | None:
    for fault in stack:
        if fault.mended and (prompt.shows_figure if fault.slow else prompt.proves(fault)):
            return fault
    return None


def _reflection(prompt: Prompt) -> str:
    if prompt.reason is None or not prompt.diagnosis:
        return "Nothing was said about what went wrong, so I can't tell."
    return f"The verdict was {prompt.reason}, and the next attempt must answer its diagnosis."


def _reply(words: str, source: str | None = None) -> Reply:
    text = f"{words} {NOTICE}\n"
    if source is not None:
        text += f"\n```python\n{source.rstrip()}\n```\n"
    return Reply(text, code_of(text), "stop")
