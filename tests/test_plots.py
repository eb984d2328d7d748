"""Plots of made-up runs: their figures are counted by hand, and their drawings stand in one page without disturbing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from fakes import broken, right, wrong

from agents.accounts import LoggedVerdict
from agents.config import RunConfig
from agents.newrun import create_run
from evaluator.records import Evaluation
from evaluator.timing_records import SizeTiming, TaskTiming
from experiments.cells import Cell
from experiments.plots import Plot, plots_of, write_plots
from experiments.plots.bound import bound_plot
from experiments.plots.canvas import settings
from experiments.plots.measured import standing
from experiments.plots.series import series_of
from tasks.errors import UserError
from tasks.outcomes import Reason, Status

TASKS = ("Math/a", "Math/b", "Loss/c", "Loss/d")
INFRA = Evaluation("", "", Status.INFRA_ERROR, None, Reason.INFRASTRUCTURE, "")
# a: wrong, then rescued, then persistent; b: correct, then stands; c: fails in two ways; d: the machine failed
FIRST: dict[str, list[list[Evaluation]]] = {
    "Math/a": [[wrong()], [right(4.0), right(2.0)], [right(8.0)]],
    "Math/b": [[right(1.0)]],
    "Loss/c": [[broken()], [wrong()], [broken()]],
    "Loss/d": [[INFRA]],
}
# no round but the first; b never submitted
SECOND: dict[str, list[list[Evaluation]]] = {"Math/a": [[right(5.0)]], "Loss/c": [[wrong()]], "Loss/d": [[wrong()]]}
Make = Callable[..., Cell]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    def cell(label: str, rounds: dict[str, list[list[Evaluation]]], *, simulated: bool = False, seed: int = 0) -> Cell:
        config = RunConfig("lanes", "some/model", 3, TASKS, seed=seed)
        folder = tmp_path_factory.mktemp("run")
        run = create_run(folder, config, TASKS, secret=b"k", method="lanes", rounds=3, simulated=simulated)
        verdicts = {
            task: tuple(LoggedVerdict(at, one) for at, each in enumerate(rounds.get(task, ()), 1) for one in each)
            for task in TASKS
        }
        return Cell(run, label, False, {}, verdicts, {})

    return cell


@pytest.fixture(scope="module")
def cells(make: Make) -> list[Cell]:
    return [make("one", FIRST), make("two", SECOND)]


@pytest.fixture(scope="module")
def plots(cells: list[Cell]) -> dict[str, Plot]:
    return by_name(plots_of(cells))


def by_name(plots: Sequence[Plot]) -> dict[str, Plot]:
    return {plot.name: plot for plot in plots}


def timed(speedup: float, share: float) -> Evaluation:
    sizes = (SizeTiming("one", share=share),)
    return replace(right(2.0, speedup), timing=TaskTiming(sizes, 1, {}, {}, {}))


def test_rates_and_states_are_counted_by_hand(plots: dict[str, Plot]) -> None:
    assert plots["rates"].columns == ("run", "round", "view", "tasks", "compile", "call", "correct")
    assert plots["rates"].rows == (
        ("one", "1", "own", "4", "50.0%", "50.0%", "25.0%"),
        ("one", "2", "own", "4", "75.0%", "75.0%", "50.0%"),
        ("one", "3", "own", "4", "50.0%", "50.0%", "50.0%"),
        ("one", "1", "best so far", "4", "50.0%", "50.0%", "25.0%"),
        ("one", "2", "best so far", "4", "75.0%", "75.0%", "50.0%"),
        ("one", "3", "best so far", "4", "75.0%", "75.0%", "50.0%"),
        ("two", "1", "own", "4", "75.0%", "75.0%", "25.0%"),
        ("two", "1", "best so far", "4", "75.0%", "75.0%", "25.0%"),
    )
    assert plots["states"].columns == (
        *("run", "round", "tasks", "correct", "persistent", "rescued", "regressed", "failing"),
    )
    assert plots["states"].rows == (
        ("one", "1", "4", "1", "0", "0", "0", "3"),
        ("one", "2", "4", "0", "1", "1", "0", "2"),
        ("one", "3", "4", "0", "2", "0", "0", "2"),
    )


def test_the_heat_map_and_the_errors_have_the_task_list_as_denominator(plots: dict[str, Plot]) -> None:
    assert plots["heat"].columns == ("run", "Loss", "Math", "all")
    assert plots["heat"].rows == (("one", "0/2", "2/2", "2/4"), ("two", "0/2", "1/2", "1/4"))
    assert all(f">{said}</text>" in plots["heat"].svg for said in ("0/2", "2/2", "2/4", "1/4"))
    assert plots["errors"].columns == (
        *("by", "group", "tasks", "correct", "wrong: mismatch", "infra_error", "nothing submitted"),
    )
    assert plots["errors"].rows == (
        ("category", "Loss", "4", "0", "3", "1", "0"),
        ("category", "Math", "4", "3", "0", "0", "1"),
        ("run", "one", "4", "2", "1", "1", "0"),
        ("run", "two", "4", "1", "2", "0", "1"),
    )


def test_without_timing_the_figure_is_traffic_and_says_so(make: Make) -> None:
    plots = by_name(plots_of([make("one", FIRST)]))
    assert [row[:4] for row in plots["rescued"].rows] == [
        ("one", "2", "rescued", "1"),
        ("one", "2", "persistent", "1"),
        ("one", "3", "persistent", "2"),
    ]
    # round 2's best moves 2; in round 3 a's own kernel moves 8 beside b's 1
    assert [row[4] for row in plots["rescued"].rows] == ["2", "1", "2.83"]
    spread = plots["distribution"]
    assert spread.title.startswith("Traffic") and "Nothing was timed" in spread.caption
    assert spread.rows == (("one", "4", "2", "2", "1", "1.25", "1.5", "1.75", "2", "1.41"),)
    assert plots["bound"].rows == (("one", "Math", "2", "2", "50.0%", "75.0%", "100.0%"),)
    assert "nothing was timed" in plots["bound"].caption


def test_with_timing_it_is_speedup_and_the_share_of_the_bound(make: Make) -> None:
    fast = {"Math/a": [[wrong()], [timed(0.5, 0.2)]], "Loss/c": [[timed(2.0, 0.8)]]}
    plots = by_name(plots_of([make("gpu", fast), make("cpu", SECOND)]))
    assert plots["distribution"].title == "Speedup over eager"
    assert plots["distribution"].rows == (
        ("gpu", "4", "2", "2", "0.5", "0.875", "1.25", "1.62", "2", "1", "1/2"),
        ("cpu", "4", "1", "0", *["-"] * 7),
    )
    assert plots["bound"].rows == (
        ("gpu", "Loss", "2", "1", "80.0%", "80.0%", "80.0%"),
        ("gpu", "Math", "2", "1", "20.0%", "20.0%", "20.0%"),
    )


def test_what_stands_is_what_the_account_counts(cells: list[Cell]) -> None:
    cell = cells[0]
    for each in cell.account.rounds:
        for task, state in each.own.states.items():
            kernel = standing(cell, task, each.number)
            assert bool(kernel and kernel.correct) == (state in ("correct", "rescued", "persistent"))


def test_nothing_to_show_is_left_out(make: Make) -> None:
    assert plots_of([]) == [] == plots_of([make("new", {})])
    single = {"Math/a": [[wrong()]]}
    assert set(by_name(plots_of([make("single", single)]))) == {"rates", "heat", "errors"}
    recorded = {"Math/a": [[right(None)]]}
    assert set(by_name(plots_of([make("unmeasured", recorded)]))) == {"rates", "heat", "errors"}


def test_svgs_stand_in_one_page(make: Make) -> None:
    odd = 'a <b> & "c" $x_1$ of a rather long name that goes on'
    plots = plots_of([make("one", FIRST), make("two", FIRST, simulated=True), replace(make("3", FIRST), label=odd)])
    assert len(plots) == 7
    ids = [found for plot in plots for found in re.findall(r'\bid="([^"]+)"', plot.svg)]
    assert len(ids) == len(set(ids)) > 14
    for plot in plots:
        root = ET.fromstring(plot.svg)
        assert root.get("role") == "img" and len(plot.svg) < 200_000
        named = {element.get("id"): element for element in root.iter() if element.get("id")}
        assert all(str(name).startswith(f"{plot.name}-") for name in named)
        assert [named[name].text for name in str(root.get("aria-labelledby")).split()] == [plot.title, plot.caption]
        assert set(re.findall(r'(?:url\(|href=")#([^)"]+)', plot.svg)) <= set(named)
        assert re.findall(r"https?:[^\"]*", plot.svg) == ["http://www.w3.org/2000/svg"]
        assert "currentColor" in plot.svg and "#010203" not in plot.svg
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {"svg", "title", "desc", "g", "defs", "clipPath", "rect", "path", "use", "text", "tspan"}
        assert "DejaVu" not in plot.svg
        assert all(len(row) == len(plot.columns) for row in plot.rows)
    assert any(odd in row for plot in plots for row in plot.rows)


def test_simulated_and_recorded_runs_are_marked_in_drawing_and_caption(make: Make) -> None:
    theirs = replace(make("theirs", FIRST), recorded=True)
    for plot in plots_of([make("real", FIRST), make("toy", FIRST, simulated=True), theirs]):
        text = " ".join(ET.fromstring(plot.svg).itertext())
        for said in ("toy: SIMULATION: some/model; no language model", "theirs: RECORDED: verdicts of the import"):
            assert said in plot.caption and text.count(said) == 2
    assert not any("SIMULATION" in plot.svg or "RECORDED" in plot.svg for plot in plots_of([make("r", FIRST)]))


def test_runs_of_a_large_matrix_are_drawn_together(make: Make) -> None:
    cells = [make(f"seed {seed}", FIRST if seed % 2 else SECOND, seed=seed) for seed in range(14)]
    plots = by_name(plots_of(cells))
    assert plots["heat"].rows == (("some/model lanes (14 runs)", "0/28", "21/28", "21/56"),)
    assert "n = 14 runs of 4 tasks each" in plots["heat"].caption
    assert plots["rates"].rows[0][3:] == ("56", "62.5%", "62.5%", "25.0%")
    assert plots["rates"].rows[-1][3:] == ("56", "75.0%", "75.0%", "37.5%")


def test_many_kernels_become_quartiles(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.plots.bound.MOST_DOTS", 1)
    with settings():
        plot = bound_plot(series_of([make("one", FIRST)]))
    assert plot and "bars from quartile to quartile" in plot.caption and "n = 2 kernels" in plot.caption


def test_rare_outcomes_are_drawn_together_but_not_interpretable_apart(make: Make) -> None:
    reasons = [*list(Reason)[:7], Reason.NOT_INTERPRETABLE]
    failed = [replace(broken(), status=Status.REJECTED, reason=reason) for reason in reasons]
    cell = make("base", {})
    verdicts = {f"Math/t{at}": (LoggedVerdict(1, one),) for at, one in enumerate(failed)}
    plot = by_name(plots_of([replace(cell, verdicts=verdicts)]))["errors"]
    assert plot.columns[3:] == tuple(sorted(f"rejected: {reason}" for reason in reasons))
    assert plot.rows == (("category", "Math", "8", *["1"] * 8),)
    assert ">other</text>" in plot.svg and ">rejected: not_interpretable</text>" in plot.svg


def test_the_same_runs_give_the_same_files_each_readable(
    cells: list[Cell], plots: dict[str, Plot], tmp_path: Path
) -> None:
    assert plots_of(cells) == list(plots.values())
    write_plots(list(plots.values()), tmp_path / "deep" / "plots")
    files = sorted((tmp_path / "deep" / "plots").iterdir())
    assert [file.stem for file in files] == sorted(plots)
    for file in files:
        root = ET.fromstring(file.read_text(encoding="utf-8"))
        assert root.get("color") == "#1a1a1a" and root[2].get("fill") == "#ffffff"
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="can't write"):
        write_plots(list(plots.values()), tmp_path / "file")


def test_importing_needs_no_matplotlib() -> None:
    code = "import sys, experiments.plots; assert not {'matplotlib', 'numpy', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).resolve().parent.parent)
