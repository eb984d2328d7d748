"""The context: all that a method can reach, and where every ask, reply and verdict becomes an event."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from agents import ranking
from agents.brief import case_lines
from agents.cutoff import CutReplies
from agents.extract import code_of
from agents.journal import Diverged, Journal
from agents.log import Event, sha_of
from agents.protocol import (
    Ask,
    Candidate,
    Message,
    Model,
    ModelError,
    Reply,
    Request,
    Round,
    Submission,
    Usage,
)
from agents.verdicts import logged_verdict, verdict_of
from evaluator.records import Evaluation
from tasks.errors import UserError
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

# threads of one task; how many requests go out at a time is the limiter's business, how many kernels the evaluator's
MOST_ASKED, MOST_JUDGED = 256, 16
NO_CODE = "The reply holds no Python source. Answer with the whole file in one fenced block that begins with ```python."

T = TypeVar("T")
R = TypeVar("R")


class EvaluatorLike(Protocol):
    """What judges a source. Called from several threads."""

    def evaluate(self, task: Task, source: str) -> Evaluation: ...


class TemplatesLike(Protocol):
    """What renders a prompt by the name of its template."""

    def render(self, name: str, **variables: Any) -> str: ...


class Halt(BaseException):
    """Ends a task early: `state` is stopped (asked to) or error (the machine or the provider failed).

    Not an Exception, so that no method takes it for its own. `everywhere`: no other task would fare better.
    """

    def __init__(self, state: str, reason: str, *, everywhere: bool = False) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason
        self.everywhere = everywhere


@dataclass(frozen=True)
class Asked:
    """A request with its place in the log: the hash of what is asked, and how often that was asked before."""

    request: Request
    key: str
    n: int


def key_of(model: str, request: Request) -> str:
    """The hash of what a provider gets to see: model, messages and sampling parameters."""
    messages = [[message.role, message.content] for message in request.messages]
    seen = json.dumps([model, messages, dict(request.params)], sort_keys=True)
    return hashlib.sha256(seen.encode()).hexdigest()


def rng_of(seed: int, task: Task) -> random.Random:
    """The method's own randomness in one task: the same in every process, and apart for each task."""
    return random.Random(f"{seed}:{task.id}")


