"""What a method and a model are, and what passes between them: the contract that adapters are written to."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from evaluator.records import Evaluation
from tasks.task import Task


@dataclass(frozen=True)
class Message:
    """One turn of a conversation; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True)
class Usage:
    """What one request cost; None means unknown, never zero.

    Cached tokens (read from a provider's cache) and written ones (put into it) are part of the input tokens.
    """

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    usd: float | None = None
    written_tokens: int | None = None

    def logged(self) -> dict[str, Any]:
        """As it goes into a log: without the written tokens where nothing is said of any."""
        return {name: value for name, value in vars(self).items() if name != "written_tokens" or value is not None}


class Attempts(Protocol):
    """What a client tells of the attempts at one request, so that each is reserved for. The first is not told."""

    def failed(self, *, billed: bool) -> None:
        """One failed; `billed`: its provider may charge for it all the same."""

    def again(self) -> None:
        """Another one follows. Waits until the limits of the run allow it; what it raises ends the request."""


@dataclass(frozen=True)
class Request:
    """One question to a model. `params` holds sampling parameters; `task`, `lane` and `attempt` say which
    question of the run it is (the attempt counts the lane's questions from 0), and are not sent to a provider.
    A client that tries more than once tells `attempts`."""

    messages: tuple[Message, ...]
    params: Mapping[str, Any]
    task: str
    lane: int
    attempt: int
    attempts: Attempts | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Reply:
    """A model's answer. `code` is the Python source found in it, None when there is none; the context finds it, so a
    model need not. `tries` counts the attempts that it took, failed ones included, `lost` those of them that failed
    and may be billed all the same."""

    text: str
    code: str | None
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    tries: int = 1
    lost: int = 0


class Model(Protocol):
    """A model client. `simulated` is True when no language model is called."""

    name: str
    simulated: bool

    def complete(self, request: Request) -> Reply:
        """One reply. Raises `ModelError` when the provider gives none; never invents one."""


class ModelError(Exception):
    """The provider could not answer: an infrastructure failure, never a failed kernel. `billed`: it may charge for
    the attempt all the same."""

    def __init__(self, line: str, *, billed: bool = False) -> None:
        super().__init__(line)
        self.billed = billed


@dataclass(frozen=True)
class Round:
    """One round of a task: `number` counts from 1 to `of`."""

    number: int
    of: int


@dataclass(frozen=True)
class Candidate:
    """One submitted source with its verdict. `index` counts a task's candidates from 0; `parents` are indices."""

    index: int
    round: int
    lane: int
    source: str
    evaluation: Evaluation
    parents: tuple[int, ...] = ()

    @property
    def correct(self) -> bool:
        return self.evaluation.correct


@dataclass(frozen=True)
class Ask:
    """One entry of `ask_many`."""

    messages: str | Sequence[Message]
    lane: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Submission:
    """One entry of `evaluate_many`; a source of None is recorded as `rejected: no_code`."""

    source: str | None
    lane: int = 0
    parents: tuple[int, ...] = ()


class Context(Protocol):
    """All that a method can reach. Everything that goes through it is logged, budgeted and replayable."""

    task: Task
    candidates: list[Candidate]
    rng: random.Random

    @property
    def best(self) -> Candidate | None:
        """The best candidate so far: by status, then by the measured figure."""

    def rounds(self) -> Iterator[Round]:
        """Rounds, until their number or a budget ends."""

    def ask(self, messages: str | Sequence[Message], *, lane: int = 0, **params: Any) -> Reply:
        """One reply; a plain string is one user message."""

    def ask_many(self, asks: Sequence[Ask]) -> list[Reply]:
        """Replies in the order of `asks`, asked for in parallel."""

    def evaluate(self, source: str | None, *, lane: int = 0, parents: Sequence[int] = ()) -> Candidate:
        """The judged candidate; it joins `candidates`."""

    def evaluate_many(self, submissions: Sequence[Submission]) -> list[Candidate]:
        """Judged candidates in the order of `submissions`, judged in parallel."""

    def render(self, template: str, **variables: Any) -> str:
        """A prompt from `prompts/`, or from the user's own folder first. `task` and `cases` (a line for each public
        case) are given; the rest is yours."""

    def note(self, **data: Any) -> None:
        """JSON values for the log, for whoever reads the run later."""


class Method(Protocol):
    """A strategy for one task. A dataclass; its fields are its options."""

    name: ClassVar[str]

    def run(self, task: Task, ctx: Context) -> None: ...
