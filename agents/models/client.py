"""What the clients of all providers share: quirks, retries, error lines without keys, and the reply."""

from __future__ import annotations

import logging
import os
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from agents.models.quirks import Lesson, learned, quirks_of, translated, without_system
from agents.models.retrying import LONGEST_LINE, Passing, Retrying, details_of, failure, line_of, status_of
from agents.models.secrets import keys_of, scrubbed
from agents.protocol import ModelError, Reply, Request, Usage
from tasks.errors import UserError

TIMEOUT_S = 600.0
FIRST_WAIT_S = 1.0
# the statuses by which a request is refused for what is in it
BAD_REQUEST = (400, 422)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """What one attempt brought, in the words of any provider."""

    text: str
    finish_reason: str | None
    usage: Usage


class Client(ABC):
    """A provider's model. Used from several threads. Setting `stop` ends the waits for another try."""

    simulated = False

    def __init__(
        self, name: str, model: str, key: str | None, errors: tuple[type[Exception], ...], first_wait_s: float
    ) -> None:
        """`errors` are what the SDK raises; `first_wait_s` is where the waits between tries begin."""
        self.name = name
        self.stop = threading.Event()
        self._errors: tuple[type[Exception], ...] = (*errors, ValueError)  # ValueError: a body that is no JSON
        self._keys = {key, *keys_of(os.environ)}
        self._retrying = Retrying(name, first_wait_s, self.stop)
        self._quirks = quirks_of(model)
        self._told: set[str] = set()
        self._learning = threading.Lock()

    @abstractmethod
    def _ask(self, request: Request) -> Answer:
        """One attempt at a request that is as the model takes it. Raises NoCompletion, or what the SDK raises."""

    def complete(self, request: Request) -> Reply:
        """One reply, its code left for the context to find. Rate limits, server errors, broken connections and answers
        without a completion are tried again, with a warning each time; a parameter that the model refuses is changed
        once and for all.

        Raises ModelError when it stays that way; Refused when no request would fare better; Stopped. No text of theirs
        holds a key.
        """
        quirks = self._quirks

        def once() -> Answer:
            nonlocal quirks
            quirks |= self._quirks
            sent, left_out = translated(request.params, quirks)
            for name in left_out:
                self._tell(f"no {name}, which is left out")
            messages = request.messages if quirks.system_role else without_system(request.messages)
            try:
                return self._ask(replace(request, messages=messages, params=sent))
            except self._errors as error:
                lesson = None
                if status_of(error) in BAD_REQUEST:
                    lesson = learned(details_of(error), messages, sent, quirks)
                if lesson is None:
                    raise self._failure(error) from None  # the SDK's own text may hold the key
                quirks = lesson.quirks
                self._keep(lesson)
                raise Passing(self._line(error), at_once=True) from None

        answer, tries = self._retrying.call(once, request.attempts)
        return Reply(answer.text, None, answer.finish_reason, believed(answer.usage), tries=tries)

    def _keep(self, lesson: Lesson) -> None:
        if lesson.lasting:
            with self._learning:
                self._quirks |= lesson.quirks
        self._tell(lesson.words)

    def _tell(self, words: str) -> None:
        """Say once what the model doesn't take."""
        with self._learning:
            new = words not in self._told
            self._told.add(words)
        if new:
            log.warning("%s takes %s", self.name, words)

    def _failure(self, error: Exception) -> ModelError:
        return failure(error, self._line(error))

    def _line(self, error: Exception) -> str:
        # cut last: half a key would not be recognised
        return scrubbed(f"{self.name}: {line_of(error)}", self._keys)[:LONGEST_LINE]


def believed(usage: Usage) -> Usage:
    """The token counts, None for those that can't be: less than 0, truth values, text."""
    counts = {name: value for name, value in vars(usage).items() if name != "usd"}
    return replace(
        usage, **{name: value if type(value) is int and value >= 0 else None for name, value in counts.items()}
    )


def missing(package: str) -> UserError:
    """For an SDK that can't be imported."""
    return UserError(f"the package {package} is missing; install it with: pip install {package}")
