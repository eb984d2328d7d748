"""Shares of the deviance: published counts, known structures, separation, other fits, and the command on runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from loop_fakes import go, make_run

from agents.imports import Foreign, Import, import_run
from agents.verdicts import Recorded
from experiments.__main__ import main
from experiments.deviance import Decomposition, decompose
from experiments.deviance_fit import (
    Row,
    additive_deviance,
    grouped_deviance,
    permutation_p,
    shares,
    statsmodels_deviance,
    tabulate,
)

PUBLISHED = (30, 54, 19, 40)
CATEGORIES = ("A", "B", "C")


def rows_of(right: Callable[[str, int, str], bool], tasks: int = 12, levels: Sequence[str] = "xyz") -> list[Row]:
    """A row for each of `tasks` tasks in each category, and each level."""
    return [
        Row(f"{category}/{number}", level, right(category, number, level))
        for category in CATEGORIES
        for number in range(tasks)
        for level in levels
    ]


def drawn(seed: int = 0, tasks: int = 12) -> list[Row]:
    """Both factors matter, and nothing is separated."""
    chance = {"A": 0.2, "B": 0.4, "C": 0.6, "x": -0.1, "y": 0.0, "z": 0.2}
    rng = np.random.default_rng(seed)
    return rows_of(lambda category, number, level: rng.random() < chance[category] + chance[level], tasks)


def formula_deviance(rows: Sequence[Row], formula: str) -> float:
    pandas = pytest.importorskip("pandas")
    from statsmodels.formula.api import glm
    from statsmodels.genmod.families import Binomial

    frame = pandas.DataFrame([(row.category, row.level, int(row.correct)) for row in rows], columns=["c", "m", "y"])
    return float(glm(f"y ~ {formula}", frame, family=Binomial()).fit(maxiter=100, tol=1e-10).deviance)


@pytest.mark.parametrize(("counts", "share"), [(PUBLISHED, 0.0334), ((*PUBLISHED, 0), 0.1206)])
def test_the_published_counts_give_the_published_shares(counts: tuple[int, ...], share: float) -> None:
    every = np.full(len(counts), 176)
    null = grouped_deviance(np.array([sum(counts)]), np.array([every.sum()]))
    assert round(float(1 - grouped_deviance(np.array(counts), every) / null), 4) == share
    rows = [
        Row(f"C{number % 15}/{number}", f"method {level}", number < right)
        for level, right in enumerate(counts)
        for number in range(176)
    ]
    found = decompose(rows, "method")
    assert round(found.part("method").share, 4) == share and found.part("method").df == len(counts) - 1
    assert found.never == (("method 4",) if 0 in counts else ())


def test_all_models_agree_with_direct_fits_of_single_rows() -> None:
    rows = drawn()
    found = decompose(rows, "model")
    null = formula_deviance(rows, "1")
    category, model, both = (1 - formula_deviance(rows, text) / null for text in ("C(c)", "C(m)", "C(c) + C(m)"))
    assert found.null_deviance == pytest.approx(null)
    assert [part.name for part in found.parts] == [
        *("category", "model", "both"),
        *("category beyond model", "model beyond category"),
    ]
    expected = [category, model, both, both - model, both - category]
    assert [part.share for part in found.parts] == pytest.approx(expected, abs=1e-8)
    assert [part.df for part in found.parts] == [2, 2, 4, 2, 2]
    n = len(rows)
    adjusted = [1 - (1 - share) * (n - 1) / (n - p) for share, p in ((category, 3), (model, 3), (both, 5))]
    assert [part.adjusted for part in found.parts[:3]] == pytest.approx(adjusted)
    assert found.parts[3].adjusted == pytest.approx(adjusted[2] - adjusted[1])
    assert found.parts[3].chi2 == pytest.approx((both - model) * null)
    # with 2 degrees of freedom the chi-squared tail has a closed form
    assert found.parts[3].p == pytest.approx(np.exp(-(both - model) * null / 2))
    assert not found.notes and all(part.p_permuted is not None for part in found.parts)
    for part in found.parts:
        assert part.low is not None and part.high is not None and 0 <= part.low < part.share < part.high <= 1


def test_known_structures_are_found() -> None:
    by_category = decompose(rows_of(lambda category, number, level: category == "A"), "model")
    assert by_category.part("category").share == by_category.part("both").share == 1
    assert by_category.part("model").share == 0 and by_category.part("model beyond category").p == 1
    by_model = decompose(rows_of(lambda category, number, level: number % 2 == 0 and level != "x"), "model")
    assert by_model.part("category").share == pytest.approx(0, abs=1e-12)
    assert by_model.part("category").low == 0
    assert by_model.part("model beyond category").share == pytest.approx(by_model.part("both").share)
    assert by_model.part("model").p is not None and by_model.part("model").p < 1e-4


def test_separated_levels_are_named_and_their_deviance_is_the_limit() -> None:
    # B is never right; z always is elsewhere; then among the rest only y is left to vary with the category
    rows = rows_of(lambda category, number, level: category != "B" and (level == "z" or (level == "y" and number < 5)))
    found = decompose(rows, "model")
    assert found.notes[0] == (
        "Separated (coefficient infinite, deviance finite): never correct: category B; never correct: model x."
        " So are, without those: model z."
    )
    assert not [note for note in found.notes if note.startswith("CONTRADICTED")]
    null = formula_deviance(rows, "1")
    assert found.part("both").share == pytest.approx(1 - formula_deviance(rows, "C(c) + C(m)") / null, abs=1e-6)
    assert found.part("category").share == pytest.approx(1 - formula_deviance(rows, "C(c)") / null, abs=1e-6)


def test_random_small_tables_agree_with_statsmodels_separated_or_not() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        shape = tuple(rng.integers(1, 7, 2))
        chance = 1 / (1 + np.exp(-rng.normal(0, 2, (shape[0], 1)) - rng.normal(0, 2, (1, shape[1]))))
        rows = rng.integers(0, 6, shape)
        correct = rng.binomial(rows, chance)
        deviance, converged = additive_deviance(correct, rows)
        assert converged and deviance == pytest.approx(statsmodels_deviance(correct, rows), abs=1e-6)


def test_a_resample_is_what_the_drawn_tasks_rows_would_give() -> None:
    rows = drawn(seed=3, tasks=4)
    table = tabulate(rows)
    found, null, usable = shares(*table.resamples(5, seed=7))
    tasks = list(dict.fromkeys(row.task for row in rows))
    weights = np.random.default_rng(7).multinomial(len(tasks), [1 / len(tasks)] * len(tasks), size=5)
    assert usable.all() and weights.max() > 1
    for at, drawn_times in enumerate(weights):
        again = [
            Row(f"{task}-{copy}", row.level, row.correct)
            for task, times in zip(tasks, drawn_times, strict=True)
            for copy in range(times)
            for row in rows
            if row.task == task
        ]
        alone, its_null, _ = shares(*tabulate(again).counts())
        assert found[:, at] == pytest.approx(alone, abs=1e-8) and null[at] == pytest.approx(float(its_null))


def test_the_interval_is_not_inflated_by_tasks_that_repeat() -> None:
    """Where the category means nothing, 0 is inside. The resamples' plain quantiles leave it out."""
    rng = np.random.default_rng(5)
    rows = [Row(f"C{n % 15}/{n}", level, bool(rng.random() < 0.2)) for n in range(176) for level in "vwxyz"]
    category = decompose(rows, "model").part("category")
    assert category.low == 0 and category.high is not None and category.high < 0.05
    assert np.quantile(shares(*tabulate(rows).resamples(200, 0))[0][0], 0.025) > 0.01


