"""What a run would ask for, found out by asking nobody: the method gets an empty reply to each of its requests."""

from __future__ import annotations

from dataclasses import dataclass

from agents.context import no_code, rng_of
from agents.log import sha_of
from agents.protocol import Message, Method
from agents.scripted import Endless, ScriptedContext
from prompts.loader import Templates
from tasks.errors import UserError
from tasks.task import Task

MOST_STEPS = 10_000


@dataclass(frozen=True)
class Rehearsal:
    """`requests` that one task takes when every reply is empty, and the messages of the first."""

    requests: int
    first: tuple[Message, ...]


def rehearse(task: Task, method: Method, templates: Templates, *, rounds: int, seed: int) -> Rehearsal:
    """The method through `task` without an answer. Raises UserError if it doesn't end, and what the method raises."""
    unjudged = no_code(task.id, sha_of(""))
    context = ScriptedContext(task, lambda _: "", [unjudged], rounds=rounds, most=MOST_STEPS, templates=templates)
    context.rng = rng_of(seed, task)
    try:
        method.run(task, context)
    except Endless as error:
        raise UserError(f"{method.name} does not end: {error}") from error
    first = context.requests[0].messages if context.requests else ()
    return Rehearsal(len(context.requests), first)
