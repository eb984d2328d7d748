"""Budgets: nothing goes over them however many threads ask; waits for what is in flight; ends; what a log has spent."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from loop_fakes import NAMES, Answers, go, make_run

from agents.budgets import NOTHING, Budget, Spent, bound_of, is_budget, most_output, most_spent, spent_in, spent_on
from agents.context import Halt
from agents.models.prices import Price
from agents.models.quirks import MAX_TOKENS
from agents.protocol import Reply, Request, Usage

THREADS = 64
MOST = Spent(1, 100, 0.25)


@pytest.mark.parametrize(
    ("limits", "name"),
    [({"max_tokens": 10_050}, "tokens"), ({"max_usd": 25.125}, "usd"), ({"max_requests": 120}, "requests")],
)
def test_sixty_four_threads_never_go_over_and_stop_only_when_nothing_more_fits(
    limits: dict[str, float], name: str
) -> None:
    budget = Budget(**limits)  # type: ignore[arg-type]
    (limit,) = limits.values()
    paid, paying = NOTHING, threading.Lock()
    begun = threading.Barrier(THREADS, timeout=60)

    def ask(number: int) -> str:
        nonlocal paid
        chance = random.Random(number)
        begun.wait()
        while True:
            try:
                budget.reserve(MOST)
            except Halt as halt:
                return halt.reason
            # at times all that was reserved, mostly less, at times nothing since the provider failed
            share = chance.choice((0, 4, 4, 1, 1, 2))
            spent = Spent(1, 25 * share, share / 16) if share else NOTHING
            with paying:
                paid += spent
            assert getattr(paid, name) <= limit
            budget.settle(MOST, spent)

    with ThreadPoolExecutor(THREADS) as pool:
        reasons = set(pool.map(ask, range(THREADS)))
    assert budget.spent == paid
    assert getattr(paid, name) <= limit < getattr(paid + MOST, name)
    assert reasons == {budget.ended} and is_budget(budget.ended)


def test_a_request_that_does_not_fit_waits_for_those_in_flight() -> None:
    budget = Budget(max_tokens=150)
    budget.reserve(MOST)
    fitted = threading.Event()

    def second() -> None:
        budget.reserve(MOST)
        fitted.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert not fitted.wait(0.05)
    budget.settle(MOST, Spent(1, 50))
    thread.join(20)
    assert fitted.is_set() and budget.ended is None


def test_an_end_is_one_line_and_holds_for_every_later_request() -> None:
    budget = Budget(max_usd=1.0, spent=Spent(7, 900, 0.875))
    with pytest.raises(Halt) as halt:
        budget.reserve(MOST)
    assert (halt.value.state, halt.value.everywhere) == ("stopped", False)
    assert halt.value.reason == "budget: --max-usd 1: $0.8750 were spent, and the next request may cost $0.2500"
    with pytest.raises(Halt, match="max-usd"):
        budget.reserve(Spent(1, 1, 0.0))


def test_minutes_are_those_of_the_session() -> None:
    now = [1000.0]
    budget = Budget(max_minutes=2.0, spent=Spent(9, 9, 9.0), clock=lambda: now[0])
    now[0] += 119
    budget.reserve(MOST)
    now[0] += 1
    with pytest.raises(Halt, match="--max-minutes 2 are over"):
        budget.reserve(MOST)
    budget.settle(MOST, Spent(1, 10))
    assert budget.spent.tokens == 19, "what was in flight still counts"


def test_a_stop_ends_the_wait_for_room() -> None:
    stop = threading.Event()
    budget = Budget(max_requests=1, stop=stop)
    budget.reserve(MOST)
    threading.Timer(0.05, stop.set).start()
    with pytest.raises(Halt, match="asked to stop"):
        budget.reserve(MOST)
    assert budget.ended is None


def test_a_token_is_at_least_a_byte_and_output_has_a_bound() -> None:
    assert bound_of(["", ""], {}).input_tokens < bound_of(["", "é"], {}).input_tokens - 1
    assert bound_of(["lone \ud800"], {}).output_tokens == MAX_TOKENS
    assert most_output({"max_tokens": 50}) == most_output({"max_completion_tokens": 50}) == 50
    assert most_output({"max_tokens": 50, "n": 3}) == 150


def test_what_the_provider_does_not_say_counts_at_its_bound() -> None:
    price, bound = Price(1.0, 1.0, 1.0), bound_of(["x" * 744], {"max_tokens": 1000})
    assert spent_on(Usage(), bound, price) == most_spent(bound, price)
    assert spent_on(Usage(10, 0, None), bound, None) == Spent(1, 1010, 0.0)
    assert spent_on(Usage(10, 0, 5, 0, 0.5), bound, price) == Spent(1, 15, 0.5)


def test_a_log_says_what_was_spent_and_a_later_price_fills_in(tmp_path: Path) -> None:
    class Counted(Answers):
        simulated = False

        def complete(self, request: Request) -> Reply:
            usage = Usage(100, 0, 50) if request.lane else Usage()
            return replace(super().complete(request), usage=usage)

    run = make_run(tmp_path / "r")
    assert go(run, Counted()).state == "done"
    events = run.events(NAMES[0])
    replies = [event for event in events if event["type"] == "reply"]
    known = [event for event in replies if event["usage"]["input_tokens"] is not None]
    unknown = len(replies) - len(known)
    assert known and unknown
    price = Price(10.0, 10.0, 10.0)
    spent = spent_in(events, price, simulated=False)
    assert spent.requests == len(replies)
    assert spent.tokens > 150 * len(known) + MAX_TOKENS * unknown
    assert spent.usd == pytest.approx(spent.tokens * 10 / 1e6)
    assert spent_in(events, None, simulated=True) == Spent(len(replies), 150 * len(known), 0.0)
    known[0]["lost"] = 2
    with_lost = spent_in(events, price, simulated=False) - spent
    assert with_lost.requests == 2 and with_lost.tokens > 2 * MAX_TOKENS
    assert with_lost.usd == pytest.approx(with_lost.tokens * 10 / 1e6)
