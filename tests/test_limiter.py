"""A run's model behind its limits: at a time, in a minute, in all; ends of budgets and how a run goes on after them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import misbehaving_server as bad
import pytest
from loop_fakes import Answers, Plain, Verdicts, go, make_run, toy

from agents.budgets import NOTHING, Budget, Spent, bound_of, is_budget, most_spent, spent_in
from agents.context import Halt
from agents.limiter import Limiter, Pace, Tab
from agents.models.openai_client import OpenAIClient
from agents.models.prices import Price
from agents.models.retrying import Stopped
from agents.newrun import amend
from agents.protocol import Ask, Context, Message, ModelError, Reply, Request, Usage
from agents.replay import replay_task
from agents.runfolder import Run, open_run
from tasks.task import Task

PRICE = Price(1.0, 0.5, 4.0)


def request(text: str = "q", **params: Any) -> Request:
    return Request((Message("user", text),), params, "Toy/one", 0, 0)


class Paid(Answers):
    """A real model, as far as accounts go."""

    simulated = False
    usage = Usage(200, 100, 200, 0)

    def complete(self, request: Request) -> Reply:
        return replace(super().complete(request), usage=self.usage)


class Gated(Paid):
    """Answers when told to; counts how many wait for an answer."""

    def __init__(self, at_a_time: int) -> None:
        super().__init__()
        self.all_in = threading.Barrier(at_a_time, timeout=60)
        self.inside = self.most_inside = 0

    def complete(self, request: Request) -> Reply:
        with self.lock:
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
        self.all_in.wait()
        with self.lock:
            self.inside -= 1
        return super().complete(request)


def limiter(model: Answers, *, budget: Budget | None = None, concurrency: int = 16, stop: Any = None) -> Limiter:
    stop = stop or threading.Event()
    return Limiter(model, budget or Budget(stop=stop), PRICE, Pace(None, None), concurrency=concurrency, stop=stop)


def test_as_many_at_a_time_as_allowed_and_never_more() -> None:
    model = Gated(8)
    limited = limiter(model, concurrency=8)
    with ThreadPoolExecutor(64) as pool:
        replies = list(pool.map(lambda _: limited.complete(request()), range(64)))
    assert (len(replies), model.most_inside) == (64, 8)


def test_the_cost_is_put_into_the_usage_once() -> None:
    limited = limiter(Paid())
    assert (limited.name, limited.simulated) == (Paid.name, False)
    assert limited.complete(request()).usage.usd == pytest.approx((100 * 1.0 + 100 * 0.5 + 200 * 4.0) / 1e6)
    silent = Paid()
    silent.usage = Usage()
    assert limiter(silent).complete(request()).usage == Usage()


def test_a_failed_request_gives_back_what_was_set_aside() -> None:
    class Down(Paid):
        def complete(self, request: Request) -> Reply:
            raise ModelError("gone")

    budget = Budget(max_requests=1)
    for _ in range(3):
        with pytest.raises(ModelError):
            limiter(Down(), budget=budget).complete(request())
    assert limiter(Paid(), budget=budget).complete(request()).text
    assert budget.spent.requests == 1


class Lossy(Paid):
    """Fails `of` times before each answer, and tells of it as a client does."""

    def __init__(self, of: int, *, billed: bool) -> None:
        super().__init__()
        self.of, self.billed = of, billed

    def complete(self, request: Request) -> Reply:
        assert request.attempts
        for _ in range(self.of):
            request.attempts.failed(billed=self.billed)
            request.attempts.again()
        return replace(super().complete(request), tries=1 + self.of)


def test_an_attempt_that_may_be_billed_counts_as_much_as_it_could_take() -> None:
    budget = Budget()
    reply = limiter(Lossy(2, billed=True), budget=budget).complete(request(max_tokens=300))
    most = most_spent(bound_of(["q"], {"max_tokens": 300}), PRICE)
    answer = Spent(1, 400, PRICE.cost(Paid.usage) or 0.0)
    assert (reply.tries, reply.lost) == (3, 2)
    assert (budget.spent.requests, budget.spent.tokens) == (3, 2 * most.tokens + 400)
    assert budget.spent.usd == pytest.approx(2 * most.usd + answer.usd)

    budget = Budget()
    assert limiter(Lossy(2, billed=False), budget=budget).complete(request()).lost == 0
    assert budget.spent == answer


def test_no_attempt_begins_that_a_budget_has_no_room_for() -> None:
    budget, model = Budget(max_requests=2), Lossy(2, billed=True)
    with pytest.raises(Halt, match="--max-requests 2: 2 were used"):
        limiter(model, budget=budget).complete(request())
    assert (budget.spent.requests, model.calls) == (2, [])
    assert limiter(Lossy(5, billed=False), budget=Budget(max_requests=1)).complete(request()).text


def test_sixty_four_threads_with_lost_attempts_hold_their_budget() -> None:
    class Shaky(Paid):
        """Each attempt counts; two in three are lost."""

        attempts = 0

        def complete(self, request: Request) -> Reply:
            assert request.attempts
            while True:
                with self.lock:
                    self.attempts += 1
                    lost = self.attempts % 3 != 0
                if not lost:
                    return super().complete(request)
                request.attempts.failed(billed=True)
                request.attempts.again()

    budget, model = Budget(max_requests=200), Shaky()
    limited = limiter(model, budget=budget, concurrency=64)

    def ask(_: int) -> bool:
        try:
            return bool(limited.complete(request()).text)
        except Halt:
            return False

    with ThreadPoolExecutor(64) as pool:
        answered = sum(pool.map(ask, range(640)))
    assert budget.spent.requests == model.attempts == 200
    assert answered == len(model.calls) == 66


def test_each_attempt_counts_in_its_minute() -> None:
    clock = Clock()
    pace = Pace(3, None, clock=lambda: clock.now)
    tab = Tab(Budget(), pace, Spent(1, 10), clock.pause)
    for _ in range(3):
        tab.again()
        tab.failed(billed=False)
    assert clock.now == 0
    tab.again()
    tab.close(NOTHING)
    assert clock.now == 60


def test_retries_of_a_real_client_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with bad.running(monkeypatch) as server:
        server.does(bad.fails(500), bad.drops, bad.garbles, bad.answers)
        client = OpenAIClient("m", server.url, first_wait_s=0.001)
        budget = Budget(max_requests=3)
        limited = Limiter(client, budget, PRICE, Pace(None, None), concurrency=1, stop=threading.Event())
        reply = limited.complete(request())
        assert (reply.tries, reply.lost, budget.spent.requests) == (4, 2, 3)
        with pytest.raises(Halt, match="3 were used"):
            limited.complete(request())
        assert len(server.bodies) == 4


def test_a_stop_ends_the_wait_for_a_slot_and_a_clients_wait_between_tries() -> None:
    class Retrying(Paid):
        def __init__(self) -> None:
            super().__init__()
            self.stop = threading.Event()
            self.waits = threading.Event()

        def complete(self, request: Request) -> Reply:
            self.waits.set()
            assert self.stop.wait(60)
            raise Stopped("stopped while waiting for another try")

    model = Retrying()
    limited = limiter(model, concurrency=1)
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(limited.complete, request()) for _ in range(2)]
        assert model.waits.wait(60)
        limited.stop()
        for future in futures:
            with pytest.raises(Halt, match="asked to stop") as halt:
                future.result(60)
            assert halt.value.state == "stopped"


class Clock:
    """Time that passes only in waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waited: list[float] = []

    def pause(self, wait_s: float) -> None:
        self.waited.append(wait_s)
        self.now += wait_s


