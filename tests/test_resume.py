"""Resume and replay: a run that is killed anywhere ends like one that was not, and its log reproduces."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from loop_fakes import NAMES, Answers, Lanes, Plain, Verdicts, go, infra, make_run, toy, verdict, without_time

from agents.journal import MOST_DIFF_LINES, settled
from agents.log import Event, LogWriter
from agents.protocol import Context, Reply, Request
from agents.replay import Replayed, replay_task
from agents.runfolder import Run, open_run
from evaluator.records import Evaluation
from tasks.task import Task

ROOT = Path(__file__).resolve().parent.parent
IN_ORDER = ("task_start", "round", "request", "note", "task_end")


class Killed(BaseException):
    """The process is gone."""


class Kill:
    """Ends all writing at the `at`-th event of a run: before it, or with `torn` in the middle of its line."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, torn: bool) -> None:
        self.written, self.at, self.torn = 0, at, torn
        self.lock = threading.Lock()
        self.real = LogWriter.write
        kill = self

        def write(log: LogWriter, event: Event, *, durable: bool = False) -> None:
            kill.write(log, event, durable)

        monkeypatch.setattr(LogWriter, "write", write)

    def write(self, log: LogWriter, event: Event, durable: bool) -> None:
        with self.lock:
            self.written += 1
            if self.written == self.at and self.torn:
                os.write(log._file, json.dumps(event).encode()[:-3])
            if self.written >= self.at:
                raise Killed
            self.real(log, event, durable=durable)


def story(run: Run, task: str) -> tuple[dict[Any, Event], list[Event]]:
    """What a log says in the end: its settled events, and those of the method's own thread in their order."""
    kept = settled(run.events(task))
    return kept, [event for event in kept.values() if event["type"] in IN_ORDER]


def replayed(run: Run, method: Any = None) -> list[Replayed]:
    return [replay_task(run, toy(task), method or Lanes(), Plain()) for task in run.tasks if run.events(task)]


def paid(run: Run) -> Counter[tuple[str, str, int]]:
    return Counter(
        (task, event["key"], event["n"]) for task in run.tasks for event in run.events(task) if event["type"] == "reply"
    )


@pytest.fixture
def whole(tmp_path: Path) -> Run:
    run = make_run(tmp_path / "whole", workers=1)
    assert go(run).state == "done"
    return run


