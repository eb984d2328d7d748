"""Exports of a run that the real loop recorded, and of an import: what other programs get is what the log has."""

from __future__ import annotations

import csv
import io
import json
import resource
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loop_fakes import Verdicts, go, make_run, verdict

from agents.accounts import account_of
from agents.imports import Foreign, Import, import_run
from agents.log import LogWriter, sha_of
from agents.newrun import amend, create_run
from agents.runfolder import Run, open_run
from agents.tracker import State
from agents.verdicts import Recorded, logged_verdict
from evaluator.records import Evaluation
from experiments.export import CANDIDATE_COLUMNS, ROUND_COLUMNS, export
from tasks.errors import UserError
from tasks.task import Task

TASKS = ("Math/softmax", "Activation/gelu_bf16", "Math/log1p")
SPEEDUP = 0.1 + 0.2  # needs all its 17 digits
ODD = "import triton\nmark = 'lone \ud800, \u2028, \r\n \x00'\n"


class Measured(Verdicts):
    """Right verdicts have a speedup; every source of Math/log1p is wrong, in words that a spreadsheet would compute."""

    def evaluate(self, task: Task, source: str) -> Evaluation:
        said = super().evaluate(task, source)
        if task.id == "Math/log1p":
            return replace(verdict(task.id, source, False), diagnosis="=1+1\nand more")
        return replace(said, speedup=SPEEDUP) if said.correct else said


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = make_run(tmp_path_factory.mktemp("runs") / "ours", names=TASKS)
    assert go(made, evaluator=Measured()).state == "done"
    return open_run(made.path)


@pytest.fixture
def imported(tmp_path: Path) -> Run:
    """One source that both judged, three that the origin judged only, one of nobody's."""
    sources = [
        Foreign("Math/softmax", "mark = 0\n", recorded=Recorded(compiled=True, called=True, correct=False)),
        Foreign("Math/softmax", ODD, round=2, recorded=Recorded(True, True, True, speedup=1.5)),
        Foreign("Math/log1p", "mark = 2\n", recorded=Recorded(correct=True, speedup=float("nan"))),
        Foreign("Math/log1p", "mark = 4\n", round=2, recorded=Recorded(called=True)),
        Foreign("Activation/gelu_bf16", "mark = 3\n"),
    ]
    made, _ = import_run(tmp_path / "theirs", Import(sources, "their/model", {"reader": "test"}))
    with closing(LogWriter(made.log_path("Math/softmax"))) as log:
        place = next(event for event in log.events if event["type"] == "imported")
        ours = verdict("Math/softmax", "mark = 0\n", True)
        names = ("index", "n", "round", "lane", "parents", "source")
        log.write({"type": "evaluation", **{name: place[name] for name in names}, "evaluation": logged_verdict(ours)})
    return amend(made, scored={"tasks": ["Math/softmax"]})


