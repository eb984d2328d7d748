"""`python -m experiments matrix`: cells as ordinary runs, going on without asking twice, one budget, mistakes."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from loop_fakes import Verdicts, verdict
from rich.console import Console

from agents.flags import KEYS
from agents.log import LogWriter, sha_of
from agents.models.apprentice import Apprentice
from agents.models.retrying import Refused
from agents.protocol import Reply, Request
from agents.replay import replay_run
from agents.runfolder import Run, open_run
from evaluator.records import Evaluation
from experiments.__main__ import main
from experiments.cells import cells_of
from experiments.matrix_config import MatrixConfig
from experiments.matrix_file import read_matrix
from experiments.matrix_screen import MatrixScreen
from tasks.task import Task

METHODS = 'methods = ["oneshot", {name = "geak", options = {candidates = 2}}]\n'
REST = 'models = ["offline/apprentice"]\nseeds = [0, 1]\ntasks = ["softmax", "relu"]\n[run]\nrounds = 2\nworkers = 2\n'
CELLS = ["oneshot-offline-apprentice-0", "geak-offline-apprentice-0", "oneshot-offline-apprentice-1"]
CELLS += ["geak-offline-apprentice-1"]
NOTICE = "SIMULATION: offline/apprentice; no language model is called. Nothing here is a finding."


class Fake(Verdicts):
    """Takes the place of the evaluator; counts how many were made, and keeps their secrets."""

    secrets: list[bytes]

    def __init__(self, **asked: Any) -> None:
        super().__init__()
        Fake.secrets.append(asked["secret"])

    def evaluate(self, task: Task, source: str) -> Evaluation:
        return verdict(task.id, source, int(sha_of(source), 16) % 3 == 0)


class Asked:
    """Counts what the apprentice is asked, by seed, task, lane and attempt."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.lock = threading.Lock()
        self.real = Apprentice.complete
        self.interrupt_at: int | None = None
        monkeypatch.setattr(Apprentice, "complete", lambda model, request: self.complete(model, request))

    def complete(self, model: Apprentice, request: Request) -> Reply:
        with self.lock:
            self.count += 1
            if self.count == self.interrupt_at:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1)  # until the main thread has heard of it: the fakes would be through by then
        return self.real(model, request)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in (*KEYS, "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("evaluator.judge.Evaluator", Fake)
    Fake.secrets = []
    (tmp_path / "m.toml").write_text(METHODS + REST)
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


def go(*more: str) -> int:
    return main(["matrix", "m.toml", "--out", "m", *more])


def write(*, budget: str = "", methods: str = METHODS, rest: str = REST) -> None:
    Path("m.toml").write_text(methods + rest + (f"[budget]\n{budget}\n" if budget else ""))


def record() -> dict[str, Any]:
    return dict(json.loads(Path("m/matrix.json").read_text()))


def runs() -> list[Run]:
    return [open_run(path.parent) for path in sorted(Path("m").glob("*/run.json"))]


def paid() -> Counter[tuple[str, str, str, int]]:
    """How often each question has a reply in the logs of each cell."""
    return Counter(
        (run.path.name, task, event["key"], event["n"])
        for run in runs()
        for task in run.tasks
        for event in run.events(task)
        if event["type"] == "reply"
    )


def test_a_matrix_is_a_folder_of_ordinary_runs(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert go() == 0
    out = capsys.readouterr().out
    assert out.startswith(NOTICE) and out.count(NOTICE) == 2
    assert "cells 4 of 4 · tasks 8 of 8" in out and "time left ?" in out and "cost -" in out
    assert "report m --out" in out
    saved = record()
    assert (saved["state"], [cell["name"] for cell in saved["cells"]]) == ("done", CELLS)
    assert {cell["state"] for cell in saved["cells"]} == {"done"}
    assert MatrixConfig.from_json(saved["config"]) == read_matrix(Path("m.toml"))
    cells = cells_of(["m"])
    assert sorted(cell.run.path.name for cell in cells) == sorted(CELLS)
    assert {(cell.method, cell.seed) for cell in cells} == {(m, s) for m in ("oneshot", "geak") for s in (0, 1)}
    assert all(cell.tasks == ("Math/softmax", "Activation/relu") for cell in cells)
    assert asked.count == sum(paid().values())
    for run in runs():
        assert run.record["state"] == "done"
        assert not any(one.divergences for one in replay_run(run))
    assert main(["table", f"m/{CELLS[1]}"]) == 0


def test_one_evaluator_judges_all_cells_and_its_secret_is_given_away_at_the_end() -> None:
    one_at_a_time = REST.replace("workers = 2", "workers = 1")
    write(budget="max_requests = 6", rest=one_at_a_time)
    assert go() == 1
    assert [run.record["secret"] for run in runs()] == [None] * len(runs())
    assert any(run.record["state"] == "done" for run in runs())
    write(rest=one_at_a_time)
    assert go() == 0
    assert len(Fake.secrets) == 2 and len(set(Fake.secrets)) == 1
    assert {run.record["secret"] for run in runs()} == {Fake.secrets[0].hex()}


@pytest.mark.parametrize("at", [1, 4, 9])
def test_interrupted_it_goes_on_and_asks_nothing_twice(
    at: int, asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.interrupt_at = at
    assert go() == 130
    out = capsys.readouterr().out
    assert "stopping: what was asked for is awaited" in out
    assert "go on with: python -m experiments matrix --resume m\n" in out
    assert record()["state"] == "stopped"
    begun = sum(paid().values())
    assert asked.count == begun
    assert main(["matrix", "--resume", "m"]) == 0
    assert all(count == 1 for count in paid().values())
    assert asked.count == sum(paid().values()) > begun
    assert (record()["state"], len(record()["resumed"])) == ("done", 1)
    assert not any(one.divergences for run in runs() for one in replay_run(run))
    before = asked.count
    assert go() == 0, "said again, a done one shows its table"
    assert (asked.count, len(Fake.secrets)) == (before, 2)


def test_killed_it_ends_as_if_it_had_not_been(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    real, written = LogWriter.write, 0

    def write(log: LogWriter, event: Any, *, durable: bool = False) -> None:
        nonlocal written
        written += 1
        if written > 40:
            raise Killed
        real(log, event, durable=durable)

    with monkeypatch.context() as patch:
        patch.setattr(LogWriter, "write", write)
        with pytest.raises(Killed):
            go()
    assert record()["state"] == "running"
    assert go() == 0
    assert all(count == 1 for count in paid().values())
    whole = {run.path.name: [run.candidates(task) for task in run.tasks] for run in runs()}
    assert main(["matrix", "m.toml", "--out", "m2"]) == 0
    again = {path.parent.name: open_run(path.parent) for path in Path("m2").glob("*/run.json")}
    assert {name: [run.candidates(task) for task in run.tasks] for name, run in again.items()} == whole


def test_a_cell_goes_on_by_itself_too(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    from agents.run import main as run_main

    write(budget="max_requests = 3")
    assert go() == 1
    name = next(run.path.name for run in runs() if run.record["state"] != "done")
    assert run_main(["--resume", f"m/{name}"]) == 0
    write()
    assert go() == 0
    assert all(count == 1 for count in paid().values())


def test_the_budget_is_one_for_all_cells_and_all_sessions(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    write(budget="max_requests = 5")
    assert go() == 1
    out = capsys.readouterr().out
    assert "stopped by the budget: --max-requests 5: 5 were used; give a higher one in [budget]" in out
    assert "matrix m.toml --out m" in out
    assert asked.count == sum(paid().values()) == 5
    assert [cell["state"] for cell in record()["cells"]][-1] == "not begun"
    assert [CELLS[-1], "not", "begun", *"-------"] in [line.split() for line in out.splitlines()]
    Path("m", CELLS[-1]).mkdir()
    Path("m", CELLS[-1], "secret").write_text("left of a run that a kill kept from being made")
    assert go() == 1
    assert asked.count == 5, "what was spent before counts"
    write(budget="max_requests = 7")
    assert go() == 1
    assert asked.count == 7
    assert "changed: max_requests 5 -> 7" in capsys.readouterr().out
    write()
    assert go() == 0
    assert asked.count == sum(paid().values())


@pytest.mark.parametrize(
    ("methods", "old", "new", "said"),
    [
        (METHODS, "seeds = [0, 1]", "seeds = [0, 1, 2]", "seeds +2"),
        (METHODS, ', "relu"', "", "tasks -Activation/relu"),
        (METHODS, "rounds = 2", "rounds = 3", "rounds 2 -> 3"),
        (METHODS.replace("= 2", "= 3"), "", "", "methods +"),
    ],
)
def test_a_changed_config_is_refused_in_one_line(
    methods: str, old: str, new: str, said: str, asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert go() == 0
    before = asked.count
    capsys.readouterr()
    write(methods=methods, rest=REST.replace(old, new))
    assert go() == 2
    err = capsys.readouterr().err
    assert said in err and "begun with other settings" in err and err.count("\n") == 1
    assert asked.count == before
    write(rest=REST.replace("workers = 2", "workers = 1"))
    assert go() == 0, "how many at a time may change"


def test_a_provider_that_refuses_ends_its_cells_and_no_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(self: Any, request: Request) -> Reply:
        raise Refused("the key was refused")

    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    monkeypatch.setattr("agents.models.openai_client.OpenAIClient.complete", refuse)
    write(rest=REST.replace('["offline', '["openai/x", "offline'))
    assert go() == 1
    out = capsys.readouterr().out
    assert "oneshot-openai-x-0 stops here, the other cells go on: model: the key was refused" in out
    assert out.startswith(NOTICE + "\n"), "of the simulated ones only"
    states = {cell["name"]: cell["state"] for cell in record()["cells"]}
    assert {state for name, state in states.items() if "apprentice" in name} == {"done"}
    assert {state for name, state in states.items() if "openai" in name} == {"error"}
    assert record()["state"] == "error"


def test_labels_tell_variants_of_a_method_apart() -> None:
    two = '{name = "geak", label = "wide", options = {candidates = 4}}'
    write(methods=f'methods = ["geak", {two}]\n', rest=REST.replace("[0, 1]", "[7]"))
    assert go() == 0
    names = ["geak-offline-apprentice-7", "wide-offline-apprentice-7"]
    assert [cell["name"] for cell in record()["cells"]] == names
    found = {run.path.name: run for run in runs()}
    assert [found[name].record["label"] for name in names] == ["geak", "wide"]
    assert found[names[1]].config.method_options == {"candidates": 4}
    assert {cell.label for cell in cells_of(["m"])} == {"geak", "wide"}


def test_names_of_cells_are_safe_and_unique(place: Path) -> None:
    models = 'models = ["openai/a.b", {name = "openai/a b", base_url = "http://h/v1", price = [1, 2]}]\n'
    write(methods='methods = ["oneshot"]\n', rest=models)
    config = read_matrix(Path("m.toml"))
    assert [cell.name for cell in config.cells] == ["oneshot-openai-a.b-0", "oneshot-openai-a-b-0"]
    write(methods='methods = ["oneshot"]\n', rest=models.replace("a.b", "a-b"))
    config = read_matrix(Path("m.toml"))
    assert [cell.name for cell in config.cells] == ["oneshot-openai-a-b-0", "oneshot-openai-a-b-0_2"]
    assert [cell.config.base_url for cell in config.cells] == [None, "http://h/v1"]
    assert [cell.config.price for cell in config.cells] == [None, (1.0, 2.0)]
    assert MatrixConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("methods = [", "is no TOML file"),
        (REST, "methods is missing"),
        ('methods = []\nmodels = ["x"]', "methods is empty"),
        ('methods = ["oneshot"]', "models is missing"),
        (METHODS.replace("geak", "geek") + REST, "did you mean 'geak'"),
        (METHODS.replace("candidates", "candidate") + REST, "did you mean 'candidates'"),
        (METHODS.replace("options", "option") + REST, "did you mean 'options'"),
        ('methods = ["geak", "geak"]\n' + REST, "two are called geak"),
        ("methods = [3]\n" + REST, "entry of methods"),
        ("seed = [1]\n" + METHODS + REST, "did you mean 'seeds'"),
        (METHODS + REST.replace("[0, 1]", "[1, 1]"), "each once"),
        (METHODS + REST.replace("[0, 1]", "[true]"), "seeds must be int"),
        (METHODS + REST.replace("softmax", "softmaxx"), "did you mean 'Math/softmax'"),
        (METHODS + REST.replace("relu", "softmax"), "softmax stands there twice"),
        (METHODS + REST.replace("apprentice", "aprentice"), "did you mean 'offline/apprentice'"),
        (METHODS + REST.replace("offline/apprentice", "openai/x"), "OPENAI_API_KEY"),
        (METHODS + REST + "round = 3", "did you mean 'rounds'"),
        (METHODS + REST + "seed = 3", "the list seeds"),
        (METHODS + REST + "max_usd = 3", "[budget]"),
        (METHODS + REST + "[budget]\nmax_dollars = 3", "unknown budget 'max_dollars'"),
        (METHODS + REST + "[budget]\nmax_requests = 1.5", "[budget] max_requests must be int"),
        (METHODS + REST + "[budget]\nmax_usd = 0", "must be more than 0"),
        (METHODS + REST.replace("rounds = 2", "rounds = 0"), "at least 1"),
        (METHODS + REST.replace("[run]", "[run]\ntemperature = 3"), "unknown setting in [run]"),
    ],
)
def test_a_mistake_is_one_line_and_spends_nothing(
    text: str, said: str, asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("m.toml").write_text(text)
    assert go() == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") and err.count("\n") == 1 and said in err
    assert (asked.count, Path("m").exists()) == (0, False)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], "name either a matrix file"),
        (["m.toml", "--resume", "m"], "name either a matrix file"),
        (["absent.toml"], "can't read the matrix file"),
        (["--resume", "absent"], "no matrix folder 'absent'"),
        (["--resume", "full"], "no matrix in full"),
        (["m.toml", "--out", "full"], "full is not empty, and holds no matrix"),
    ],
)
def test_a_wrong_place_is_one_line(flags: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("full").mkdir()
    Path("full/something").write_text("")
    assert main(["matrix", *flags]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_a_budget_of_dollars_needs_every_price(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk")
    server = '{name = "openai/x", base_url = "http://h/v1"}'
    write(rest=REST.replace('["offline', f'[{server}, "offline'), budget="max_usd = 1")
    assert go() == 2
    assert "what openai/x costs" in capsys.readouterr().err


def test_a_dry_run_shows_cells_and_the_most_requests(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert go("--dry-run") == 0
    out = capsys.readouterr().out
    assert all(name in out for name in CELLS)
    assert "4 cells of 2 tasks: at most 20 requests" in out, "2 x 2 of one shot, 2 x 8 of geak"
    assert (asked.count, Path("m").exists(), Fake.secrets) == (0, False, [])


def test_the_default_folder_is_named_by_time_and_name(place: Path) -> None:
    assert main(["matrix", "m.toml"]) == 0
    (folder,) = (place / "experiments/runs").iterdir()
    assert folder.name.endswith("-m")
    assert main(["matrix", "--resume", folder.name]) == 0
    assert len(cells_of([folder.name])) == 4


def test_time_left_is_unknown_until_each_method_has_a_pace() -> None:
    cells = read_matrix(Path("m.toml")).cells
    text = io.StringIO()
    screen = MatrixScreen(cells, ["a", "b"], set(CELLS), 2, Console(file=text, force_terminal=True, width=200))
    end = {"type": "task_end", "state": "done", "reason": None}
    for cell in CELLS[:2]:
        assert "time left ?" in screen.summary()
        screen.observe(cell, "a", end)
        screen.timed(cell, 20.0)
    assert "tasks 2 of 8" in screen.summary() and "time left 60 s" in screen.summary(), "6 of 20 s, two at a time"
    with screen:
        screen.observe(CELLS[0], "b", {"type": "task_end", "state": "error", "reason": "the machine broke"})
    shown = text.getvalue()
    assert f"{CELLS[0]} b: the machine broke" in shown and f"{CELLS[1]}: 1 of 2 done, 0 correct" in shown


def test_cost_is_unknown_when_one_reply_has_none() -> None:
    cells = read_matrix(Path("m.toml")).cells
    screen = MatrixScreen(cells, ["a"], set(), 2, Console(file=io.StringIO()))
    assert "cost -" in screen.summary()
    screen.take(CELLS[0], "a", {"type": "reply", "usage": {"usd": 0.25}})
    assert "cost $0.2500" in screen.summary()
    screen.take(CELLS[1], "a", {"type": "reply", "usage": {"usd": None}})
    assert "cost ?" in screen.summary()


def test_a_line_never_waits_for_the_progress_that_waits_for_it() -> None:
    cells = read_matrix(Path("m.toml")).cells
    screen = MatrixScreen(cells, ["a"], set(), 2, Console(file=io.StringIO(), force_terminal=True))
    broke = {"type": "task_end", "state": "error", "reason": "the machine broke"}
    with screen:
        live = screen._live
        assert live
        with live._lock:  # as while rich draws
            writer = threading.Thread(target=screen.observe, args=(CELLS[0], "a", broke), daemon=True)
            writer.start()
            while not screen._seen[CELLS[0]]["a"].begun:
                pass
            drawing = threading.Thread(target=screen.summary, daemon=True)
            drawing.start()
            drawing.join(30)
            assert not drawing.is_alive()
        writer.join(30)
