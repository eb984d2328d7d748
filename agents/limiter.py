"""A model behind the limits of its run: requests at a time and a minute, tokens a minute, budgets. Adds the cost.

A client that tries a request again tells so, and each attempt is counted by itself.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from agents.budgets import (
    NO_TOKENS,
    NOTHING,
    STEP_S,
    Bound,
    Budget,
    Spent,
    bound_of,
    most_spent,
    priced,
    spent_in,
    spent_on,
)
from agents.context import Halt
from agents.models.prices import Price, price_of
from agents.models.retrying import Stopped
from agents.protocol import Model, ModelError, Reply, Request, Usage
from agents.runfolder import Run

WINDOW_S = 60.0

log = logging.getLogger(__name__)


@dataclass
class Begun:
    """A request in the window: when it began, and its tokens, at first as many as it can take."""

    at_s: float
    tokens: int


class Pace:
    """At most so many requests, and so many tokens, begun within any 60 seconds. None is no limit.

    A request larger than all the tokens of a minute goes alone.
    """

    def __init__(
        self, requests: int | None, tokens: int | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._requests = requests
        self._tokens = tokens
        self._clock = clock
        self._window: deque[Begun] = deque()
        self._lock = threading.Lock()

    def admit(self, tokens: int, pause: Callable[[float], None]) -> Begun:
        """Wait for room for a request of at most `tokens`, and take it.

        `pause` waits for that many seconds or less, and raises what is to end the wait.
        """
        while True:
            with self._lock:
                now = self._clock()
                wait_s = self._wait_s(tokens, now)
                if wait_s <= 0:
                    begun = Begun(now, tokens)
                    self._window.append(begun)
                    return begun
            pause(wait_s)

    def settle(self, begun: Begun, tokens: int) -> None:
        """Count what an admitted request really took: 0 where it was refused."""
        with self._lock:
            begun.tokens = tokens

    def _wait_s(self, tokens: int, now: float) -> float:
        while self._window and now - self._window[0].at_s >= WINDOW_S:
            self._window.popleft()
        full = self._requests is not None and len(self._window) >= self._requests
        used = sum(begun.tokens for begun in self._window) if self._tokens is not None else 0
        if self._window and (full or (self._tokens is not None and used + tokens > self._tokens)):
            return self._window[0].at_s + WINDOW_S - now
        return 0.0


class Tab:
    """What one request sets aside and takes, attempt by attempt: its `Attempts`. Used from one thread."""

    def __init__(self, budget: Budget, pace: Pace, most: Spent, pause: Callable[[float], None]) -> None:
        """`most` is what one attempt can take; `pause` is that of `Pace.admit`."""
        self.lost = 0
        """Failed attempts that may be billed; each counts as much as it could take."""
        self._budget = budget
        self._pace = pace
        self._most = most
        self._pause = pause
        self._open = False
        self._begun: Begun | None = None

    def again(self) -> None:
        """Set aside for another attempt, and wait for its turn. Raises Halt."""
        self._budget.reserve(self._most)
        self._open = True
        self._begun = self._pace.admit(self._most.tokens, self._pause)

    def failed(self, *, billed: bool) -> None:
        """Count an attempt that brought no answer."""
        self.lost += self._open and billed
        self.close(self._most if billed else NOTHING)

    def close(self, spent: Spent) -> None:
        """Count what the attempt took, and give the rest back; nothing when none is open."""
        if self._open:
            self._open = False
            self._budget.settle(self._most, spent)
        if self._begun:
            self._pace.settle(self._begun, spent.tokens)
            self._begun = None


class Limiter:
    """A `Model` that asks another one within the limits. Used from several threads.

    `complete` raises Halt, as `stopped`, where a request would only begin after `stop` is set or a budget has ended.
    """

    def __init__(
        self, model: Model, budget: Budget, price: Price | None, pace: Pace, *, concurrency: int, stop: threading.Event
    ) -> None:
        self.name = model.name
        self.simulated = model.simulated
        self.budget = budget
        self._model = model
        self._price = price
        self._pace = pace
        self._slots = threading.BoundedSemaphore(concurrency)
        self._stop = stop
        self._told = self._told_more = False

    def stop(self) -> None:
        """Begin nothing new, and end a client's waits for another try."""
        self._stop.set()
        client_stop = getattr(self._model, "stop", None)
        if isinstance(client_stop, threading.Event):
            client_stop.set()

    def complete(self, request: Request) -> Reply:
        """The model's reply, with its cost."""
        # a stop needs no wake-up here: requests in flight are awaited anyway, and then each waiter finds out in turn
        with self._slots:
            return self._ask(request, self._bound(request))

    def _ask(self, request: Request, bound: Bound) -> Reply:
        tab = Tab(self.budget, self._pace, most_spent(bound, self._price), self._pause)
        try:
            tab.again()
            reply = self._model.complete(replace(request, attempts=tab))
            usage = priced(reply.usage, self._price)
            tab.close(spent_on(usage, bound, self._price))
        except Stopped as stopped:
            raise Halt("stopped", "asked to stop") from stopped
        except ModelError as error:
            tab.failed(billed=error.billed)
            raise
        finally:
            tab.close(NOTHING)
        self._tell_unknown(usage)
        self._tell_more(usage, bound)
        return replace(reply, usage=usage, lost=tab.lost)

    def _bound(self, request: Request) -> Bound:
        if self.simulated:
            return NO_TOKENS
        return bound_of((message.content for message in request.messages), request.params)

    def _pause(self, wait_s: float) -> None:
        if self._stop.wait(min(wait_s, STEP_S)):
            raise Halt("stopped", "asked to stop")
        self.budget.check()

    def _tell_unknown(self, usage: Usage) -> None:
        unknown = usage.input_tokens is None or usage.output_tokens is None
        if unknown and not self.simulated and not self._told:
            self._told = True
            log.warning("%s does not say how many tokens it took; budgets count its upper bound", self.name)

    def _tell_more(self, usage: Usage, bound: Bound) -> None:
        read, written = usage.input_tokens or 0, usage.output_tokens or 0
        more = max(0, read - bound.input_tokens) + max(0, written - bound.output_tokens)
        if more and not self.simulated and not self._told_more:
            self._told_more = True
            log.warning(
                "%s reports %d tokens more than were set aside for a request (%d in of %d, %d out of %d); "
                "budgets count what it reports, and may be passed",
                *(self.name, more, read, bound.input_tokens, written, bound.output_tokens),
            )


def limited(run: Run, model: Model, stop: threading.Event) -> Limiter:
    """`model` within the limits of a run's settings. What the run's logs say was spent counts. Raises UserError for a
    damaged log."""
    config = run.config
    price = None if model.simulated else price_of(config.model, config.base_url, config.price)
    spent = NOTHING
    if config.budgets:
        for task in run.tasks:
            spent += spent_in(run.events(task), price, simulated=model.simulated)
    budget = Budget(**config.budgets, spent=spent, stop=stop)
    pace = Pace(config.requests_per_minute, config.tokens_per_minute)
    return Limiter(model, budget, price, pace, concurrency=config.model_concurrency, stop=stop)