def begun_at(pace: Pace, clock: Clock, tokens: Sequence[int]) -> list[float]:
    return [pace.admit(number, clock.pause).at_s for number in tokens]


def test_requests_within_any_minute() -> None:
    clock = Clock()
    pace = Pace(3, None, clock=lambda: clock.now)
    assert begun_at(pace, clock, [9] * 2) == [0, 0]
    clock.now = 50
    assert begun_at(pace, clock, [9] * 6) == [50, 60, 60, 110, 120, 120]


def test_tokens_within_any_minute_and_one_that_is_too_large_goes_alone() -> None:
    clock = Clock()
    pace = Pace(None, 100, clock=lambda: clock.now)
    assert begun_at(pace, clock, [60, 40, 1, 250, 1]) == [0, 0, 60, 120, 180]


def test_what_a_request_really_took_makes_room() -> None:
    clock = Clock()
    pace = Pace(None, 100, clock=lambda: clock.now)
    first = pace.admit(90, clock.pause)
    pace.settle(first, 10)
    assert begun_at(pace, clock, [90]) == [0]
    assert begun_at(pace, clock, [90]) == [60]


@dataclass
class Wide:
    """Sixteen questions a round, with replies judged."""

    name: ClassVar[str] = "lanes"

    def run(self, task: Task, ctx: Context) -> None:
        for round_ in ctx.rounds():
            replies = ctx.ask_many([Ask(f"round {round_.number}", lane, {"max_tokens": 300}) for lane in range(16)])
            for reply in replies:
                ctx.evaluate(reply.code)


