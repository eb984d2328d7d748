"""Two runs whose verdicts are written by hand, compared: counts and tests as worked out on paper."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import broken, right, wrong
from loop_fakes import infra

from agents.config import RunConfig
from agents.imports import Foreign, Import, import_run
from agents.log import LogWriter, sha_of
from agents.newrun import create_run
from agents.upgrades import SCHEMA
from agents.verdicts import Recorded, logged_verdict
from evaluator.records import Evaluation
from experiments.__main__ import main
from experiments.compare import Who, compare, paired_test, ratios_of

Verdicts = Mapping[str, Sequence[Evaluation]]
MACHINE = infra("", "")


def written(
    folder: Path, verdicts: Verdicts, *, end: str | None = "done", reason: str | None = None, **more: Any
) -> str:
    """The folder of a run with these verdicts by task. A verdict's source is its `source_sha`, or one of its own."""
    settings = {"model": "m/one", "method": "oneshot", "simulated": False, "rounds": 1, **more}
    method, model, rounds = (settings.pop(name) for name in ("method", "model", "rounds"))
    config = RunConfig(method, model, rounds, tuple(verdicts))
    secret = folder.name.encode()
    run = create_run(folder, config, list(verdicts), secret=secret, method=method, rounds=rounds, **settings)
    for task, each in verdicts.items():
        with closing(LogWriter(run.log_path(task))) as log:
            log.write({"type": "task_start", "schema": SCHEMA, "task": task, "method": method, "model": model})
            for index, one in enumerate(each):
                source = one.source_sha or f"{folder.name} {index}"
                place = {"index": index, "n": 0, "round": 1, "lane": 0, "parents": [], "source": sha_of(source)}
                log.write({"type": "text", "sha": sha_of(source), "text": source})
                log.write({"type": "evaluation", **place, "evaluation": logged_verdict(one)})
            if end:
                log.write({"type": "task_end", "state": end, "reason": reason, "traceback": None})
    return str(folder)


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    said = replace(
        broken("compile_error: compilation (stage: run)\ncase: small\nline 7: no \x1b[2J[red]'tanh'"), traffic=9.0
    )
    first: Verdicts = {
        "Toy/both": [wrong(), right(traffic=2.0)],
        "Toy/lost": [right(traffic=1.0)],
        "Toy/won": [wrong()],
        "Odd/neither": [wrong()],
        "Odd/broke": [right()],
        "Odd/mine": [right()],
    }
    second: Verdicts = {
        "Odd/neither": [],
        "Odd/broke": [MACHINE, MACHINE],
        "Toy/won": [right(traffic=4.0)],
        "Toy/both": [right(traffic=1.0), right(traffic=3.0)],
        "Toy/lost": [said],
        "Odd/theirs": [],
    }
    prompts = [{"fix.j2": name * 64, "same.j2": "c" * 64} for name in "ab"]
    return [
        written(tmp_path / "one", first, prompts=prompts[0], versions={"torch": "2.11"}),
        written(tmp_path / "two", second, prompts=prompts[1], versions={"torch": "2.11"}, simulated=True, notice="SIM"),
    ]


def test_regressions_come_first_and_what_limits_them_before(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *two]) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert max(map(len, lines)) <= 120
    order = ("SIM\n", "prompt fix.j2", "Regressions", "McNemar", "By category", "Only the second solves", "Both solve")
    places = [text.index(said) for said in order]
    assert places == sorted(places)
    assert "aaaaaaaaaaaa" in text and "same.j2" not in text and "torch" not in text and "seed  " not in text
    row = lines[lines.index("Regressions, which only the first solves: 1") + 2]
    assert row.split(maxsplit=3) == ["Toy/lost", "compile_error:", "compilation", "line 7: no  [2J[red]'tanh'"]
    assert "Toy/both  traffic 2.00x  traffic 1.00x          0.50" in lines
    assert "Odd/neither  wrong: mismatch  nothing submitted" in lines
    assert "first   correct 2 of 4 (50.0%)" in lines and "second  correct 2 of 4 (50.0%)" in lines
    assert "Left out, 1 that only the first has on its task list: Odd/mine" in lines
    assert "Left out, 1 that only the second has on its task list: Odd/theirs" in lines
    assert any(
        line.startswith("Left out, 1 that the second has no verdict on") and "Odd/broke" in line for line in lines
    )


