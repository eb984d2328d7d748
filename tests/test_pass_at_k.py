"""pass@k against the chance counted over all draws, and over what a real loop recorded."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from loop_fakes import NAMES, Lanes, Verdicts, go, infra, make_run

from agents.imports import Foreign, Import, import_run
from agents.methods.best_of_n import BestOfN
from agents.protocol import Context
from agents.verdicts import Recorded
from evaluator.records import Evaluation
from experiments.cells import cells_of
from experiments.pass_at_k import first_tries, pass_at_k, unbiased
from tasks.outcomes import Status
from tasks.task import Task


@pytest.mark.parametrize(("n", "correct", "k"), [(1, 0, 1), (1, 1, 1), (5, 2, 1), (5, 2, 3), (5, 2, 4), (6, 1, 6)])
def test_the_estimate_is_the_share_of_draws_with_a_correct_one(n: int, correct: int, k: int) -> None:
    draws = list(combinations([True] * correct + [False] * (n - correct), k))
    assert unbiased(n, correct, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_the_mean_is_over_the_tasks_that_have_enough() -> None:
    tries = {"a": (True, False), "b": (False, False), "c": (True, True, False), "d": ()}
    one, two = pass_at_k(tries)
    assert (one.k, one.tasks, one.listed, one.fewest, one.most) == (1, 3, 4, 2, 3)
    assert one.value == pytest.approx((1 / 2 + 0 + 2 / 3) / 3)
    assert (two.k, two.tasks, two.value) == (2, 3, pytest.approx((1 + 0 + 1) / 3))
    assert one.low is not None and one.high is not None and 0 <= one.low < one.value < one.high <= 2 / 3
    (three,) = pass_at_k(tries, (3, 4))
    assert (three.k, three.tasks, three.value, three.low) == (3, 1, 1.0, None)
    assert pass_at_k({"a": ()}) == () == pass_at_k({})


def test_the_interval_is_that_of_the_bootstrap_and_alike_tasks_have_none() -> None:
    from scipy.stats import bootstrap

    values = [True] * 30 + [False] * 70
    (found,) = pass_at_k({str(at): (value,) for at, value in enumerate(values)})
    theirs = bootstrap(([float(v) for v in values],), lambda v, axis: v.mean(axis=axis), method="percentile", rng=1)
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.02)
    (alike,) = pass_at_k({"a": (False,), "b": (False,)})
    assert (alike.value, alike.low, alike.high) == (0.0, None, None)


class Mends:
    """Asks, and mends what came, in one round."""

    name = "mends"

    def run(self, task: Task, ctx: Context) -> None:
        for _ in ctx.rounds():
            last = ctx.evaluate(ctx.ask(ctx.render("generate.j2")).code)
            ctx.evaluate(ctx.ask(ctx.render("fix.j2", last=last.index)).code, parents=[last.index])


def test_a_candidate_that_came_from_another_is_no_independent_one(tmp_path: Path) -> None:
    go(make_run(tmp_path / "mended"), method=Mends())
    (mended,) = cells_of([str(tmp_path / "mended")])
    for task in NAMES:
        assert first_tries(mended)[task] == (mended.run.candidates(task)[0].correct,)


def test_candidates_of_later_rounds_are_not_counted(tmp_path: Path) -> None:
    sampled = go(make_run(tmp_path / "sampled"), method=BestOfN(4))
    mended = go(make_run(tmp_path / "mended"), method=Lanes())
    assert sampled.state == mended.state == "done"
    for cell in cells_of([str(tmp_path / "sampled"), str(tmp_path / "mended")]):
        tries, lanes = first_tries(cell), 4 if cell.run.path.name == "sampled" else 3
        for task in NAMES:
            first = [one for one in cell.run.candidates(task) if one.round == 1]
            assert len(tries[task]) == len(first) == lanes < len(cell.verdicts[task])
            assert sum(tries[task]) == sum(one.correct for one in first)


class Breaks(Verdicts):
    """The machine fails for the second task."""

    def evaluate(self, task: Task, source: str) -> Evaluation:
        return infra(task.id, source) if task.id == NAMES[1] else super().evaluate(task, source)


def test_what_the_machine_broke_is_no_try_and_an_origin_has_tries_of_its_own(tmp_path: Path) -> None:
    go(make_run(tmp_path / "broken"), evaluator=Breaks())
    (broken,) = cells_of([str(tmp_path / "broken")])
    judged = [one.evaluation.status for one in broken.run.candidates(NAMES[1])]
    assert Status.INFRA_ERROR in judged  # beside replies without code, which nobody has to run
    assert len(first_tries(broken)[NAMES[1]]) == sum(status is not Status.INFRA_ERROR for status in judged)
    assert len(first_tries(broken)[NAMES[0]]) == 3
    found = [
        Foreign("Math/log1p", "a = 1\n", recorded=Recorded(correct=True)),
        Foreign("Math/log1p", "b = 1\n", lane=1, recorded=Recorded(called=True)),
        Foreign("Math/log1p", "c = 1\n", lane=2),
        Foreign("Math/log1p", "d = 1\n", round=2, recorded=Recorded(correct=True)),
    ]
    import_run(tmp_path / "theirs", Import(found, "m", {"reader": "test"}))
    (theirs,) = cells_of([str(tmp_path / "theirs")])
    assert first_tries(theirs) == {"Math/log1p": (True, False)}


@pytest.mark.parametrize(("n", "correct", "k"), [(2, 0, 3), (2, 3, 1), (2, -1, 1), (2, 1, 0)])
def test_impossible_counts_are_refused(n: int, correct: int, k: int) -> None:
    with pytest.raises(ValueError, match="no pass@"):
        unbiased(n, correct, k)
