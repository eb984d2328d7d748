"""replay/<run>: a recorded run's replies in the place of a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from loop_fakes import Answers, go, make_run, without_time

from agents.journal import settled
from agents.models import load_model
from agents.models.replayed import ReplayedModel
from agents.protocol import Context, Message, ModelError, Request
from agents.runfolder import Run
from tasks.errors import UserError
from tasks.task import Task


@pytest.fixture
def recorded(tmp_path: Path) -> Run:
    run = make_run(tmp_path / "recorded")
    go(run)
    return run


def test_the_same_method_makes_the_same_run_of_it(recorded: Run, tmp_path: Path) -> None:
    again = make_run(tmp_path / "again", model="replay/recorded")
    model = load_model(f"replay/{recorded.path}", seed=0)
    assert model.simulated
    assert go(again, model).state == "done"
    for task in recorded.tasks:
        kept = [
            {kind: [event for event in settled(run.events(task)).values() if event["type"] == kind] for kind in KINDS}
            for run in (recorded, again)
        ]
        assert len(kept[0]["reply"]) == 8
        for kind in KINDS:
            before, now = (sorted(map(str, map(nameless, each[kind]))) for each in kept)
            assert before == now


KINDS = ("request", "reply", "evaluation", "note")


def nameless(event: dict[str, object]) -> dict[str, object]:
    """The event without its key, which holds the model's name."""
    return {name: value for name, value in without_time([event])[0].items() if name != "key"}  # type: ignore[list-item]


def test_what_was_not_asked_is_the_providers_failure(recorded: Run, tmp_path: Path) -> None:
    @dataclass
    class Other:
        name: ClassVar[str] = "other"

        def run(self, task: Task, ctx: Context) -> None:
            ctx.ask("the same question", lane=5)
            ctx.ask("the same question", lane=5)
            ctx.ask("the same question", lane=5)

    again = make_run(tmp_path / "again", names=["Toy/one"], model="replay/recorded")
    end = go(again, ReplayedModel(recorded.path), method=Other())
    assert end.state == "error" and not end.tasks[0].everywhere
    assert "no reply to this request of Toy/one (lane 5, attempt 2), or none left" in str(end.tasks[0].reason)
    assert [event["type"] for event in again.events("Toy/one")].count("reply") == 2
    question = Request((Message("user", "the same question"),), {}, "Toy/absent", 0, 0)
    with pytest.raises(ModelError, match="Toy/absent"):
        ReplayedModel(recorded.path).complete(question)


def test_each_lane_gets_its_own_of_equal_questions(recorded: Run) -> None:
    model = ReplayedModel(recorded.path)
    asked = [event for event in recorded.events("Toy/one") if event["type"] == "request"][-2:]
    question = (Message("user", "the same question"),)
    replies = [
        model.complete(Request(question, {}, "Toy/one", event["lane"], event["attempt"])).text
        for event in reversed(asked)
    ]
    wanted = [Answers().complete(Request(question, {}, "Toy/one", e["lane"], e["attempt"])).text for e in asked]
    assert replies == wanted[::-1]
    other = Request(question, {"temperature": 1}, "Toy/one", 0, 0)
    with pytest.raises(ModelError):
        model.complete(other)


def test_a_run_without_replies_is_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "experiments" / "runs" / "empty")
    with pytest.raises(UserError, match="holds no reply"):
        load_model("replay/empty", seed=0)
    with pytest.raises(UserError, match=r"unknown run 'emty'.*did you mean 'empty'"):
        load_model("replay/emty", seed=0)
