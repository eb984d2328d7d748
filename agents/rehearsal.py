"""What a run would ask for, found out by asking nobody: the method gets stand-ins for replies and verdicts."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.budgets import Bound, bound_of, most_output
from agents.context import rng_of
from agents.protocol import Message, Method, Request
from agents.scripted import Endless, ScriptedContext
from evaluator.records import Evaluation
from prompts.loader import Templates
from tasks.errors import UserError
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

MOST_STEPS = 10_000
LONGEST_DIAGNOSIS = 4000  # characters, as the evaluator cuts it
VERDICTS = 200


@dataclass(frozen=True)
class Rehearsal:
    """What one task can take: `requests` with `bound` tokens together; and the messages of the first one."""

    requests: int
    bound: Bound
    first: tuple[Message, ...]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Requests, input tokens, output tokens."""
        return self.requests, self.bound.input_tokens, self.bound.output_tokens


def rehearse(
    task: Task,
    method: Method,
    templates: Templates,
    *,
    rounds: int,
    seed: int,
    params: Mapping[str, Any] | None = None,
) -> Rehearsal:
    """The method through `task` twice: every kernel wrong, every kernel correct and better than the last.

    Replies are as long as the sampling parameters allow, a byte for a token; each sum is the larger one of the two.
    Raises UserError if the method doesn't end, and what the method raises.
    """
    found = [
        _rehearsed(task, method, templates, verdicts, rounds=rounds, seed=seed, params=params or {})
        for verdicts in (_all_wrong(), _all_correct())
    ]
    bound = Bound(max(one.bound.input_tokens for one in found), max(one.bound.output_tokens for one in found))
    return Rehearsal(max(one.requests for one in found), bound, found[0].first)


def write_prompt(folder: Path, task: str, messages: Sequence[Message]) -> None:
    """A prompt into `<folder>/<task>.txt`, each message under its role. Raises UserError when it can't be written."""
    path = folder / f"{task}.txt"
    text = "".join(f"[{message.role}]\n{message.content}\n" for message in messages)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(f"can't write {path}: {error.strerror}") from error


def _rehearsed(
    task: Task,
    method: Method,
    templates: Templates,
    verdicts: Sequence[Evaluation],
    *,
    rounds: int,
    seed: int,
    params: Mapping[str, Any],
) -> Rehearsal:
    def answer(request: Request) -> str:
        mark = f"# {task.id}, lane {request.lane}, attempt {request.attempt}"
        return _source(mark, most_output({**params, **request.params}))

    context = ScriptedContext(task, answer, verdicts, rounds=rounds, most=MOST_STEPS, templates=templates)
    context.rng = rng_of(seed, task)
    try:
        copy.deepcopy(method).run(task, context)
    except Endless as error:
        raise UserError(f"{method.name} does not end: {error}") from error
    bounds = [
        bound_of((message.content for message in request.messages), {**params, **request.params})
        for request in context.requests
    ]
    total = Bound(sum(bound.input_tokens for bound in bounds), sum(bound.output_tokens for bound in bounds))
    return Rehearsal(len(bounds), total, context.requests[0].messages if context.requests else ())


def _source(mark: str, size: int) -> str:
    """A fenced source of `size` bytes, as far as there is room for anything in it."""
    head, tail = f"```python\nimport triton\n{mark}\n", "\n```\n"
    lines = "# and so on, to the end of what a reply may hold, in lines of one length\n"
    room = max(0, size - len(head) - len(tail))
    return head + (lines * (room // len(lines) + 1))[:room] + tail


def _all_wrong() -> list[Evaluation]:
    """Failures that all read differently, so that no method takes one for the one before."""
    return [
        Evaluation("", "", Status.WRONG, Stage.COMPARE, Reason.MISMATCH, _words(number), compiled=True, called=True)
        for number in range(VERDICTS)
    ]


def _all_correct() -> list[Evaluation]:
    return [
        Evaluation("", "", Status.CORRECT, None, None, _words(number), compiled=True, called=True, traffic=traffic)
        for number, traffic in enumerate(10.0 + VERDICTS - number for number in range(VERDICTS))
    ]


def _words(number: int) -> str:
    name = "".join("abcdefghij"[int(digit)] for digit in str(number))
    return f"This is outcome {name}. ".ljust(LONGEST_DIAGNOSIS, ".")