@pytest.mark.parametrize("torn", [False, True])
def test_killed_at_any_event_it_resumes_to_the_same_log(
    tmp_path: Path, whole: Run, torn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(1, len(whole.events("Toy/one")) + 1):
        run = make_run(tmp_path / f"killed{at}", names=NAMES[:1], workers=1)
        before, after = Answers(), Answers()
        with monkeypatch.context() as patch:
            Kill(patch, at, torn)
            with pytest.raises(Killed):
                go(run, before)
        had = sum(paid(run).values())
        assert go(run, after).state == "done"
        assert all(count == 1 for count in paid(run).values())
        assert len(after.calls) == len(paid(run)) - had, "no recorded reply is asked for again"
        assert story(run, "Toy/one") == story(whole, "Toy/one")
        assert not any(one.divergences for one in replayed(run))


def test_killed_again_and_again_it_still_ends_the_same(
    tmp_path: Path, whole: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(3)
    run, kills = make_run(tmp_path / "often", workers=2), 0
    while True:
        with monkeypatch.context() as patch:
            Kill(patch, chance.randint(2, 12), chance.random() < 0.5)
            try:
                end = go(run)
            except Killed:
                kills += 1
                continue
        break
    assert kills > 3
    assert end.state == "done"
    assert all(count == 1 for count in paid(run).values())
    for task in NAMES:
        assert story(run, task) == story(whole, task)
    assert not any(one.divergences for one in replayed(run))


def test_a_done_run_is_left_alone(whole: Run) -> None:
    before = {task: whole.log_path(task).read_bytes() for task in NAMES}
    model, evaluator = Answers(), Verdicts()
    assert go(whole, model, evaluator).state == "done"
    assert (model.calls, evaluator.sources) == ([], [])
    assert before == {task: whole.log_path(task).read_bytes() for task in NAMES}


def test_recorded_verdicts_are_not_reached_again_but_failures_of_the_machine_are(tmp_path: Path) -> None:
    class OnceBroken(Verdicts):
        def evaluate(self, task: Task, source: str) -> Evaluation:
            super().evaluate(task, source)
            return infra(task.id, source) if len(self.sources) == 2 else verdict(task.id, source, True)

    run = make_run(tmp_path / "r", names=NAMES[:1], workers=1)
    assert go(run, evaluator=OnceBroken()).state == "error"
    judged = [one.source for one in run.candidates("Toy/one") if one.evaluation.status != "infra_error"]
    after = Verdicts()
    assert go(run, evaluator=after).state == "done"
    assert not set(judged) & set(after.sources)
    assert not any(one.divergences for one in replayed(run))


def test_replay_calls_nobody_and_counts_what_it_compared(whole: Run) -> None:
    found = replayed(whole)
    assert [one.complete for one in found] == [True, True]
    assert not any(one.divergences for one in found)
    for one in found:
        kinds = [event["type"] for event in settled(whole.events(one.task)).values()]
        assert one.events == sum(kind not in ("text", "task_end") for kind in kinds)


def test_a_changed_method_diverges_with_both_keys_and_pays_nothing(tmp_path: Path, whole: Run) -> None:
    @dataclass
    class Changed(Lanes):
        def run(self, task: Task, ctx: Context) -> None:
            ctx.ask("something else")

    found = replayed(whole, Changed())[0]
    recorded = next(event for event in whole.events("Toy/one") if event["type"] == "round")
    assert recorded["number"] == 1
    first = str(found.divergences[0])
    asked = next(event for event in whole.events("Toy/one") if event["type"] == "request")
    assert asked["key"][:12] in first
    assert "comes to request 0 (key " in first
    never = [str(divergence) for divergence in found.divergences if divergence.done is None]
    assert len(never) > 5 and all("never comes to it" in line for line in never)


def test_resuming_with_a_changed_method_stops_before_it_pays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path / "r", names=NAMES[:1], workers=1)
    with monkeypatch.context() as patch:
        Kill(patch, 16, False)
        with pytest.raises(Killed):
            go(run)
    events = without_time(run.events("Toy/one"))
    model = Answers()
    end = go(run, model, method=Lanes(lanes=2))
    assert end.state == "error"
    assert "the log has" in str(end.tasks[0].reason)
    assert "\n" not in str(end.tasks[0].reason)
    divergence = end.tasks[0].divergence
    assert divergence and "+++ now" in divergence.diff and len(divergence.diff.splitlines()) <= MOST_DIFF_LINES
    assert model.calls == []
    assert without_time(run.events("Toy/one"))[: len(events)] == events
    assert go(run).state == "done", "the method as it was goes on"


def test_a_method_that_now_does_more_or_fails_diverges(whole: Run) -> None:
    @dataclass
    class More(Lanes):
        def run(self, task: Task, ctx: Context) -> None:
            super().run(task, ctx)
            ctx.ask("one more")

    @dataclass
    class Raising(Lanes):
        def run(self, task: Task, ctx: Context) -> None:
            super().run(task, ctx)
            raise RuntimeError("new")

    more = replayed(whole, More())[0].divergences
    assert "nothing more" in str(more[0]) and "key " in str(more[0])
    assert "RuntimeError: new" in str(replayed(whole, Raising())[0].divergences[0])


def test_edited_prompts_diverge_at_the_first_request(whole: Run) -> None:
    class Edited(Plain):
        def render(self, name: str, **variables: Any) -> str:
            return "Please. " + super().render(name, **variables)

    found = replay_task(whole, toy("Toy/one"), Lanes(), Edited()).divergences[0]
    assert str(found.recorded).startswith("request 0 (key ")
    assert str(found.done).startswith("request 0 (key ")
    assert found.recorded != found.done
    lines = found.diff.splitlines()
    assert lines[:2] == ["--- recorded", "+++ now"]
    was, now = (next(line for line in lines[2:] if line.startswith(sign)) for sign in "-+")
    assert now[1:] == "Please. " + was[1:]
    assert " round 1, lane 0, attempt 0" in lines


def test_an_unfinished_log_reproduces_as_far_as_it_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(2, 40, 3):
        run = make_run(tmp_path / f"r{at}", workers=1)
        with monkeypatch.context() as patch:
            Kill(patch, at, False)
            with pytest.raises(Killed):
                go(run)
        for one in replayed(run):
            assert one.divergences == (), at
        assert not all(one.complete for one in replayed(run)) or len(replayed(run)) < 2


def test_a_verdict_altered_in_the_log_shows(whole: Run) -> None:
    path = whole.log_path("Toy/one")
    lines = path.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if '"evaluation"' in line and "differ in" in line)
    lines[place] = lines[place].replace("differ in", "are wrong in")
    path.write_text("\n".join(lines) + "\n")
    divergences = replayed(whole)[0].divergences
    assert divergences and "request" in str(divergences[0])


