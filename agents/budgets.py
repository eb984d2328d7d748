"""Budgets: what a run may spend in all. Reserved before a request at its upper bound, settled after it at what it took.

What is spent and what is reserved together never pass a budget, however many threads ask, as long as the provider
keeps to the output bound that it was given. An attempt that failed counts as much as it could take where it may be
billed all the same, else nothing. Tokens, dollars and requests count over all sessions of a run, minutes from the start
of this one.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agents.context import Halt
from agents.log import Event, texts_of
from agents.models.prices import Price
from agents.models.quirks import BOUNDS, MAX_TOKENS
from agents.protocol import Usage

# what a server's template adds around messages: marks of turns, and a system prompt of its own
MESSAGE_TOKENS, REQUEST_TOKENS = 16, 256
STEP_S = 0.2
REASON = "budget: "


@dataclass(frozen=True)
class Bound:
    """How many tokens a request can take at most."""

    input_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


NO_TOKENS = Bound(0, 0)


@dataclass(frozen=True)
class Spent:
    """A sum of requests; `usd` is 0 where there is no price."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.requests + other.requests, self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.requests - other.requests, self.tokens - other.tokens, self.usd - other.usd)


NOTHING = Spent()


def bound_of(texts: Iterable[str], params: Mapping[str, Any]) -> Bound:
    """The bound of a request with these messages. A token is at least one byte of UTF-8."""
    sizes = [len(text.encode("utf-8", "surrogatepass")) for text in texts]
    return Bound(sum(sizes) + MESSAGE_TOKENS * len(sizes) + REQUEST_TOKENS, most_output(params))


def most_output(params: Mapping[str, Any]) -> int:
    """The most output tokens of a request with these sampling parameters, thinking among them."""
    asked = next((params[name] for name in BOUNDS if params.get(name) is not None), MAX_TOKENS)
    answers = params.get("n")
    return math.ceil(asked) * (answers if isinstance(answers, int) else 1)


def most_spent(bound: Bound, price: Price | None) -> Spent:
    """What one request spends at most."""
    return Spent(1, bound.tokens, price.most(bound.input_tokens, bound.output_tokens) if price else 0.0)


def spent_on(usage: Usage, bound: Bound, price: Price | None) -> Spent:
    """What one answered request spent; where the provider does not say, its bound counts."""
    read = bound.input_tokens if usage.input_tokens is None else usage.input_tokens
    written = bound.output_tokens if usage.output_tokens is None else usage.output_tokens
    usd = usage.usd
    if usd is None:
        usd = price.most(read, written) if price else 0.0
    return Spent(1, read + written, usd)


def spent_in(events: list[Event], price: Price | None, *, simulated: bool) -> Spent:
    """What the replies in one task's log spent, with the attempts before them that may be billed. Those without a cost
    are priced now."""
    texts = texts_of(events)
    asked = {(event["key"], event["n"]): event for event in events if event["type"] == "request"}
    total = NOTHING
    for event in events:
        if event["type"] == "reply":
            request = asked[event["key"], event["n"]]
            messages = (texts[message["text"]] for message in request["messages"])
            bound = NO_TOKENS if simulated else bound_of(messages, request["params"])
            total += spent_on(priced(Usage(**event["usage"]), price), bound, price)
            for _ in range(event.get("lost", 0)):
                total += most_spent(bound, price)
    return total


def priced(usage: Usage, price: Price | None) -> Usage:
    """The usage with its cost, where that can be known and is not there yet."""
    if usage.usd is not None or price is None:
        return usage
    return replace(usage, usd=price.cost(usage))


def is_budget(reason: str | None) -> bool:
    """Whether this is why a budget ended a task."""
    return (reason or "").startswith(REASON)


class Budget:
    """The budgets of one session. Used from several threads."""

    def __init__(
        self,
        *,
        max_usd: float | None = None,
        max_tokens: int | None = None,
        max_minutes: float | None = None,
        max_requests: int | None = None,
        spent: Spent = NOTHING,
        stop: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """None is no limit. `spent` is what earlier sessions took; `stop` ends every wait; `clock` gives seconds."""
        self.spent = spent
        self.ended: str | None = None
        """One line, from the moment on when a budget allowed no further request."""
        self._max_usd = max_usd
        self._max_tokens = max_tokens
        self._max_minutes = max_minutes
        self._max_requests = max_requests
        self._stop = stop or threading.Event()
        self._clock = clock
        self._began = clock()
        self._reserved = NOTHING
        self._open = 0
        self._changed = threading.Condition()

    def reserve(self, most: Spent) -> None:
        """Set `most` aside for one request, before it is sent. Each call is followed by one of `settle`.

        While it does not fit, requests in flight are waited for, since they mostly take less than was set aside for
        them. Raises Halt when it does not fit with none in flight, and for every request after that.
        """
        with self._changed:
            self.check()
            while lacking := self._lacking(most):
                if not self._open:
                    self._end(lacking)
                self._changed.wait(STEP_S)
                self.check()
            self._reserved += most
            self._open += 1

    def settle(self, most: Spent, spent: Spent) -> None:
        """Give back what was set aside for a request, and count what it took."""
        with self._changed:
            self._open -= 1
            # from zero again whenever none is in flight, so that no rounding errors of sums pile up
            self._reserved = self._reserved - most if self._open else NOTHING
            self.spent += spent
            self._changed.notify_all()

    def check(self) -> None:
        """Raises Halt when nothing new may begin: the run stops, a budget has ended, or the time is over."""
        if self._stop.is_set():
            raise Halt("stopped", "asked to stop")
        if self.ended:
            raise Halt("stopped", self.ended)
        if self._max_minutes is not None and self._clock() - self._began >= 60 * self._max_minutes:
            self._end(f"--max-minutes {self._max_minutes:g} are over")

    def _lacking(self, most: Spent) -> str | None:
        after = self.spent + self._reserved + most
        if self._max_requests is not None and after.requests > self._max_requests:
            return f"--max-requests {self._max_requests}: {self.spent.requests} were used"
        if self._max_tokens is not None and after.tokens > self._max_tokens:
            took = f"{self.spent.tokens:,} were used, and the next request may take {most.tokens:,}"
            return f"--max-tokens {self._max_tokens}: {took}"
        if self._max_usd is not None and after.usd > self._max_usd:
            took = f"${self.spent.usd:.4f} were spent, and the next request may cost ${most.usd:.4f}"
            return f"--max-usd {self._max_usd:g}: {took}"
        return None

    def _end(self, why: str) -> None:
        self.ended = REASON + why
        raise Halt("stopped", self.ended)