def test_the_json_has_it_all_and_is_never_written_over(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "c.json"
    assert main(["compare", *two, "--json", str(out)]) == 0
    data = json.loads(out.read_text())
    assert data["counts"] == {"only first": 1, "only second": 1, "both": 1, "neither": 1}
    assert [each["task"] for each in data["tasks"]] == ["Toy/lost", "Toy/won", "Toy/both", "Odd/neither"]
    assert data["tasks"][0]["second"]["diagnosis"].startswith("line 7: no ") and data["tasks"][3]["second"] is None
    assert data["categories"]["Odd"] == {"only first": 0, "only second": 0, "both": 0, "neither": 1}
    assert data["test"]["p"] == 1.0 and data["test"]["difference"] == 0.0
    assert data["ratios"]["mean"]["geometric"] == 0.5 and data["ratios"]["figure"] == "traffic"
    assert data["runs"][1]["notice"] == "SIM" and data["only"] == {"first": ["Odd/mine"], "second": ["Odd/theirs"]}
    assert main(["compare", *two, "--json", str(out)]) == 2
    assert "File exists" in capsys.readouterr().err


def test_the_paired_test_gives_published_figures() -> None:
    """The table of Cavo et al. (2012) in M. W. Fagerland, S. Lydersen, P. Laake, Statistical Analysis of Contingency
    Tables (2017), chapter 8: -0.0621 (-0.1186 to -0.0046) for the first rate less the second."""
    found = paired_test(both=59, only_first=6, only_second=16, neither=80)
    assert found
    assert [round(each, 4) for each in (found.difference, found.low, found.high)] == [0.0621, 0.0046, 0.1186]
    assert found.p == pytest.approx(2 * sum(math.comb(22, k) for k in range(7)) / 2**22)
    turned = paired_test(both=59, only_first=16, only_second=6, neither=80)
    assert turned and (turned.low, turned.high) == pytest.approx((-found.high, -found.low))
    certain = paired_test(0, 0, 5, 0)
    assert certain and certain.high == pytest.approx(1) and certain.p == 0.0625
    same = paired_test(3, 0, 0, 4)
    assert same and same.p == 1 and same.low < 0 < same.high
    assert paired_test(0, 0, 0, 0) is None


def test_ratios_have_a_geometric_mean_and_a_signed_rank_test() -> None:
    found = ratios_of("speedup", [2.0, 4.0, 8.0, 1.0])
    assert found and found.mean.n == 4 and found.unequal == 3
    assert found.mean.geometric == pytest.approx(64**0.25)
    assert found.p == 0.25  # all three of one sign: 2 of 8 arrangements
    equal = ratios_of("traffic", [1.0, 1.0])
    assert equal and equal.p is None and ratios_of("traffic", []) is None


def test_speedups_are_compared_where_there_are_any(tmp_path: Path) -> None:
    one = written(tmp_path / "a", {"T/a": [right(2.0, 1.5)], "T/b": [right(2.0)], "T/c": [right(1.0, 2.0)]})
    other = written(tmp_path / "b", {"T/a": [right(8.0, 3.0)], "T/b": [right(1.0, 7.0)], "T/c": [right(1.0, 1.0)]})
    ratios = compare(one, other).ratios
    assert ratios and (ratios.figure, ratios.mean.n, ratios.mean.geometric) == ("speedup", 2, 1.0)


def test_only_what_has_ended_counts_as_not_solved(tmp_path: Path) -> None:
    one = written(tmp_path / "a", {"T/a": [right()], "T/b": [right()]})
    assert compare(one, written(tmp_path / "done", {"T/a": [], "T/b": [wrong()]})).counts == {Who.FIRST: 2}
    for name, end, reason in (
        ("user", "stopped", "by the user"),
        ("error", "error", "no answer"),
        ("killed", None, ""),
    ):
        found = compare(one, written(tmp_path / name, {"T/a": [], "T/b": [wrong()]}, end=end, reason=reason))
        assert (found.counts, found.unjudged) == ({Who.FIRST: 1}, ((), ("T/a",))), name
    spent = written(tmp_path / "spent", {"T/a": [], "T/b": [wrong()]}, end="stopped", reason="budget: $2 are spent")
    assert compare(one, spent).counts == {Who.FIRST: 2}


def test_imports_are_read_by_either_judge(tmp_path: Path) -> None:
    def imported(name: str, right: bool) -> str:
        found = Foreign("Math/softmax", "mark = 0\n", recorded=Recorded(compiled=True, called=True, correct=right))
        import_run(tmp_path / name, Import([found], name, {"reader": "test"}))
        return str(tmp_path / name)

    one, other = imported("x", True), imported("y", False)
    assert compare(one, other, recorded=True).counts == compare(one, other).counts == {Who.FIRST: 1}
    ours = written(tmp_path / "ours", {"Math/softmax": [right()]})
    found = compare(one, ours, recorded=True)
    assert found.settings["verdicts"] == ("the origin's", "this project's") and found.counts == {Who.BOTH: 1}


def test_mistakes_are_one_line(two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stranger = written(tmp_path / "stranger", {"Else/where": []})
    folder = tmp_path / "matrix"
    written(folder / "a", {"T/a": []})
    written(folder / "b", {"T/a": []})
    cases = {
        "named twice": [two[0], f"{two[0]}/../one"],
        "no task in common": [two[0], stranger],
        "takes two runs, and these are 3": [two[0], str(folder)],
        "only their own verdicts": [*two, "--recorded"],
    }
    for said, arguments in cases.items():
        assert main(["compare", *arguments]) == 2
        captured = capsys.readouterr()
        assert said in captured.err and captured.err.count("\n") == 1 and not captured.out
