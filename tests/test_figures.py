"""Figures of tasks against values that were worked out by hand, against scipy, and against the tracker's account."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import broken, right, wrong
from loop_fakes import go, infra, make_run
from scipy.stats import binomtest

from agents.accounts import LoggedReply, LoggedVerdict
from agents.config import RunConfig
from agents.imports import Foreign, Import, import_run
from agents.protocol import Usage
from agents.runfolder import Run
from agents.tracker import SOLVED, State
from evaluator.records import Evaluation
from experiments.__main__ import main
from experiments.cells import Cell
from experiments.figures import categories_of, figures_of, groups_of, kernels_of, ratios_of, share_of
from tasks.outcomes import Reason, Status

A, B, C, D = "Math/a", "Math/b", "Loss/c", "Loss/d"
Verdicts = Mapping[str, Sequence[tuple[int, Evaluation]]]


def cell(verdicts: Verdicts, replies: Mapping[str, Sequence[LoggedReply]] | None = None) -> Cell:
    """A run that was never on a disk."""
    config = RunConfig("m", "model", 3, tuple(verdicts))
    run = Run(Path("made"), {"method": "m", "simulated": False, "config": config.to_json(), "tasks": list(verdicts)})
    logged = {task: tuple(LoggedVerdict(*one) for one in each) for task, each in verdicts.items()}
    return Cell(run, "made", False, {}, logged, {task: tuple(each) for task, each in (replies or {}).items()})


@pytest.fixture
def timed() -> Cell:
    """a is correct at once and then lost, b rescued and then faster, c is wrong, d was only ever met by the machine."""
    refused = replace(wrong(), status=Status.REJECTED, reason=Reason.NO_LAUNCH, numerically_right=True)
    return cell(
        {
            A: [(1, right(speedup=2.0)), (2, wrong())],
            B: [(1, broken()), (2, right(speedup=0.5)), (2, right(speedup=0.4)), (3, right(speedup=0.9))],
            C: [(1, wrong()), (2, refused)],
            D: [(1, infra(D, ""))],
        },
        {A: [LoggedReply(1, Usage(100, None, 10, usd=0.5))], B: [LoggedReply(2, Usage(200, None, 20, usd=0.25))]},
    )


def test_the_figures_are_those_worked_out_by_hand(timed: Cell) -> None:
    its = figures_of(timed, timed.tasks)
    assert (its.tasks, its.judged, its.candidates) == (4, 3, 9)
    assert [(share.count, share.n) for share in (its.compiled, its.called, its.values_right, its.correct)] == [
        *((3, 4), (3, 4)),
        *((3, 4), (2, 4)),
    ]
    assert its.changes == {State.RESCUED: 1, State.PERSISTENT: 0, State.REGRESSED: 1, State.FAILING: 2}
    assert its.speedup and its.slower_than_eager and its.fast
    assert (its.speedup.n, its.speedup.arithmetic, its.speedup.median) == (2, 1.45, 1.45)
    assert its.speedup.geometric == pytest.approx(math.sqrt(2.0 * 0.9))
    assert (its.slower_than_eager.count, its.slower_than_eager.n) == (1, 2)
    assert {p: share.count for p, share in its.fast.items()} == {0.5: 2, 0.8: 2, 1.0: 1, 1.5: 1, 2.0: 0}
    assert {share.n for share in its.fast.values()} == {4}
    assert its.best_outcomes == {"correct": 2, "no verdict": 1, "wrong: mismatch": 1}
    assert its.outcomes["infra_error: infrastructure"] == 1 and sum(its.outcomes.values()) == 9
    assert (its.cost.input_tokens, its.cost.output_tokens, its.cost.usd) == (300, 30, 0.75)
    assert (its.cost.tokens_per_correct, its.cost.usd_per_correct) == (165.0, 0.375)


def test_what_is_unknown_stays_unknown(timed: Cell) -> None:
    loss = figures_of(timed, [C, D])
    assert loss.fast and loss.fast[0.5].count == 0  # the run timed kernels; here none was correct
    assert loss.speedup is None and loss.slower_than_eager is None
    assert (loss.cost.replies, loss.cost.usd, loss.cost.usd_per_correct) == (0, None, None)
    untimed = figures_of(cell({A: [(1, right())]}, {A: [LoggedReply(1, Usage(1, None, None))]}), [A])
    assert untimed.fast is None and untimed.slower_than_eager is None and untimed.changes is None
    assert untimed.traffic and untimed.traffic.n == 1 and untimed.traffic.low is None
    assert (untimed.cost.input_tokens, untimed.cost.tokens_per_correct, untimed.cost.usd_per_correct) == (1, None, None)
    nothing = figures_of(cell({A: []}), [A])
    assert nothing.correct.count == 0 and nothing.best_outcomes == {"no verdict": 1} and nothing.outcomes == {}


def test_the_groups_are_the_accounts_and_a_lost_kernel_has_its_old_figure(timed: Cell) -> None:
    groups = groups_of(timed, timed.tasks)
    for group in groups:
        row = timed.account.rounds[group.round - 1]
        theirs = (row.own if group.view == "own" else row.best).groups[group.state]
        assert group.tasks == theirs.tasks
        if group.state in SOLVED:
            assert group.speedup and theirs.speedup
            assert (group.speedup.n, group.speedup.geometric) == (theirs.speedup.n, theirs.speedup.geometric)
    (lost,) = [group for group in groups if group.state is State.REGRESSED]
    assert (lost.round, lost.view, lost.tasks) == (2, "own", 1)
    assert lost.speedup and lost.speedup.geometric == pytest.approx(2.0)
    assert {(group.round, group.view) for group in groups} == {(n, view) for n in (1, 2, 3) for view in ("own", "best")}
    assert {task: kernel.speedup for task, kernel in kernels_of(timed, timed.tasks, 3, "own").items()} == {B: 0.9}
    assert {t: kernel.speedup for t, kernel in kernels_of(timed, timed.tasks, 2, "best").items()} == {A: 2.0, B: 0.5}


@pytest.mark.parametrize(("count", "n"), [(0, 7), (7, 7), (1, 1), (3, 10), (54, 176)])
def test_shares_have_wilsons_interval(count: int, n: int) -> None:
    share, theirs = share_of(count, n), binomtest(count, n).proportion_ci(0.95, method="wilson")
    assert (share.low, share.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert share.value == count / n and share.low <= share.value <= share.high


def test_a_median_is_beside_the_means() -> None:
    ratios = ratios_of((0.5, 1.0, 4.0))
    assert ratios and ratios.low and ratios.high and 0.5 <= ratios.low < ratios.high <= 4.0
    assert (ratios.n, ratios.median, ratios.geometric) == (3, 1.0, pytest.approx(2 ** (1 / 3)))
    assert ratios_of(()) is None
    with pytest.raises(ValueError, match="positive"):
        ratios_of((0.0, 1.0))


def test_a_wrong_selection_is_refused(timed: Cell) -> None:
    for tasks in ([], [A, A], ["Math/other"]):
        with pytest.raises(ValueError, match="selection"):
            figures_of(timed, tasks)
    for count, n in ((0, 0), (2, 1), (-1, 3)):
        with pytest.raises(ValueError, match="no share"):
            share_of(count, n)
    assert categories_of([B, C, A, "mine"]) == {"(none)": ["mine"], "Loss": [C], "Math": [A, B]}


def test_the_command_shows_runs_and_categories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "matrix"
    for name in ("one", "two"):
        go(make_run(folder / name, names=("Toy/one", "Toy/two", "Other/three")))
    assert main(["table", str(folder)]) == 0
    text = capsys.readouterr().out
    assert text.count("no language model is called") == 2 and "fast_p:" not in text.partition("\nRates are")[0]
    assert all(any(line.split()[:2] == [name, "3"] for line in text.splitlines()) for name in ("one", "two"))
    out = tmp_path / "figures.json"
    words = ["table", str(folder / "one"), "--by", "category", "--figures", "--json", str(out)]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 120 and "Verdicts: all candidates" in text
    rows = [line.split()[:2] for line in text.splitlines()]
    assert ["Toy", "2"] in rows and ["Other", "1"] in rows and ["one", "3"] in rows
    (run,) = json.loads(out.read_text())["runs"]
    assert run["simulated"] and run["notice"] and set(run["categories"]) == {"Toy", "Other"}
    assert run["figures"]["tasks"] == 3 and run["figures"]["cost"]["usd"] is None
    assert run["categories"]["Toy"]["figures"]["tasks"] == 2 and run["passes"][0]["listed"] == 3
    assert main(words) == 2 and "exists" in capsys.readouterr().err
    assert main(["table", str(folder), "--json", str(tmp_path / "no" / "file")]) == 2
    assert main(["table", str(folder), str(folder / "one")]) == 2
    assert "named twice" in capsys.readouterr().err
    assert main(["table", str(folder / "one"), "--figures", "--recorded"]) == 2


def test_an_import_of_which_nothing_is_known_is_no_row_of_noughts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import_run(tmp_path / "theirs", Import([Foreign("Math/log1p", "a = 1\n")], "m", {"reader": "test"}))
    assert main(["table", str(tmp_path / "theirs"), "--figures"]) == 2
    assert "recorded no verdict" in capsys.readouterr().err
