"""A context whose replies and verdicts are written beforehand: for checking a method without model or evaluator."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents import ranking
from agents.brief import case_lines
from agents.extract import code_of
from agents.protocol import Ask, Candidate, Message, Reply, Request, Round, Submission
from evaluator.records import Evaluation
from prompts.loader import Templates
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task


class Endless(BaseException):
    """A method asked or submitted far more than its rounds explain. Not an Exception, so that no method catches it."""


@dataclass(frozen=True)
class Event:
    """One thing that a method did: kind is round, ask, submit or note; `what` is a plain value."""

    kind: str
    what: Any


class ScriptedContext:
    """Answers each request by `reply` and each source by the next of `verdicts`, the last one for ever.

    A missing or blank source is `rejected: no_code` and uses up no verdict. Everything that the method does is kept,
    in order, in `events`; requests also in `requests`. Raises Endless after `most` requests or submissions.
    """

    def __init__(
        self,
        task: Task,
        reply: Callable[[Request], str],
        verdicts: Sequence[Evaluation],
        *,
        rounds: int = 5,
        most: int = 1000,
        templates: Templates | None = None,
    ) -> None:
        self.task = task
        self.candidates: list[Candidate] = []
        self.rng = random.Random(0)
        self.events: list[Event] = []
        self.requests: list[Request] = []
        self._reply = reply
        self._verdicts = list(verdicts)
        self._judged = 0
        self._rounds = rounds
        self._round = 1
        self._most = most
        self._templates = templates or Templates()
        self._attempts: Counter[int] = Counter()
        self._cases = case_lines(task)

    @property
    def best(self) -> Candidate | None:
        return ranking.best(self.candidates)

    def rounds(self) -> Iterator[Round]:
        for number in range(1, self._rounds + 1):
            self._round = number
            self.events.append(Event("round", number))
            yield Round(number, self._rounds)

    def ask(self, messages: str | Sequence[Message], *, lane: int = 0, **params: Any) -> Reply:
        return self.ask_many([Ask(messages, lane, params)])[0]

    def ask_many(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._answer(ask) for ask in asks]

    def evaluate(self, source: str | None, *, lane: int = 0, parents: Sequence[int] = ()) -> Candidate:
        return self.evaluate_many([Submission(source, lane, tuple(parents))])[0]

    def evaluate_many(self, submissions: Sequence[Submission]) -> list[Candidate]:
        # all get their verdict before the first joins, as when they are judged in parallel
        judged = [self._judge(submission, place) for place, submission in enumerate(submissions)]
        self.candidates += judged
        return judged

    def render(self, template: str, **variables: Any) -> str:
        return self._templates.render(template, **{"task": self.task, "cases": self._cases, **variables})

    def note(self, **data: Any) -> None:
        self.events.append(Event("note", json.loads(json.dumps(data))))

    def _answer(self, ask: Ask) -> Reply:
        messages = (Message("user", ask.messages),) if isinstance(ask.messages, str) else tuple(ask.messages)
        params = json.loads(json.dumps(dict(ask.params)))
        request = Request(messages, params, self.task.id, ask.lane, self._attempts[ask.lane])
        self._attempts[ask.lane] += 1
        self.requests.append(request)
        self._add(Event("ask", (ask.lane, [(message.role, message.content) for message in messages], params)))
        text = self._reply(request)
        return Reply(text, code_of(text))

    def _judge(self, submission: Submission, place: int) -> Candidate:
        unknown = [parent for parent in submission.parents if not 0 <= parent < len(self.candidates)]
        if unknown:
            raise ValueError(f"parents {unknown} are no candidates of this task")
        source = submission.source or ""
        self._add(Event("submit", (submission.lane, source, list(submission.parents))))
        if source.strip():
            verdict = self._verdicts[min(self._judged, len(self._verdicts) - 1)]
            self._judged += 1
        else:
            verdict = Evaluation("", "", Status.REJECTED, Stage.STATIC, Reason.NO_CODE, "The reply holds no source.")
        verdict = replace(verdict, task=self.task.id)
        index = len(self.candidates) + place
        return Candidate(index, self._round, submission.lane, source, verdict, tuple(submission.parents))

    def _add(self, event: Event) -> None:
        self.events.append(event)
        if len(self.events) > self._most:
            raise Endless(f"{self._most} requests and submissions in {self._rounds} rounds")
