"""Logs that older versions wrote: they read, replay and go on as if this version had written them.

`data/logs/` holds one task of `Pair` three times, each made by the code of its time: `schema1.jsonl` with an evaluation
that the machine failed and a resumed session; `schema2.jsonl` undisturbed; `schema1_then_2.jsonl` killed under schema 1
and resumed under schema 2. A later schema adds a file; these never change.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from loop_fakes import Plain, go, make_run, toy

from agents.accounts import account_of
from agents.context import key_of
from agents.journal import settled
from agents.log import Event, read_task, texts_of
from agents.protocol import Ask, Context, Reply, Request, Submission
from agents.replay import replay_task
from agents.runfolder import Run
from agents.upgrades import SCHEMA, UPGRADES, upgraded
from agents.verdicts import verdict_of
from evaluator.records import Evaluation
from tasks.task import Task

LOGS = Path(__file__).parent / "data" / "logs"
NAMES = ("schema1", "schema2", "schema1_then_2")
WHOLE = read_task(LOGS / "schema2.jsonl")
TASK = "Toy/one"


@dataclass
class Pair:
    """The method of the golden logs: two lanes, which draw, are told their diagnosis, and have parents."""

    name: ClassVar[str] = "lanes"

    def run(self, task: Task, ctx: Context) -> None:
        told = ["", ""]
        for round_ in ctx.rounds():
            head = f"Round {round_.number} of {task.id}, drawn {ctx.rng.randint(0, 99)}."
            replies = ctx.ask_many([Ask(f"{head} {told[lane]}", lane, {"temperature": 0.5}) for lane in (0, 1)])
            parents = tuple(one.index for one in ctx.candidates[-2:])
            judged = ctx.evaluate_many([Submission(reply.code, lane, parents) for lane, reply in enumerate(replies)])
            told = [one.evaluation.diagnosis for one in judged]
            ctx.note(best=ctx.best.index if ctx.best else None)


class Recorded:
    """Answers and judges what the golden logs have, which is always the same; keeps what it was asked."""

    name, simulated = "tests/golden", True

    def __init__(self) -> None:
        texts = texts_of(WHOLE)
        self.texts = {event["key"]: [] for event in WHOLE if event["type"] == "reply"}
        for event in sorted((e for e in WHOLE if e["type"] == "reply"), key=lambda e: e["n"]):
            self.texts[event["key"]].append(texts[event["text"]])
        self.verdicts = {texts[e["source"]]: verdict_of(TASK, e) for e in WHOLE if e["type"] == "evaluation"}
        self.asked: list[str] = []

    def complete(self, request: Request) -> Reply:
        key = key_of(self.name, request)
        self.asked.append(key)
        # of two lanes that ask the same at once, the first gets the first answer
        return Reply(self.texts[key][request.lane if len(self.texts[key]) > 1 else 0], None, "stop")

    def evaluate(self, task: Task, source: str) -> Evaluation:
        self.asked.append(source)
        return self.verdicts[source]


def raw(name: str) -> list[Event]:
    return [json.loads(line) for line in (LOGS / f"{name}.jsonl").read_text().splitlines()]


def run_with(folder: Path, log: bytes) -> Run:
    run = make_run(folder, names=(TASK,), rounds=3, model=Recorded.name)
    run.log_path(TASK).parent.mkdir()
    run.log_path(TASK).write_bytes(log)
    return run


def golden(folder: Path, name: str) -> Run:
    return run_with(folder, (LOGS / f"{name}.jsonl").read_bytes())


def test_the_golden_logs_are_of_their_schemas() -> None:
    assert {name: raw(name)[0]["schema"] for name in NAMES} == {"schema1": 1, "schema2": 2, "schema1_then_2": 1}
    assert [event.get("schema") for name in NAMES for event in raw(name) if event["type"] == "resume"] == [None, 2]
    kept = [["task" in e["evaluation"] for e in raw(name) if e["type"] == "evaluation"] for name in NAMES]
    assert all(kept[0]) and not any(kept[1])
    assert any(kept[2]) and not all(kept[2]), "one log of both kinds"
    assert "infra_error" in (LOGS / "schema1.jsonl").read_text()
    assert any(event["type"] == "reply" and event["n"] == 1 for event in WHOLE), "the same question, asked twice"


def as_read(events: list[Event]) -> dict[Any, Any]:
    """What a log says in the end, with verdicts as their readers see them: a field that an older one lacks is empty."""
    return {
        name: verdict_of(TASK, event) if event["type"] == "evaluation" else event
        for name, event in settled(events).items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_version_settles_to_the_same_events(name: str, tmp_path: Path) -> None:
    assert settled(read_task(LOGS / f"{name}.jsonl")) == settled(WHOLE)
    run, whole = golden(tmp_path / "one", name), golden(tmp_path / "two", "schema2")
    assert run.state(TASK) == "done"
    assert run.candidates(TASK) == whole.candidates(TASK)
    assert account_of(run) == account_of(whole)


@pytest.mark.parametrize("name", NAMES)
def test_every_version_replays(name: str, tmp_path: Path) -> None:
    found = replay_task(golden(tmp_path / "r", name), toy(TASK), Pair(), Plain())
    assert found.complete and found.divergences == ()
    kinds = [event["type"] for event in settled(WHOLE).values()]
    assert found.events == sum(kind not in ("text", "task_end") for kind in kinds)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_any_version_that_broke_off_anywhere_is_gone_on_with(name: str, tmp_path: Path) -> None:
    lines = (LOGS / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    for whole_lines in range(len(lines)):
        torn = lines[whole_lines][: len(lines[whole_lines]) // 2]
        run, answers = run_with(tmp_path / f"r{whole_lines}", b"".join([*lines[:whole_lines], torn])), Recorded()
        had = Counter(event["type"] for event in settled(run.events(TASK)).values())
        assert go(run, answers, answers, Pair()).state == "done"
        assert len(answers.asked) == 12 - had["reply"] - had["evaluation"], "what is recorded is not asked for again"
        assert run.log_path(TASK).read_bytes().startswith(b"".join(lines[:whole_lines])), "nothing is rewritten"
        assert as_read(run.events(TASK)) == as_read(WHOLE)
        found = replay_task(run, toy(TASK), Pair(), Plain())
        assert found.complete and found.divergences == ()


@pytest.mark.parametrize("name", NAMES)
def test_upgrades_change_nothing_in_place_and_nothing_of_today(name: str) -> None:
    events = raw(name)
    before = copy.deepcopy(events)
    now = upgraded(events)
    assert events == before
    assert upgraded(now) == now
    assert {event["schema"] for event in now if "schema" in event} == {SCHEMA}
    for step in UPGRADES.values():
        for event in events:
            step(event)
    assert events == before


def test_todays_events_are_taken_as_they_are() -> None:
    assert SCHEMA != 2 or upgraded(raw("schema2")) == raw("schema2")
