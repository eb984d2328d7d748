"""A method of one's own: every round a fresh attempt, then repairs by its diagnosis."""

from dataclasses import dataclass
from typing import ClassVar

from agents.protocol import Context
from tasks.task import Task


@dataclass(frozen=True)
class TwoShots:
    """A fresh attempt each round, then repairs by the diagnosis; ends at the first correct kernel."""

    name: ClassVar[str] = "two_shots"

    repairs: int = 1

    def run(self, task: Task, ctx: Context) -> None:
        for _ in ctx.rounds():
            last = ctx.evaluate(ctx.ask(ctx.render("generate.j2")).code)
            for _ in range(self.repairs):
                if not last.correct:
                    reply = ctx.ask(ctx.render("fix.j2", last=last))
                    last = ctx.evaluate(reply.code, parents=[last.index])
            if last.correct:
                return
