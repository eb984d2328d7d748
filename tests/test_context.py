"""The context: what becomes an event, in which order, and what it counts."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from loop_fakes import Answers, Plain, Verdicts, toy, verdict

from agents.context import Halt, LoopContext, key_of
from agents.journal import Journal
from agents.log import Event, sha_of
from agents.protocol import Ask, Message, Reply, Request, Submission
from agents.verdicts import verdict_of
from evaluator.records import Evaluation
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task


class Logged:
    """A context over a list of events."""

    def __init__(self, model: Any = None, evaluator: Any = None, **more: Any) -> None:
        self.events: list[Event] = []
        self.model = model or Answers()
        self.evaluator = evaluator or Verdicts()
        self.stop = threading.Event()
        settings = {"rounds": 3, "seed": 5, "params": {}, **more}
        journal = Journal("Toy/one", [], self.events.append)
        self.ctx = LoopContext(
            toy("Toy/one"),
            journal,
            model=self.model,
            evaluator=self.evaluator,
            templates=Plain(),
            stop=self.stop,
            **settings,
        )

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["type"] == kind]


def test_an_ask_is_logged_before_and_after_and_each_text_once() -> None:
    log = Logged()
    reply = log.ctx.ask([Message("system", "s"), Message("user", "u")], lane=2, temperature=0.5)
    log.ctx.ask([Message("system", "s"), Message("user", "other")])
    assert [event["type"] for event in log.events][:4] == ["text", "text", "request", "text"]
    request, answer = log.of("request")[0], log.of("reply")[0]
    assert request["messages"] == [{"role": "system", "text": sha_of("s")}, {"role": "user", "text": sha_of("u")}]
    assert (request["lane"], request["attempt"], request["params"]) == (2, 0, {"temperature": 0.5})
    assert (answer["key"], answer["n"], answer["text"]) == (request["key"], request["n"], sha_of(reply.text))
    texts = [event["text"] for event in log.of("text")]
    assert len(texts) == len(set(texts))
    assert reply.code is not None and "mark" in reply.code


def test_attempts_count_per_lane_and_occurrences_per_question() -> None:
    log = Logged()
    log.ctx.ask_many([Ask("q", 0), Ask("q", 1), Ask("q", 0), Ask("other", 1)])
    log.ctx.ask("q", lane=1)
    places = [(event["lane"], event["attempt"], event["n"]) for event in log.of("request")]
    assert places == [(0, 0, 0), (1, 0, 1), (0, 1, 2), (1, 1, 0), (1, 2, 3)]
    assert [event["index"] for event in log.of("request")] == [0, 1, 2, 3, 4]


def test_all_requests_of_a_batch_are_logged_before_any_is_asked() -> None:
    log = Logged()
    asked_at: list[int] = []

    class Counting(Answers):
        def complete(self, request: Request) -> Reply:
            asked_at.append(len(log.of("request")))
            return super().complete(request)

    log.ctx._model = Counting()
    log.ctx.ask_many([Ask(str(number), number) for number in range(4)])
    assert asked_at == [4, 4, 4, 4]


def test_a_batch_is_asked_in_parallel_and_answered_in_order() -> None:
    barrier = threading.Barrier(3, timeout=20)

    class Meeting(Answers):
        def complete(self, request: Request) -> Reply:
            barrier.wait()
            return Reply(request.messages[0].content.upper(), None)

    replies = Logged(Meeting()).ctx.ask_many([Ask("a"), Ask("b"), Ask("c")])
    assert [reply.text for reply in replies] == ["A", "B", "C"]


def test_a_methods_params_win_over_the_runs() -> None:
    log = Logged(params={"temperature": 1.0, "max_tokens": 9})
    log.ctx.ask("q", temperature=0.0)
    assert log.model.calls[0].params == {"temperature": 0.0, "max_tokens": 9}
    assert log.of("request")[0]["params"] == {"temperature": 0.0, "max_tokens": 9}


def test_the_key_is_what_a_provider_sees() -> None:
    def key(model: str = "m", text: str = "t", lane: int = 0, **params: Any) -> str:
        return key_of(model, Request((Message("user", text),), params, "Toy/one", lane, 0))

    assert key() == key(lane=3)
    assert len({key(), key("n"), key(text="u"), key(temperature=0)}) == 4
    assert key(a=1, b=2) == key(b=2, a=1)


def test_candidates_are_numbered_by_submission_and_best_is_the_best() -> None:
    class ByName:
        def evaluate(self, task: Task, source: str) -> Evaluation:
            return verdict(task.id, source, "right" in source)

    log = Logged(evaluator=ByName())
    assert log.ctx.best is None
    next(log.ctx.rounds())
    first = log.ctx.evaluate_many([Submission("wrong", 0), Submission("right", 1), Submission("right too", 2)])
    assert [(one.index, one.lane, one.round) for one in first] == [(0, 0, 1), (1, 1, 1), (2, 2, 1)]
    child = log.ctx.evaluate("wrong", lane=1, parents=[1])
    assert (child.index, child.parents) == (3, (1,))
    assert log.ctx.best is log.ctx.candidates[1]
    events = sorted(log.of("evaluation"), key=lambda event: event["index"])
    assert [event["n"] for event in events] == [0, 0, 0, 1]
    assert verdict_of(child.evaluation.task, events[3]) == child.evaluation
    with pytest.raises(ValueError, match="parents"):
        log.ctx.evaluate("x", parents=[4])


@pytest.mark.parametrize("source", [None, "", " \n\t"])
def test_no_source_is_rejected_without_the_evaluator(source: str | None) -> None:
    log = Logged()
    candidate = log.ctx.evaluate(source)
    verdict_ = candidate.evaluation
    assert (verdict_.status, verdict_.stage, verdict_.reason) == (Status.REJECTED, Stage.STATIC, Reason.NO_CODE)
    assert log.evaluator.sources == []
    assert candidate.source == (source or "")
    assert len(log.of("evaluation")) == 1


def test_rounds_end_and_are_logged() -> None:
    log = Logged()
    assert [(one.number, one.of) for one in log.ctx.rounds()] == [(1, 3), (2, 3), (3, 3)]
    assert [event["number"] for event in log.of("round")] == [1, 2, 3]


def test_the_rng_is_fixed_by_seed_and_task() -> None:
    draws = [Logged(seed=seed).ctx.rng.random() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_once_stopped_nothing_new_begins() -> None:
    log = Logged()
    log.stop.set()
    for act in (lambda: log.ctx.ask("q"), lambda: log.ctx.evaluate("x"), lambda: next(log.ctx.rounds())):
        with pytest.raises(Halt) as halt:
            act()
        assert halt.value.state == "stopped"
    assert log.events == [] and log.model.calls == []


def test_templates_get_the_task_and_notes_are_json() -> None:
    log = Logged()
    assert log.ctx.render("a.j2", x=1) == "a.j2 Toy/one {'x': 1}"
    log.ctx.note(b=(1, 2))
    assert log.of("note")[0]["data"] == {"b": [1, 2]}
    with pytest.raises(TypeError):
        log.ctx.note(b=object())