def test_the_test_by_task_is_not_fooled_by_rows_that_repeat_a_task() -> None:
    """Each task is right for all levels or for none, and category means nothing: five rows are no five witnesses."""
    rng = np.random.default_rng(11)
    fooled = {"rows": 0, "tasks": 0}
    for _ in range(20):
        right = rng.random(60) < 0.3
        table = tabulate([Row(f"C{n % 10}/{n}", level, bool(right[n])) for n in range(60) for level in "vwxyz"])
        found, null, _ = shares(*table.counts())
        fooled["rows"] += int(found[0] * null > 16.92)  # the 95 % quantile of chi-squared with 9 degrees of freedom
        fooled["tasks"] += int(permutation_p(table, 99, 0)[0] <= 0.05)
    assert fooled["rows"] > 10 and fooled["tasks"] < 4
    real = decompose(drawn(tasks=30), "model")
    assert all(part.p_permuted is not None and part.p_permuted < 0.01 for part in real.parts)


def test_permutations_keep_what_they_should() -> None:
    rows = [row for row in drawn(seed=2) if row.level != "z" or int(row.task[2:]) < 3]
    table = tabulate(rows)
    correct, counted = table.counts()
    for tasks, levels in ((True, False), (False, True)):
        moved, its_rows = table.permuted(50, 0, tasks=tasks, levels=levels)
        axis = 1 if tasks else 2
        assert (moved.sum(axis) == correct.sum(axis - 1)).all() and (moved != correct).any()
        assert (its_rows.sum(axis) == counted.sum(axis - 1)).all()
        assert levels == bool((its_rows == counted).all())


