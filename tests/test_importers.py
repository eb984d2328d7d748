"""Readers of other projects' kernels, on small files of our own in their formats, and on broken ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.accounts import account_of
from agents.imports import import_run
from agents.newrun import find_run
from agents.runfolder import imported_of
from agents.tracker import State
from agents.verdicts import Recorded
from experiments.importers import SEPARATOR, corpus, folder, geak, number, predictions
from experiments.importing import FORMATS, detect, fingerprint, import_, read
from tasks.errors import UserError

DATA = Path(__file__).parent / "data" / "imports"
RULER = "#" * 146


def test_predictions_name_their_task_or_define_its_entry() -> None:
    found = predictions.read(DATA / "predictions.jsonl")
    assert [one.task for one in found.sources] == [
        "Math/abs.py",
        "Broadcast/expand_where.py",
        "Math/no_such_thing.py",
        "Math/cos.py",
        "Math/softmax",
    ]
    fenced, bare, _, refused, _ = found.sources
    assert fenced.source and fenced.source.startswith("import triton\n") and "```" not in fenced.source
    assert bare.source and bare.recorded is None
    assert refused.source is None
    assert found.model == "predictions"
    assert found.left_out == {
        "no 'file', and the source defines no entry function": 1,
        "no 'file', and the source defines several entry functions": 1,
        "no 'predict'": 1,
        "'predict' is not text": 1,
        "not a JSON object": 1,
    }


def test_every_file_of_a_folder_is_a_lane(tmp_path: Path) -> None:
    for name, task in (("b.jsonl", "cos"), ("a.jsonl", "abs")):
        (tmp_path / name).write_text(json.dumps({"file": f"{task}.py", "predict": "def f(): pass"}))
    found = predictions.read(tmp_path, model="mine")
    assert [(one.task, one.lane) for one in found.sources] == [("abs.py", 0), ("cos.py", 1)]
    assert (found.model, found.origin["files"]) == ("mine", ["a.jsonl", "b.jsonl"])


def test_a_list_with_a_mark_and_windows_line_ends_reads_the_same(tmp_path: Path) -> None:
    line = {"file": "Math/abs.py", "predict": "```python\r\ndef abs(x):\r\n    return '\u2028ä'\r\n```"}
    for name, data in {
        "list.json": json.dumps([line], indent=1).replace("\n", "\r\n").encode("utf-8-sig"),
        "lines.jsonl": json.dumps(line, ensure_ascii=False).encode("utf-16"),
    }.items():
        (tmp_path / name).write_bytes(data)
        [one] = predictions.read(tmp_path / name).sources
        assert one.source == "def abs(x):\n    return '\u2028ä'\n"


def test_the_corpus_gives_every_state_once_and_the_first_in_round_1() -> None:
    found = corpus.read(DATA / "events.jsonl")
    placed = [(one.task, one.round, one.recorded and one.recorded.speedup) for one in found.sources]
    assert [one for one in placed if one[0] == "Math/abs.py"] == [
        ("Math/abs.py", 1, None),
        ("Math/abs.py", 2, 1.5),
        ("Math/abs.py", 3, 2.5),
    ]
    assert [one for one in placed if one[0] == "Math/cos.py"] == [("Math/cos.py", 1, 0.5), ("Math/cos.py", 3, None)]
    first = found.sources[0]
    assert first.recorded == Recorded(None, False, False, None, None, "NameError: x")
    assert first.source and first.source.endswith("return 1\n")  # neither ruler nor test
    assert found.origin["lost_newlines"] == 1
    assert sum(found.left_out.values()) == 2


def test_the_account_by_the_corpus_own_verdicts(tmp_path: Path) -> None:
    run, counts = import_run(tmp_path / "run", corpus.read(DATA / "events.jsonl"))
    assert (counts.tasks, counts.unknown) == (3, {"Math/no_such_thing.py": 2})
    rounds = account_of(run, recorded=True).rounds
    assert [row.own.states["Math/abs"] for row in rounds] == [State.FAILING, State.RESCUED, State.PERSISTENT]
    assert [row.own.states["Math/cos"] for row in rounds] == [State.CORRECT, State.PERSISTENT, State.REGRESSED]
    assert [round(3 * row.own.call_rate) for row in rounds] == [1, 2, 3]
    rescued = rounds[2].own.groups[State.RESCUED]  # log1p, correct but not timed
    assert (rescued.tasks, rescued.speedup) == (1, None)


def test_geak_files_are_rounds_and_a_missing_prediction_is_no_code() -> None:
    found = geak.read(DATA / "geak")
    assert [(one.task, one.round) for one in found.sources] == [
        ("abs.py", 1),
        ("cos.py", 1),
        ("log1p.py", 1),
        ("nobody.py", 1),
        ("abs.py", 2),
        ("cos.py", 2),
        ("log1p.py", 2),
    ]
    assert found.sources[2].source is None
    assert [one.recorded for one in found.sources if one.task != "nobody.py"] == [
        None,
        Recorded(True, True, True, 1.25),
        None,
        Recorded(True, True, False),
        Recorded(True, True, True, 1.5),
        Recorded(None, False, False),
    ]
    assert found.origin["files"] == ["out_3.jsonl", "out_4.jsonl"]
    assert {one.round for one in geak.read(DATA / "geak" / "out_4.jsonl").sources} == {1}


def test_geak_files_without_an_order_are_refused(tmp_path: Path) -> None:
    line = json.dumps({"filename": "abs.py", "predict": ""})
    for name in ("one_0.jsonl", "two_0.jsonl"):
        (tmp_path / name).write_text(line)
    with pytest.raises(UserError, match="same iteration"):
        geak.read(tmp_path)
    (tmp_path / "two_0.jsonl").rename(tmp_path / "two.jsonl")
    with pytest.raises(UserError, match="no number"):
        geak.read(tmp_path)


def test_a_folder_of_sources(tmp_path: Path) -> None:
    for name, text in {
        "Math/abs.py": b"\xef\xbb\xbfdef abs(x):\r\n    return x\r\n",
        "again/abs.py": "def abs(x):\n    return 'ä'\n".encode("latin-1"),
        "again/Math/abs.py": f"def abs(x):\n    return x\n{RULER}\nimport torch\n".encode(),
        "cos.py": b"\n",
        ".hidden/sin.py": b"def sin(x): pass\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text)
    found = folder.read(tmp_path)
    assert [(one.task, one.lane, one.source) for one in found.sources] == [
        ("Math/abs.py", 0, "def abs(x):\n    return x\n"),
        ("Math/abs.py", 1, "def abs(x):\n    return x\n"),
        ("abs.py", 0, "def abs(x):\n    return 'ä'\n"),
        ("cos.py", 0, None),
    ]
    assert found.origin["tests_cut"] == 1
    assert not SEPARATOR.search("#" * 120)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("[]", "is empty"),
        ('\n{"predict": \nnothing\n', "line 2"),
        ('[\n{"predict": ""},\n{"predict" ""}]', "line 3"),
        ('{"predict": ' + "[" * 100_000, "line 1"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text(text)
    for name in ("predictions", "corpus", "geak"):
        with pytest.raises(UserError, match=f"broken.jsonl.*{said}") as caught:
            FORMATS[name](file)
        assert "\n" not in str(caught.value)


def test_broken_lines_among_others_are_skipped_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = [json.dumps({"file": "Math/abs.py", "predict": "def abs(x): pass"})] * 2
    file = tmp_path / "cut.jsonl"
    file.write_text("\n".join([whole[0], "{torn", "", *["["] * 5, whole[1], whole[1][:20]]))
    assert import_("auto", file, tmp_path / "run", None) == 0
    text = capsys.readouterr().out
    assert "imported 2 sources" in text
    assert "left out: broken JSON in cut.jsonl, lines 2, 4, 5, 6, 7, and 2 more (7)" in text
    left_out = find_run(str(tmp_path / "run")).record["origin"]["left_out"]
    assert sum(left_out.values()) == 7


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for file in (inside / "Math" / "abs.py", outside / "Math" / "cos.py"):
        file.parent.mkdir(parents=True)
        file.write_text("def f(x): pass\n")
    (inside / "cos.py").symlink_to(outside / "Math" / "cos.py")
    (inside / "more").symlink_to(outside)
    (inside / "again").mkdir()
    (inside / "again" / "abs.py").symlink_to(inside / "Math" / "abs.py")
    found = folder.read(inside)
    assert [(one.task, one.lane) for one in found.sources] == [("Math/abs.py", 0), ("abs.py", 0)]
    before = fingerprint(inside)
    (outside / "Math" / "cos.py").write_text("changed\n")
    assert fingerprint(inside) == before
    assert import_("folder", inside, tmp_path / "run", None) == 0
    assert "left out: a link out of the folder (2)" in capsys.readouterr().out
    only = tmp_path / "only"
    only.mkdir()
    (only / "cos.py").symlink_to(outside / "Math" / "cos.py")
    with pytest.raises(UserError, match="a link out of the folder"):
        import_("folder", only, tmp_path / "run2", None)


def test_a_folder_that_is_used_gets_advice_that_import_can_follow(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("")
    with pytest.raises(UserError, match=r"is not empty; name a new folder by --out$"):
        import_("auto", DATA / "predictions.jsonl", tmp_path, None)
    import_("auto", DATA / "predictions.jsonl", tmp_path / "run", None)
    with pytest.raises(UserError, match=r"--out; to judge an import that is there: python -m experiments score .*run"):
        import_("auto", DATA / "predictions.jsonl", tmp_path / "run", None)


def test_numbers_in_any_dress() -> None:
    assert [number(value) for value in (1, "1.5", " 2x ", 0, -1, "nan", "n/a", None, True, [], 10**400)] == [
        1.0,
        1.5,
        2.0,
        *[None] * 8,
    ]


def test_formats_are_told_apart(tmp_path: Path) -> None:
    assert detect(DATA / "predictions.jsonl") == "predictions"
    assert detect(DATA / "events.jsonl") == "corpus"
    assert detect(DATA / "geak") == detect(DATA / "geak" / "out_3.jsonl") == "geak"
    (tmp_path / "Math").mkdir()
    (tmp_path / "Math" / "abs.py").write_text("def abs(x): pass\n")
    assert detect(tmp_path) == "folder"
    for mixed in (DATA, tmp_path / "Math" / "abs.py"):
        with pytest.raises(UserError):
            detect(mixed)
    (tmp_path / "notes.json").write_text('{"a": 1}')
    with pytest.raises(UserError, match="records and sources"):
        detect(tmp_path)


def test_an_import_says_what_became_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hide: Callable[..., None]
) -> None:
    hide("Math/abs", "Index/expand_where", "Math/erf")
    assert import_("predictions", DATA / "predictions.jsonl", tmp_path / "a run", None) == 0
    text = capsys.readouterr().out
    assert "imported 4 sources for 4 of the suite's tasks, 1 round, model predictions" in text
    assert "built: 2 of these tasks can be scored, 2 still without a task file\n" in text
    assert "Broadcast/expand_where.py is Index/expand_where" in text
    assert "1 source for names that the suite does not have: Math/no_such_thing.py (1)" in text
    assert "no 'predict' (1)" in text
    assert f"python -m experiments score '{tmp_path / 'a run'}'" in text
    run = find_run(str(tmp_path / "a run"))
    assert run.imported and [one.source for one in imported_of("Math/cos", run.events("Math/cos"))] == [""]


def test_mistakes_are_told(tmp_path: Path) -> None:
    for format, path, said in (
        ("prediction", DATA, "did you mean 'predictions'"),
        ("xyz", DATA, "known: auto, corpus, folder"),
        ("predictions", tmp_path / "gone", "no file or folder"),
        ("corpus", DATA / "geak", "can't read"),
        ("folder", DATA / "geak", "no .py file"),
        ("corpus", DATA / "geak" / "out_3.jsonl", "no 'task_id' (4)"),
    ):
        with pytest.raises(UserError) as caught:
            import_(format, path, tmp_path / "run", None)
        assert said in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_what_a_simulation_exported_stays_one(tmp_path: Path) -> None:
    notice = "SIMULATION: tests/answers; no language model is called. Nothing here is a finding."
    line = {"file": "Math/softmax.py", "predict": "x = 1\n", "simulated": True, "notice": notice}
    (tmp_path / "p.jsonl").write_text(json.dumps(line) + "\n")
    folder = tmp_path / "sources" / "Math"
    folder.mkdir(parents=True)
    (folder / "softmax.py").write_text(f"# {notice}\nx = 1\n")
    for at, path in enumerate((tmp_path / "p.jsonl", tmp_path / "sources")):
        run, _ = import_run(tmp_path / f"run{at}", read("auto", path, None))
        assert run.simulated and run.simulation_notice == notice
