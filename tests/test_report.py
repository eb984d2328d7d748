"""The report's file, without a browser: what it holds, that it is inert, and the command."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from report_fakes import EVIL, FOLDER, TASKS, marked_run

from agents.imports import Foreign, Import, import_run
from agents.log import texts_of
from agents.runfolder import Run
from agents.verdicts import Recorded
from experiments.__main__ import main
from experiments.cells import cells_of
from experiments.report.overview import rates, rounds
from experiments.report.page import SCRIPTS, inert_json, page

REPORT = Path("experiments/report")


class Elements(HTMLParser):
    """Every element with its attributes, what stands in the scripts, and the text outside of them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.all: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.shown = ""
        self.in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append((tag, dict(attrs)))
        self.in_script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self.in_script = False

    def handle_data(self, data: str) -> None:
        if self.in_script:
            self.scripts.append((self.all[-1][1], data))
        else:
            self.shown += data


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return marked_run(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def found(run: Run) -> Elements:
    return Elements(page(cells_of([str(run.path)]), [], f"A report {EVIL}"))


def parcels(found: Elements) -> dict[str, Any]:
    """What the page opens, by task."""
    tasks = json.loads(next(text for attributes, text in found.scripts if attributes.get("id") == "index"))["tasks"]
    packed = [text for attributes, text in found.scripts if str(attributes.get("id")).startswith("parcel-")]
    opened = [json.loads(gzip.decompress(base64.b64decode(text))) for text in packed]
    return dict(zip(tasks, opened, strict=True))


def test_every_text_of_the_log_is_there_once(run: Run, found: Elements) -> None:
    opened = parcels(found)
    assert set(opened) == set(TASKS)
    for task in TASKS:
        held = opened[task]["texts"]
        assert sorted(held) == sorted(texts_of(run.events(task)).values()) and len(held) == len(set(held))
        one = opened[task]["runs"]["0"]
        assert one["state"] == "done" and len(one["asks"]) == 6 and len(one["notes"]) == 2
        for logged, shown in zip(run.candidates(task), one["candidates"], strict=True):
            assert held[shown["source"]] == logged.source and shown["parents"] == list(logged.parents)
            assert shown["verdict"]["status"] == logged.evaluation.status
            assert shown["verdict"]["diagnosis"] == logged.evaluation.diagnosis
            (ask,) = [ask for ask in one["asks"] if ask["candidate"] == shown["index"]]
            assert logged.source in held[ask["reply"]] and (ask["round"], ask["lane"]) == (logged.round, logged.lane)


def test_markup_in_texts_stays_text(found: Elements) -> None:
    tags = [tag for tag, _ in found.all]
    assert tags.count("script") == len(TASKS) + 2 and "img" not in tags and "b" not in tags
    labels = {"runs": [EVIL]}  # a model's name may be one
    assert "<" not in inert_json(labels) and json.loads(inert_json(labels)) == labels
    assert f"A report {EVIL}" in found.shown and FOLDER in found.shown
    assert not any(name.startswith("on") for _, attributes in found.all for name in attributes)


def test_nothing_is_fetched_and_only_its_own_script_may_run(found: Elements) -> None:
    for _, attributes in found.all:
        for name in ("src", "href", "action", "data", "srcset"):
            assert str(attributes.get(name, "#")).startswith("#")
    (policy,) = [str(attributes["content"]) for _, attributes in found.all if "http-equiv" in attributes]
    (script,) = [text for attributes, text in found.scripts if not attributes]
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{allowed}'; style-src 'unsafe-inline';" in policy
    assert not re.search(r"https?:|//\w+\.", policy)


def test_the_script_puts_texts_in_as_text() -> None:
    for name in SCRIPTS:
        written = (REPORT / name).read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(|</script", written)


def test_neither_secret_nor_machine_is_in_the_page(run: Run, found: Elements) -> None:
    everything = found.shown + "".join(text for _, text in found.scripts) + json.dumps(parcels(found))
    assert run.secret.hex() not in everything and "SECRET-UUID" not in everything and "a device" in everything
    assert str(run.path.parent) not in everything


def test_the_figures_are_the_accounts(run: Run, found: Elements) -> None:
    (cell,) = cells_of([str(run.path)])
    table = rates([cell])
    row = dict(zip(table.columns, table.rows[0], strict=True))
    last = cell.account.rounds[-1].best
    assert row["tasks"] == "3" and row["correct"] == f"{last.correct_rate:.1%} (1)" == "33.3% (1)"
    assert (row["rescued"], row["persistent"], row["failing"]) == ("0", "1", "2")
    assert row["speedup over eager"].startswith("2.00x") and row["cost"] == row["tokens"] == "?"
    per_round = rounds([cell])
    assert [each[1:3] for each in per_round.rows] == [
        ("1", "own"),
        ("1", "best so far"),
        ("2", "own"),
        ("2", "best so far"),
    ]
    assert cell.run.simulation_notice and found.shown.count(cell.run.simulation_notice) == 2


def test_an_import_says_whose_verdicts_it_shows(tmp_path: Path) -> None:
    sources = [
        Foreign("Math/softmax", "x = 1\n", recorded=Recorded(True, True, True, speedup=1.5)),
        Foreign("Math/log1p", "x = 2\n", recorded=Recorded(called=False, error="no")),
    ]
    made, _ = import_run(tmp_path / "theirs", Import(sources, "their/model", {"format": "folder", "files": ["f"]}))
    found = Elements(page(cells_of([str(made.path)]), [], "Theirs"))
    assert "IMPORTED: verdicts and speedups as the origin recorded them" in found.shown
    assert "50.0% (1)" in found.shown and "the origin's" in found.shown
    (candidate,) = parcels(found)["Math/softmax"]["runs"]["0"]["candidates"]
    assert candidate["verdict"] is None and candidate["recorded"]["speedup"] == 1.5


def test_an_unfinished_run_says_so(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "cut"
    shutil.copytree(run.path, copy)
    (copy / "Toy" / "two.jsonl").unlink()
    record = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(record | {"state": "running"}))
    found = Elements(page(cells_of([str(run.path), str(copy)]), [], "Both"))
    assert "1 of 2 runs: UNFINISHED" in found.shown and "2 of 2" not in found.shown
    opened = parcels(found)["Toy/two"]["runs"]
    assert opened["0"]["state"] == "done" and opened["1"] == {
        **{"state": "waiting", "why": None, "traceback": None},
        **{"asks": [], "candidates": [], "notes": []},
    }


def test_the_command(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, plots = tmp_path / "report.html", tmp_path / "plots"
    arguments = ["report", str(run.path), "--out", str(out), "--plots", str(plots), "--title", "Mine"]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert "1 run, 3 trajectories" in said.out and str(run.simulation_notice) in said.err
    found = Elements(out.read_text(encoding="utf-8"))
    drawn = [tag for tag, _ in found.all].count("svg")
    assert drawn == len(list(plots.glob("*.svg"))) > 2 and [tag for tag, _ in found.all].count("script") == 5
    ids = [attributes["id"] for _, attributes in found.all if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_only_a_report_is_written_over(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.plots.plots_of", lambda cells: [])
    out = tmp_path / "report.html"
    arguments = ["report", str(run.path), "--out", str(out)]
    assert main(arguments) == main(arguments) == 0
    capsys.readouterr()
    out.write_text("mine")
    assert main(arguments) == 2 and out.read_text() == "mine"
    assert capsys.readouterr().err == f"error: {out} exists and is no report; name another file\n"
    assert main([*arguments[:3], str(tmp_path / "no" / "report.html")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main([*arguments[:3], str(out / "report.html")]) == 2  # its folder is a file
    assert capsys.readouterr().err.count("\n") == 1
