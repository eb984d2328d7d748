"""reflexion: one line of attempts, with lessons in the model's own words between them.

After Shinn et al., Reflexion: Language Agents with Verbal Reinforcement Learning (2023): a failed attempt is
first talked about, and the last few of these reflections go into the next attempt's prompt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from agents.extract import prose_of
from agents.protocol import Candidate, Context
from tasks.task import Task

LESSON_CHARACTERS = 600


@dataclass(frozen=True)
class Reflexion:
    """Attempt, reflect on the verdict in words, attempt again with the lessons; ends at the first correct kernel."""

    name: ClassVar[str] = "reflexion"
    max_rounds: ClassVar[int | None] = None

    memory: int = field(default=3, metadata={"help": "how many of the latest lessons a prompt carries"})

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise ValueError("memory must be at least 1")

    def run(self, task: Task, ctx: Context) -> None:
        lessons: list[str] = []
        last: Candidate | None = None
        for _ in ctx.rounds():
            if last is None:
                reply = ctx.ask(ctx.render("generate.j2"))
            else:
                thought = ctx.ask(ctx.render("reflect.j2", last=last, lessons=lessons))
                lesson = prose_of(thought.text, LESSON_CHARACTERS)
                lessons = [*lessons, *([lesson] if lesson else [])][-self.memory :]
                reply = ctx.ask(ctx.render("fix.j2", last=last, attempts=ctx.candidates, lessons=lessons))
            last = ctx.evaluate(reply.code, parents=[last.index] if last else [])
            if last.correct:
                return