CHILD = """
import sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from loop_fakes import Answers, Verdicts, go
from agents.runfolder import open_run
import agents.context

agents.context.case_lines = lambda task: []  # they would import torch, for seconds, each time

class Paid(Answers):
    def complete(self, request):
        time.sleep(0.004)
        with open(sys.argv[2], "a") as file:
            file.write(f"{{request.task}} {{request.lane}} {{request.attempt}}\\n")
        return super().complete(request)

class Slow(Verdicts):
    def evaluate(self, task, source):
        time.sleep(0.004)
        return super().evaluate(task, source)

print("begun", flush=True)
end = go(open_run(Path(sys.argv[1])), Paid(), Slow())
print(end.state, flush=True)
"""


def size_of(run: Run) -> int:
    return sum(path.stat().st_size for path in run.path.rglob("*.jsonl"))


def test_a_real_process_killed_at_random_moments_ends_the_same(tmp_path: Path) -> None:
    reference = make_run(tmp_path / "reference", rounds=4)
    assert go(reference).state == "done"
    run = make_run(tmp_path / "killed", rounds=4)
    script, bill = tmp_path / "child.py", tmp_path / "bill"
    script.write_text(CHILD.format(tests=str(ROOT / "tests")))
    chance, kills, state = random.Random(8), 0, ""
    for _ in range(60):
        child = subprocess.Popen(
            [sys.executable, str(script), str(run.path), str(bill)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert child.stdout and child.stdout.readline() == "begun\n"
        enough = size_of(run) + chance.randint(1, 12_000)
        while size_of(run) < enough and child.poll() is None:
            time.sleep(0.001)
        child.send_signal(signal.SIGKILL)
        child.wait()
        kills += child.returncode == -signal.SIGKILL
        state = child.stdout.readline().strip()
        child.stdout.close()
        if state:
            break
    assert state == "done"
    assert kills > 2
    again = open_run(run.path)
    for task in NAMES:
        assert story(again, task) == story(reference, task)
    assert all(count == 1 for count in paid(again).values())
    # a request may be paid twice only when the process was killed before its reply was on the disk: 3 in flight a task
    twice = Counter(bill.read_text().splitlines())
    assert sum(count - 1 for count in twice.values()) <= kills * 3 * len(NAMES)
    assert not any(one.divergences for one in replayed(again))


def test_the_same_question_gets_its_own_recorded_answer_each_time(tmp_path: Path) -> None:
    class Numbering(Answers):
        def complete(self, request: Request) -> Reply:
            super().complete(request)
            return Reply(f"answer {request.attempt}", None)

    @dataclass
    class Asking(Lanes):
        def run(self, task: Task, ctx: Context) -> None:
            texts = [ctx.ask("same").text for _ in range(3)]
            ctx.note(texts=texts)

    run = make_run(tmp_path / "r", names=NAMES[:1])
    assert go(run, Numbering(), method=Asking()).state == "done"
    note = next(event for event in run.events("Toy/one") if event["type"] == "note")
    assert note["data"]["texts"] == ["answer 0", "answer 1", "answer 2"]
    assert replayed(run, Asking())[0].divergences == ()
