"""best_of_n: independent samples, the measure of what feedback has to beat."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from agents.protocol import Ask, Context, Submission
from tasks.task import Task


@dataclass(frozen=True)
class BestOfN:
    """Independent samples of one prompt every round, no feedback; the best of all counts."""

    name: ClassVar[str] = "best_of_n"
    max_rounds: ClassVar[int | None] = None

    n: int = field(default=4, metadata={"help": "samples a round"})

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError("n must be at least 1")

    def run(self, task: Task, ctx: Context) -> None:
        prompt = ctx.render("generate.j2")
        for _ in ctx.rounds():
            replies = ctx.ask_many([Ask(prompt, lane) for lane in range(self.n)])
            ctx.evaluate_many([Submission(reply.code, lane) for lane, reply in enumerate(replies)])