def limits(run: Run, **changes: Any) -> Run:
    return amend(run, config={**run.record["config"], **changes})


def replies_of(run: Run) -> list[dict[str, Any]]:
    return [event for task in run.tasks for event in run.events(task) if event["type"] == "reply"]


def test_a_run_ends_within_its_budget_and_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    names = [f"Toy/t{number}" for number in range(6)]
    run = limits(make_run(tmp_path / "r", names=names, rounds=3, workers=4), max_tokens=40_000, price=[1.0, 4.0])
    end = go(run, Paid(), method=Wide())
    assert (end.state, end.interrupted) == ("stopped", False)
    assert all(is_budget(one.reason) for one in end.tasks if one.state == "stopped")
    assert {run.state(one.task) for one in end.tasks} == {"stopped", "waiting"}, "nothing begins after the end"
    used = sum(event["usage"]["input_tokens"] + event["usage"]["output_tokens"] for event in replies_of(run))
    assert 40_000 - 600 < used <= 40_000
    last = run.events(names[0])[-1]
    assert (last["type"], last["state"], last["traceback"]) == ("task_end", "stopped", None)
    assert last["reason"].startswith("budget: --max-tokens 40000: ")
    assert all(event["usage"]["usd"] == pytest.approx(0.001) for event in replies_of(run))

    model = Paid()
    assert go(open_run(run.path), model, method=Wide()).state == "stopped"
    assert model.calls == [], "what was spent before counts"
    had = len(replies_of(run))
    assert go(limits(run, max_tokens=10**9), model, method=Wide()).state == "done"
    assert len(model.calls) == 6 * 3 * 16 - had
    for name in names:
        found = replay_task(run, toy(name), Wide(), Plain())
        assert found.complete and not found.divergences


def test_what_was_paid_for_is_judged_after_the_end_of_a_budget(tmp_path: Path) -> None:
    judged = Verdicts()
    run = limits(make_run(tmp_path / "r", names=["Toy/one"], rounds=3), max_requests=16)
    assert go(run, Paid(), judged, Wide()).state == "stopped"
    assert len(run.candidates("Toy/one")) == 16
    assert "--max-requests 16: 16 were used" in run.events("Toy/one")[-1]["reason"]


def test_lost_attempts_and_cache_writes_are_in_the_log_and_count_after_a_resume(tmp_path: Path) -> None:
    class Writing(Lossy):
        usage = Usage(200, 100, 200, 0, written_tokens=50)

    run = make_run(tmp_path / "r", names=["Toy/one"], rounds=1)
    assert go(run, Writing(1, billed=True), method=Wide()).state == "done"
    assert all(event["lost"] == 1 and event["usage"]["written_tokens"] == 50 for event in replies_of(run))
    spent = spent_in(run.events("Toy/one"), PRICE, simulated=False)
    assert spent.requests == 32 and spent.tokens > 16 * (400 + 300)
    quiet = make_run(tmp_path / "q", names=["Toy/one"], rounds=1)
    assert go(quiet, Paid(), method=Wide()).state == "done"
    assert not any("lost" in event or "written_tokens" in event["usage"] for event in replies_of(quiet))


def test_tries_are_logged_where_there_were_several(tmp_path: Path) -> None:
    class Shaky(Paid):
        def complete(self, request: Request) -> Reply:
            return replace(super().complete(request), tries=1 + request.lane % 2)

    run = make_run(tmp_path / "r", names=["Toy/one"], rounds=1)
    assert go(run, Shaky(), method=Wide()).state == "done"
    assert sorted(event.get("tries", 1) for event in replies_of(run)) == [1] * 8 + [2] * 8


def test_a_reply_that_took_more_than_was_set_aside_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    model = Paid()
    model.usage = Usage(20, None, 150)
    limited = limiter(model)
    for _ in range(2):
        limited.complete(request(max_tokens=100))
    assert caplog.text.count("50 tokens more than were set aside") == 1
    assert limited.budget.spent.tokens == 2 * 170