class LoopContext:
    """The `Context` of one task. Its journal decides what is new and what is handed back."""

    def __init__(
        self,
        task: Task,
        journal: Journal,
        *,
        model: Model,
        evaluator: EvaluatorLike,
        templates: TemplatesLike,
        rounds: int,
        seed: int,
        params: Mapping[str, Any],
        stop: threading.Event,
    ) -> None:
        """`params` are sampling parameters that a method's own override; once `stop` is set nothing new begins."""
        self.task = task
        self.candidates: list[Candidate] = []
        self.rng = rng_of(seed, task)
        self._journal = journal
        self._model = model
        self._evaluator = evaluator
        self._templates = templates
        self._rounds = rounds
        self._round = 1
        self._params = dict(params)
        self._stop = stop
        self._asked: Counter[str] = Counter()
        self._attempts: Counter[int] = Counter()
        self._submitted: Counter[str] = Counter()
        self._requests = 0
        self._evaluations = 0
        self._notes = 0
        self._cases: list[str] | None = None
        self._cut = CutReplies()

    @property
    def best(self) -> Candidate | None:
        """The best candidate so far: by status, then by the measured figure."""
        return ranking.best(self.candidates)

    def rounds(self) -> Iterator[Round]:
        """Rounds, until their number ends."""
        for number in range(1, self._rounds + 1):
            self._check_stop()
            self._round = number
            self._journal.record({"type": "round", "number": number, "of": self._rounds})
            yield Round(number, self._rounds)

    def ask(self, messages: str | Sequence[Message], *, lane: int = 0, **params: Any) -> Reply:
        """One reply; a plain string is one user message."""
        return self.ask_many([Ask(messages, lane, params)])[0]

    def ask_many(self, asks: Sequence[Ask]) -> list[Reply]:
        """Replies in the order of `asks`, asked for in parallel."""
        asked = [self._number(ask) for ask in asks]
        return self._in_parallel(self._call, self._known(asked, self._recorded_reply), MOST_ASKED)

    def evaluate(self, source: str | None, *, lane: int = 0, parents: Sequence[int] = ()) -> Candidate:
        """The judged candidate; it joins `candidates`."""
        return self.evaluate_many([Submission(source, lane, tuple(parents))])[0]

    def evaluate_many(self, submissions: Sequence[Submission]) -> list[Candidate]:
        """Judged candidates in the order of `submissions`, judged in parallel."""
        questions = [self._place(submission) for submission in submissions]
        candidates = self._in_parallel(self._judge, self._known(questions, self._recorded_candidate), MOST_JUDGED)
        self.candidates += candidates
        return candidates

    def render(self, template: str, **variables: Any) -> str:
        """A prompt from `prompts/`, or from the user's own folder first. `task` and `cases` (a line for each public
        case) are given; the rest is the method's."""
        if self._cases is None:
            self._cases = case_lines(self.task)
        return self._templates.render(template, **{"task": self.task, "cases": self._cases, **variables})

    def note(self, **data: Any) -> None:
        """JSON values for the log, for whoever reads the run later."""
        self._journal.record({"type": "note", "index": self._notes, "round": self._round, "data": data})
        self._notes += 1

    def _number(self, ask: Ask) -> Asked:
        """Give a request its occurrence and put it into the log, before any thread starts."""
        self._check_stop()
        messages = (Message("user", ask.messages),) if isinstance(ask.messages, str) else tuple(ask.messages)
        params = {**self._params, **ask.params}
        request = Request(messages, params, self.task.id, ask.lane, self._attempts[ask.lane])
        key = key_of(self._model.name, request)
        asked = Asked(request, key, self._asked[key])
        event = {
            "type": "request",
            "index": self._requests,
            "key": key,
            "n": asked.n,
            "round": self._round,
            "lane": request.lane,
            "attempt": request.attempt,
            "params": params,
            "messages": [{"role": message.role, "text": sha_of(message.content)} for message in messages],
        }
        self._journal.record(event, [message.content for message in messages])
        self._asked[key] += 1
        self._attempts[ask.lane] += 1
        self._requests += 1
        return asked

    def _recorded_reply(self, asked: Asked) -> Reply | None:
        event = self._journal.answer("reply", {"key": asked.key, "n": asked.n})
        if event is None:
            return None
        text = self._journal.text(event["text"])
        reply = Reply(text, code_of(text), event["finish_reason"], Usage(**event["usage"]))
        return self._cut.heard(asked.request.lane, reply)

    def _call(self, asked: Asked) -> Reply:
        self._check_stop()
        try:
            reply = self._model.complete(asked.request)
        except ModelError as error:
            raise Halt("error", f"model: {error}", everywhere=isinstance(error, UserError)) from error
        event: Event = {
            "type": "reply",
            "key": asked.key,
            "n": asked.n,
            "text": sha_of(reply.text),
            "finish_reason": reply.finish_reason,
            "usage": reply.usage.logged(),
        }
        if reply.tries != 1:
            event["tries"] = reply.tries
        if reply.lost:
            event["lost"] = reply.lost
        self._journal.record(event, [reply.text], durable=True)
        # the source is taken out here for live and recorded replies alike, so that both are read by the same rule
        reply = Reply(reply.text, code_of(reply.text), reply.finish_reason, reply.usage)
        return self._cut.heard(asked.request.lane, reply)

    def _place(self, submission: Submission) -> tuple[Event, str]:
        """What an evaluation's event will say besides the verdict, fixed before any thread starts."""
        self._check_stop()
        source = submission.source or ""
        sha = sha_of(source)
        unknown = [parent for parent in submission.parents if not 0 <= parent < len(self.candidates)]
        if unknown:
            raise ValueError(f"parents {unknown} are no candidates of this task")
        place = {
            "index": self._evaluations,
            "n": self._submitted[sha],
            "round": self._round,
            "lane": submission.lane,
            "parents": list(submission.parents),
            "source": sha,
        }
        self._submitted[sha] += 1
        self._evaluations += 1
        return place, source

    def _recorded_candidate(self, question: tuple[Event, str]) -> Candidate | None:
        place, source = question
        event = self._journal.answer("evaluation", place)
        return None if event is None else _candidate(place, source, verdict_of(self.task.id, event))

    def _judge(self, question: tuple[Event, str]) -> Candidate:
        self._check_stop()
        place, source = question
        verdict = (
            self._evaluator.evaluate(self.task, source) if source.strip() else no_code(self.task.id, place["source"])
        )
        verdict = self._cut.told(place["lane"], source, verdict)
        event = {"type": "evaluation", **place, "evaluation": logged_verdict(verdict)}
        self._journal.record(event, [source], durable=True)
        if verdict.status is Status.INFRA_ERROR:
            raise Halt("error", f"evaluator: {verdict.diagnosis.strip() or verdict.reason or 'no reason given'}")
        return _candidate(place, source, verdict)

    def _known(self, questions: Sequence[T], recorded: Callable[[T], R | None]) -> list[tuple[T, R | None]]:
        """Each question with its recorded answer. All are looked up before the first divergence is raised, so that a
        record that breaks off among parallel answers is read to its end."""
        known: list[tuple[T, R | None]] = []
        diverged: list[Diverged] = []
        for question in questions:
            try:
                known.append((question, recorded(question)))
            except Diverged as error:
                diverged.append(error)
        if diverged:
            raise diverged[0]
        return known

    def _in_parallel(self, work: Callable[[T], R], questions: Sequence[tuple[T, R | None]], most: int) -> list[R]:
        """An answer for each question that has none yet. All are waited for before the first failure is raised."""
        open_ones = [(place, question) for place, (question, answer) in enumerate(questions) if answer is None]
        answers = [answer for _, answer in questions]
        if len(open_ones) == 1:
            place, question = open_ones[0]
            answers[place] = work(question)
        elif open_ones:
            with ThreadPoolExecutor(min(len(open_ones), most)) as pool:
                futures = [(place, pool.submit(work, question)) for place, question in open_ones]
            for place, future in futures:
                answers[place] = future.result()
        return [answer for answer in answers if answer is not None]

    def _check_stop(self) -> None:
        if self._stop.is_set() and self._journal.live:
            raise Halt("stopped", "asked to stop")


def _candidate(place: Event, source: str, verdict: Evaluation) -> Candidate:
    return Candidate(place["index"], place["round"], place["lane"], source, verdict, tuple(place["parents"]))


def no_code(task: str, sha: str) -> Evaluation:
    """The verdict on a reply without code; no evaluator is needed for it."""
    return Evaluation(task, sha, Status.REJECTED, Stage.STATIC, Reason.NO_CODE, NO_CODE)