def finite(found: Decomposition) -> None:
    values = [value for part in found.parts for value in vars(part).values() if isinstance(value, float)]
    assert np.isfinite([found.null_deviance, *values]).all()


def test_what_does_not_vary_has_a_sentence_and_no_figure() -> None:
    for right, word in ((False, "No"), (True, "Every")):
        flat = decompose(rows_of(lambda category, number, level, right=right: right), "model")
        assert flat.notes == (f"{word} row is correct: there is no deviance to explain.",)
        assert (flat.parts, flat.null_deviance) == ((), 0)
    one_task = decompose([Row("A/1", "x", True), Row("A/1", "y", False)], "model")
    assert [part.name for part in one_task.parts] == ["model"] and one_task.part("model").share == 1
    assert one_task.part("model").low is None and one_task.part("model").adjusted is None
    assert "One category only: it has no share." in one_task.notes
    assert "One task only: nothing to resample, so no interval." in one_task.notes
    one_cell = decompose([row for row in drawn() if row.level == "x"], "cell")
    assert [part.name for part in one_cell.parts] == ["category"]
    assert "One cell only: it has no share." in one_cell.notes
    nothing = decompose([Row("A/1", "x", True), Row("A/2", "x", False)], "cell")
    assert nothing.parts == () and len(nothing.notes) == 2
    for found in (one_task, one_cell, nothing):
        finite(found)
    with pytest.raises(ValueError, match="no rows"):
        decompose([], "model")


def test_resamples_without_a_level_or_without_a_share_are_counted() -> None:
    rows = [Row(f"{'rare' if n == 0 else 'common'}/{n}", level, n == 1) for n in range(4) for level in "xy"]
    found = decompose(rows, "model")
    finite(found)
    text = " ".join(found.notes)
    assert "resamples" in text and "lack a category or a model" in text and "all right or all wrong" in text
    assert "Only 2 correct rows for 2 coefficients" in text
    # as often as a draw of four from four lacks one of them, less those that lack what is correct too
    lacking = next(int(note.split()[3]) for note in found.notes if "lack" in note)
    assert abs(lacking / 1000 - ((3 / 4) ** 4 - (2 / 4) ** 4)) < 0.1


def test_factors_that_go_together_leave_each_other_nothing() -> None:
    rows = [Row(f"{name}/{n}", name, n < 3 + 3 * (name == "B")) for name in "AB" for n in range(9)]
    found = decompose(rows, "method")
    assert found.part("category").share == found.part("method").share == pytest.approx(found.part("both").share)
    beyond = found.part("method beyond category")
    assert (beyond.df, beyond.p) == (0, None) and beyond.share == pytest.approx(0, abs=1e-9)