def table(run: Run, what: str, out: Path, **options: Any) -> list[dict[str, Any]]:
    assert export(run, what, out, **options) == 0
    if out.suffix == ".json":
        rows: list[dict[str, Any]] = json.loads(out.read_text())["rows"]
        return rows
    with out.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_candidates_are_the_logs_in_both_formats(run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logged = [one for task in TASKS for one in run.candidates(task)]
    as_json = table(run, "candidates", tmp_path / "c.json")
    as_csv = table(run, "candidates", tmp_path / "c.csv")
    assert len(logged) == len(as_json) == len(as_csv) > 6
    assert tuple(as_json[0]) == CANDIDATE_COLUMNS and tuple(as_csv[0]) == (*CANDIDATE_COLUMNS, "simulated")
    for one, row, cells in zip(logged, as_json, as_csv, strict=True):
        assert (row["task"], row["index"], row["round"], row["lane"]) == (one.task, one.index, one.round, one.lane)
        assert row["category"] == one.task.split("/")[0] and row["source_sha"] == one.source_sha
        assert row["parents"] == list(one.parents) and cells["parents"] == " ".join(map(str, one.parents))
        assert row["status"] == cells["status"] == str(one.evaluation.status)
        assert row["speedup"] == one.evaluation.speedup and cells["correct"] == str(one.correct)
        assert row["launches"] == (1 if one.evaluation.cases else None) and row["recorded_correct"] is None
        assert row["public_right"] is (one.evaluation.cases[0].right if one.evaluation.cases else None)
        assert cells["simulated"] == "True"
    assert {cells["speedup"] for cells in as_csv} == {"", repr(SPEEDUP)}
    assert [row["parents"] for row in as_json[3:6]] == [[0], [1], [2]]
    assert next(row["diagnosis"] for row in as_json if row["task"] == "Math/log1p") == "=1+1"
    assert next(row["diagnosis"] for row in as_csv if row["task"] == "Math/log1p") == "'=1+1"
    about = json.loads((tmp_path / "c.json").read_text())
    assert about["simulated"] is True and "no language model is called" in about["notice"]
    assert capfd.readouterr().err.count(about["notice"]) == 2


def test_rounds_are_the_account(run: Run, tmp_path: Path) -> None:
    rounds = account_of(run).rounds
    rows = table(run, "rounds", tmp_path / "r.json")
    cells = table(run, "rounds", tmp_path / "r.csv")
    assert [(row["round"], row["view"]) for row in rows] == [(1, "own"), (1, "best"), (2, "own"), (2, "best")]
    assert tuple(rows[0]) == ROUND_COLUMNS
    for row, one in zip(rows[1::2], rounds, strict=True):
        assert row["correct_rate"] == one.best.correct_rate and row["slower_than_eager"] == 1.0
        tasks = {s: g.tasks for s, g in one.best.groups.items()}
        if one.number > 1:  # correct, as against rescued and persistent, is a state of the first round
            tasks[State.CORRECT] = None
        assert {state: row[f"{state}_tasks"] for state in State} == tasks
        assert (row["submitted"], row["replies"]) == (one.submitted, one.spending.replies)
        assert row["usd"] is None and row["input_tokens"] is None
    first = rounds[0].best.groups[State.CORRECT]
    assert first.tasks == 2 and first.speedup and first.traffic
    for figure, mean in (("speedup", first.speedup), ("traffic", first.traffic)):
        found = [rows[1][f"correct_{figure}_{name}"] for name in ("n", "geometric", "arithmetic", "low", "high")]
        assert found == [mean.n, mean.geometric, mean.arithmetic, mean.low, mean.high]
    assert rows[1]["rescued_speedup_n"] is None and cells[1]["rescued_speedup_n"] == cells[1]["usd"] == ""
    assert cells[1]["correct_speedup_geometric"] == repr(first.speedup.geometric)


def test_an_imports_table_keeps_the_two_judges_apart(imported: Run, tmp_path: Path) -> None:
    rows = table(imported, "candidates", tmp_path / "c.json")
    said = [(row["task"], row["status"], row["correct"], row["recorded_correct"]) for row in rows]
    assert sorted(said, key=str) == [
        ("Activation/gelu_bf16", None, None, None),
        ("Math/log1p", None, None, None),
        ("Math/log1p", None, None, True),
        ("Math/softmax", "correct", True, False),
        ("Math/softmax", None, None, True),
    ]
    assert {row["recorded_speedup"] for row in rows} == {None, 1.5}  # not NaN, which is no JSON
    assert [row["source_sha"] for row in rows if row["round"] == 2] == [sha_of("mark = 4\n"), sha_of(ODD)]
    ours, theirs = (table(imported, "rounds", tmp_path / f"{r}.json", recorded=r) for r in (False, True))
    assert [(row["tasks"], row["correct_rate"], row["newly_compiling"]) for row in ours] == [(1, 1.0, None)] * 2
    assert {row["tasks"] for row in theirs} == {3} and theirs[3]["newly_compiling"] == 0
    assert [(row["round"], row["view"], row["regressed_tasks"]) for row in theirs] == [
        (1, "own", 0),
        (1, "best", 0),
        (2, "own", 1),
        (2, "best", 0),
    ]
    assert (theirs[0]["recorded"], theirs[0]["replies"], theirs[0]["usd"]) == (True, None, None)
    assert json.loads((tmp_path / "c.json").read_text())["simulated"] is False


def test_predictions_come_back_as_the_same_sources(
    run: Run, imported: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert export(run, "predictions", tmp_path / "p.jsonl", correct_only=True) == 0
    error = capfd.readouterr().err
    assert "left out, of 3 tasks: 1 without a correct one" in error and "no language model is called" in error
    assert export(imported, "predictions", tmp_path / "q.jsonl", recorded=True) == 0
    assert capfd.readouterr().err == "left out, of 3 tasks: 1 without a judged kernel\n"
    ours, theirs = ([json.loads(line) for line in (tmp_path / n).open()] for n in ("p.jsonl", "q.jsonl"))
    assert all(set(line) == {"file", "predict"} for line in theirs) and all(line["simulated"] for line in ours)
    assert {line["file"]: line["predict"] for line in theirs} == {"Math/softmax.py": ODD, "Math/log1p.py": "mark = 2\n"}
    found = [Foreign(line["file"], line["predict"]) for line in (*ours, *theirs)]
    back, _ = import_run(tmp_path / "back", Import(found, "again", {"reader": "test"}))
    sent = {(one.task.removesuffix(".py"), sha_of(one.source or "")) for one in found}
    stored = {(task, event["source"]) for task in back.tasks for event in back.events(task) if "recorded" in event}
    assert stored == sent and len(sent) == 4
    by_sha = {one.source_sha: one for task in TASKS for one in run.candidates(task)}
    assert all(by_sha[sha_of(line["predict"])].correct for line in ours)


def test_the_best_is_the_best_and_empty_code_is_none(tmp_path: Path) -> None:
    made, _ = import_run(
        tmp_path / "run",
        Import(
            [
                Foreign("Math/log1p", "slow = 1\n", recorded=Recorded(correct=True, speedup=1.1)),
                Foreign("Math/log1p", "fast = 1\n", recorded=Recorded(correct=True, speedup=2.5)),
                Foreign("Math/log1p", "wrong = 1\n", recorded=Recorded(called=True)),
                Foreign("Math/softmax", None, recorded=Recorded(compiled=False)),
            ],
            "m",
            {},
        ),
    )
    export(made, "predictions", tmp_path / "p.jsonl", recorded=True)
    assert (tmp_path / "p.jsonl").read_text() == '{"file": "Math/log1p.py", "predict": "fast = 1\\n"}\n'


def test_sources_are_the_correct_ones_byte_for_byte(
    run: Run, imported: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "sources"
    assert export(imported, "sources", out, recorded=True) == 0
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.*")) == ["Math/log1p.py", "Math/softmax.py"]
    assert (out / "Math/softmax.py").read_bytes() == ODD.encode("utf-8", "backslashreplace")
    with pytest.raises(UserError, match="not empty"):
        export(imported, "sources", out)
    (tmp_path / "empty").mkdir()
    assert export(run, "sources", tmp_path / "empty") == 0
    head, source = (tmp_path / "empty/Math/softmax.py").read_text().split("\n", 1)
    assert head == f"# {run.simulation_notice}"
    assert sha_of(source) in {one.source_sha for one in run.candidates("Math/softmax") if one.correct}
    assert not (tmp_path / "empty/Math/log1p.py").exists() and "1 without a correct one" in capfd.readouterr().err


def test_standard_output_is_csv_unless_named(run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    export(run, "rounds", None)
    text = capfd.readouterr().out
    assert len(list(csv.DictReader(io.StringIO(text)))) == 4
    export(run, "rounds", None, fmt="json")
    assert len(json.loads(capfd.readouterr().out)["rows"]) == 4
    export(run, "rounds", tmp_path / "rounds.txt", fmt="csv")
    assert (tmp_path / "rounds.txt").read_text() == text


def test_a_run_that_has_not_begun_has_a_header_and_an_odd_diagnosis_breaks_nothing(tmp_path: Path, run: Run) -> None:
    empty = create_run(tmp_path / "new", run.config, TASKS, secret=b"k", method="lanes", rounds=2, simulated=False)
    assert table(empty, "candidates", tmp_path / "none.csv") == []
    assert (tmp_path / "none.csv").read_text().startswith("task,category,index,")
    source, said = "mark = 1\n", 'said "\ud800",\nno'
    judged = logged_verdict(replace(verdict("Math/log1p", source, False), diagnosis=said))
    with closing(LogWriter(empty.log_path("Math/log1p"))) as log:
        log.write({"type": "task_start", "schema": 2, "task": "Math/log1p", "method": "lanes", "model": "m"})
        log.write({"type": "text", "sha": sha_of(source), "text": source})
        place = {"index": 0, "n": 0, "round": 1, "lane": 0, "parents": [], "source": sha_of(source)}
        log.write({"type": "evaluation", **place, "evaluation": judged})
    assert [row["diagnosis"] for row in table(empty, "candidates", tmp_path / "odd.csv")] == ['said "\\ud800",']
    assert [row["diagnosis"] for row in table(empty, "candidates", tmp_path / "odd.json")] == ['said "\ud800",']


@pytest.mark.parametrize(
    ("what", "name", "options", "said"),
    [
        ("candidate", "c.csv", {}, "did you mean 'candidates'"),
        ("candidates", "c.xlsx", {}, "csv or json"),
        ("candidates", "there.csv", {}, "exists"),
        ("sources", "there.csv", {}, "exists"),
        ("predictions", "there.csv", {}, "exists"),
        ("rounds", "r.csv", {"recorded": True}, "not an import"),
        ("rounds", "r.csv", {"correct_only": True}, "only predictions"),
        ("predictions", "p.jsonl", {"fmt": "csv"}, "one format"),
        ("sources", None, {}, "folder"),
        ("rounds", "no/such/r.csv", {}, "No such file"),
    ],
)
def test_a_mistake_is_told_and_leaves_nothing(
    run: Run, tmp_path: Path, what: str, name: str | None, options: dict[str, Any], said: str
) -> None:
    (tmp_path / "there.csv").write_text("mine")
    with pytest.raises(UserError, match=said):
        export(run, what, tmp_path / name if name else None, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_a_full_disk_leaves_no_half_file(run: Run, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(UserError, match=r"can't use .*c\.csv: File too large"):
            export(run, "candidates", tmp_path / "c.csv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
