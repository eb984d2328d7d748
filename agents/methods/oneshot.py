"""oneshot: what a model does at its first attempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agents.protocol import Context
from tasks.task import Task


@dataclass(frozen=True)
class OneShot:
    """One attempt, no feedback; one round, whatever number is asked for."""

    name: ClassVar[str] = "oneshot"
    max_rounds: ClassVar[int | None] = 1

    def run(self, task: Task, ctx: Context) -> None:
        for _ in ctx.rounds():
            reply = ctx.ask(ctx.render("generate.j2"))
            ctx.evaluate(reply.code)