RIGHT = {"good": 3, "poor": 1, "bad": 0}
TASKS = ("Math/softmax", "Activation/gelu_bf16", "Math/log1p", "Activation/relu")


@pytest.fixture
def imports(tmp_path: Path) -> Path:
    for model, right in RIGHT.items():
        sources = [
            Foreign(task, "x = 1\n", recorded=Recorded(correct=at < right, compiled=model == "poor"))
            for at, task in enumerate(TASKS)
        ]
        import_run(tmp_path / "all" / model, Import(sources, model, {"reader": "test"}))
    return tmp_path / "all"


def test_the_command_shows_both_with_and_without_what_is_never_correct(
    imports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = imports.parent / "deviance.json"
    assert main(["deviance", str(imports), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Correctness by category and model: 3 cells, 4 tasks, 12 rows, 4 correct\n")
    assert "by the origin's own verdicts: bad, good, poor" in text
    assert "model: bad 0/4, good 3/4, poor 1/4\ncategory: Activation 1/6, Math 3/6\n" in text
    assert "\nall: 12 rows, 4 correct" in text and "\nwithout bad, which is never correct: 8 rows, 4 correct" in text
    assert max(map(len, text.splitlines())) <= 120 and "nan" not in text
    data = json.loads(out.read_text())
    assert data["factor"] == "model" and data["levels"]["poor"] == {"correct": 1, "rows": 4}
    assert [one["without"] for one in data["decompositions"]] == [[], ["bad"]]
    # of 8 rows 4 are correct, 3 of 4 and 1 of 4
    without = {part["name"]: part for part in data["decompositions"][1]["parts"]}["model"]
    assert without["share"] == pytest.approx(1 + 0.75 * np.log2(0.75) + 0.25 * np.log2(0.25))
    assert main(["deviance", str(imports), "--out", str(out)]) == 2
    assert "exists" in capsys.readouterr().err


def test_levels_and_categories_are_left_out_by_name(imports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deviance", str(imports), "--without", "bad", "--without", "Math"]) == 0
    text = capsys.readouterr().out
    assert "2 cells, 2 tasks, 4 rows, 1 correct\n" in text and "left out: bad, Math\n" in text
    assert "One category only: it has no share." in text and "\nwithout poor, which is never correct: 2 rows" in text
    assert main(["deviance", str(imports), "--without", "goood"]) == 2
    assert capsys.readouterr().err == "error: unknown level 'goood'; did you mean 'good'?\n"
    assert main(["deviance", str(imports), "--without", "Math", "--without", "Activation"]) == 2
    assert "nothing is left" in capsys.readouterr().err
    assert main(["deviance", str(imports), "--by", "method"]) == 0
    assert "One method only: it has no share." in capsys.readouterr().out


def test_a_simulation_and_rows_without_a_verdict_are_told(
    imports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "ours", names=TASKS)
    assert main(["deviance", str(run.path)]) == 2
    assert "none of these runs has a verdict yet" in capsys.readouterr().err
    assert main(["deviance", str(run.path), str(imports / "good"), str(imports / "bad")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Correctness by category and model: 2 cells, ") and "(no verdict at all)" in text
    assert go(run).state == "done"
    run.log_path(TASKS[0]).unlink()
    assert main(["deviance", str(run.path), str(imports / "good")]) == 0
    text = capsys.readouterr().out
    assert "no language model is called" in text and "1 row without a verdict, counted as not correct" in text
    # method and model differ, so each run stands by itself
    assert text.startswith("Correctness by category and cell: 2 cells, 4 tasks, 8 rows")
    (tmp_path / "again").mkdir()
    run.path.rename(tmp_path / "again" / "good")
    assert main(["deviance", str(tmp_path / "again" / "good"), str(imports / "good"), "--by", "model"]) == 0
    assert "model: tests/answers " in capsys.readouterr().out


def test_a_lower_bar_counts_more_rows(imports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deviance", str(imports), "--of", "compiled"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("A row counts as correct here when its kernel is compiled")
    assert "model: bad 0/4, good 3/4, poor 4/4\n" in text
