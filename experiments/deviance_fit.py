"""Deviance of binomial logistic regressions on counts: `correct` of `rows`, by category and by level.

The last two axes of counts are (categories, levels); before them may stand any number of resamples, so that a
thousand fits are one computation. The deviance is that of single rows, -2 times the log-likelihood (McCullagh and
Nelder, Generalized Linear Models, section 4.4), in which a group where everything is right or wrong has none.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_STEPS = 100
# of the deviance. A coefficient on its way to infinity takes about 1 a step, so what is left is as small as the change
TOLERANCE = 1e-10
RIDGE = 1e-9


@dataclass(frozen=True)
class Row:
    """One outcome: has a cell of this level (a method, a model, or itself) a correct kernel for the task? One that is
    not `judged` has no verdict yet."""

    task: str
    level: str
    correct: bool
    judged: bool = True

    @property
    def category(self) -> str:
        return self.task.rpartition("/")[0]


@dataclass(frozen=True)
class Table:
    """Counts of (tasks, levels), and the place of each task's category among `categories`."""

    categories: tuple[str, ...]
    levels: tuple[str, ...]
    place: Counts
    correct: Counts
    rows: Counts

    def counts(self, weights: Counts | None = None) -> tuple[Counts, Counts]:
        """Correct and all rows of (..., categories, levels), each task as often as its weight of (..., tasks)."""
        times = np.ones(len(self.place), dtype=np.int64) if weights is None else weights
        belongs = np.eye(len(self.categories), dtype=np.int64)[self.place]

        def weighed(outcomes: Counts) -> Counts:
            by_category = (belongs[:, :, None] * outcomes[:, None, :]).reshape(len(self.place), -1)
            return (times @ by_category).reshape(*times.shape[:-1], len(self.categories), -1)

        return weighed(self.correct), weighed(self.rows)

    def resamples(self, number: int, seed: int) -> tuple[Counts, Counts]:
        """The same for `number` bootstrap samples of the tasks, each drawn whole, with all its rows."""
        tasks = len(self.place)
        return self.counts(np.random.default_rng(seed).multinomial(tasks, [1 / tasks] * tasks, size=number))

    def permuted(self, number: int, seed: int, *, tasks: bool, levels: bool) -> tuple[Counts, Counts]:
        """The same with outcomes that are exchanged at random: whole tasks between categories, or within each task the
        levels that have rows, or both."""
        rng = np.random.default_rng(seed)
        place = np.tile(self.place, (number, 1))
        if tasks:
            place = rng.permuted(place, axis=1)
        absent = self.rows == 0
        here = np.broadcast_to(np.argsort(absent, axis=-1, kind="stable"), (number, *absent.shape))
        there = np.argsort(rng.random(here.shape) + 2 * absent, axis=-1) if levels else here
        belongs = np.swapaxes(np.eye(len(self.categories), dtype=np.int64)[place], -1, -2)

        def exchanged(outcomes: Counts) -> Counts:
            moved = np.empty(here.shape, dtype=np.int64)
            source = np.broadcast_to(outcomes, here.shape)
            np.put_along_axis(moved, here, np.take_along_axis(source, there, -1), -1)
            return belongs @ moved

        return exchanged(self.correct), exchanged(self.rows)


def tabulate(rows: Sequence[Row]) -> Table:
    """Categories by name, tasks and levels as they come."""
    tasks = {task: at for at, task in enumerate(dict.fromkeys(row.task for row in rows))}
    levels = {level: at for at, level in enumerate(dict.fromkeys(row.level for row in rows))}
    category = {row.task: row.category for row in rows}
    categories = sorted(set(category.values()))
    correct, counted = np.zeros((2, len(tasks), len(levels)), dtype=np.int64)
    for row in rows:
        counted[tasks[row.task], levels[row.level]] += 1
        correct[tasks[row.task], levels[row.level]] += row.correct
    place = np.array([categories.index(category[task]) for task in tasks])
    return Table(tuple(categories), tuple(levels), place, correct, counted)


def grouped_deviance(correct: Counts, rows: Counts) -> Floats:
    """The deviance left by one factor: (..., groups) to (...). In closed form, as each group's fitted probability is
    its share of correct rows; a group without rows has none. One group: the null deviance."""
    wrong = rows - correct
    some = np.maximum(rows, 1)
    likelihood = _times_log(correct, correct / some) + _times_log(wrong, wrong / some)
    left: Floats = -2 * likelihood.sum(axis=-1)
    return left


def additive_deviance(correct: Counts, rows: Counts) -> tuple[Floats, NDArray[np.bool_]]:
    """The deviance left by category and level together, without interaction, and whether the fit converged.

    (..., categories, levels) to (...) twice. Levels that are separated are taken out first: at the infinite coefficient
    their part of the deviance is 0, whatever the others are. The rest is Newton's method (Fisher scoring, as the link
    is canonical) with halved steps, so the deviance never rises; where a combination of coefficients is infinite
    still, it falls towards its limit by a factor of e a step.
    """
    correct, rows = unseparated(correct, rows)
    logits = np.zeros(correct.shape)
    deviance = _deviance_at(logits, correct, rows)
    for _ in range(MOST_STEPS):
        step = _newton_step(logits, correct, rows)
        after = _deviance_at(logits + step, correct, rows)
        for _ in range(MOST_STEPS):
            worse = after > deviance + TOLERANCE
            if not worse.any():
                break
            step = np.where(worse[..., None, None], step / 2, step)
            after = _deviance_at(logits + step, correct, rows)
        logits = logits + step
        done = np.abs(deviance - after) <= TOLERANCE * (1 + after)
        deviance = np.minimum(deviance, after)
        if done.all():
            break
    return np.maximum(deviance, 0.0), done


def shares(correct: Counts, rows: Counts) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The shares of the null deviance of category, level, both, category beyond level, and level beyond category, as
    (5, ...); the null deviance; and whether there is one and the joint fit converged. Without one all shares are 0.
    """
    null = grouped_deviance(correct.sum((-1, -2))[..., None], rows.sum((-1, -2))[..., None])
    joint, converged = additive_deviance(correct, rows)
    left = (grouped_deviance(correct.sum(-1), rows.sum(-1)), grouped_deviance(correct.sum(-2), rows.sum(-2)), joint)
    # of single rows the deviance is 0 or at least of order 1, so what lies below is rounding
    varies = null > TOLERANCE
    category, level, both = (np.clip((null - one) / np.where(varies, null, 1.0), 0, 1) for one in left)
    beyond = np.maximum(both - level, 0), np.maximum(both - category, 0)
    explained = np.where(varies, np.stack([category, level, both, *beyond]), 0.0)
    return explained, np.where(varies, null, 0.0), varies & converged


def permutation_p(table: Table, number: int, seed: int) -> Floats:
    """The chance of shares as large as these five where the factor means nothing, by `number` permutations that keep
    the rows of a task together: (1 + those at least as large) / (1 + all) (Phipson and Smyth 2010)."""
    observed = shares(*table.counts())[0]
    by_category, by_level, by_both = (
        shares(*table.permuted(number, seed, tasks=tasks, levels=levels))[0]
        for tasks, levels in ((True, False), (False, True), (True, True))
    )
    under = np.stack([by_category[0], by_level[1], by_both[2], by_category[3], by_level[4]])
    as_large: Floats = (under >= observed[:, None] - 1e-9).sum(-1)
    return (1 + as_large) / (1 + number)


def statsmodels_deviance(correct: Counts, rows: Counts) -> float:
    """The same for one table by statsmodels' GLM, without what `unseparated` takes out; for one factor, a table
    with one row or one column. The deviance is taken at the fitted probabilities of the single rows."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    correct, rows = unseparated(correct, rows)
    used = rows > 0
    if not used.any():
        return 0.0
    right, wrong = correct[used], (rows - correct)[used]
    with warnings.catch_warnings():
        # of a combination that is separated still: its coefficient is infinite, which is no error here
        warnings.simplefilter("ignore")
        model: Any = GLM(np.column_stack([right, wrong]), _basis(used), family=Binomial())
        fitted = model.fit(maxiter=MOST_STEPS, tol=TOLERANCE).mu
    return float(-2 * (_times_log(right, fitted) + _times_log(wrong, 1 - fitted)).sum())


def unseparated(correct: Counts, rows: Counts) -> tuple[Counts, Counts]:
    """The tables with no rows in any category or level that is always right or always wrong, nor in one that is so
    among the rest: their coefficients are infinite (Albert and Anderson 1984, Biometrika 71)."""
    while True:
        used = rows > 0
        for axis in (-1, -2):
            right, all_rows = correct.sum(axis, keepdims=True), rows.sum(axis, keepdims=True)
            used = used & (right > 0) & (right < all_rows)
        if (used == (rows > 0)).all():
            return correct, rows
        correct, rows = np.where(used, correct, 0), np.where(used, rows, 0)


def separation(table: Table, factor: str) -> list[str]:
    """A sentence on which levels are never or always right, and which are so among what is left without those."""
    correct, rows = table.counts()
    left = unseparated(correct, rows)[1]
    first: list[str] = []
    later: list[str] = []
    for kind, names, axis in (("category", table.categories, 1), (factor, table.levels, 0)):
        right, every, kept = correct.sum(axis), rows.sum(axis), left.sum(axis)
        for word, extreme in (("never", right == 0), ("always", right == every)):
            listed = ", ".join(name for name, its in zip(names, extreme, strict=True) if its)
            first += [f"{word} correct: {kind} {listed}"] if listed else []
        gone = (right > 0) & (right < every) & (kept == 0)
        later += [f"{kind} {name}" for name, its in zip(names, gone, strict=True) if its]
    then = f" So are, without those: {', '.join(later)}." if later else ""
    return [f"Separated (coefficient infinite, deviance finite): {'; '.join(first)}.{then}"] if first else []


def parameters(rows: Counts) -> int:
    """How many parameters the additive model of one table has, the intercept among them: the rank of its design."""
    return int(np.linalg.matrix_rank(_design(rows > 0)))


def _design(used: NDArray[np.bool_]) -> Floats:
    """An indicator of every category and every level, for each used place of the table; one column too many, which
    changes neither fit nor rank."""
    category, level = np.nonzero(used)
    return np.hstack([np.eye(used.shape[0])[category], np.eye(used.shape[1])[level]])


def _basis(used: NDArray[np.bool_]) -> Floats:
    """The same space by as many columns as it has dimensions: statsmodels' steps can run away where there are more."""
    vectors, sizes, _ = np.linalg.svd(_design(used), full_matrices=False)
    basis: Floats = vectors[:, sizes > 1e-9 * sizes[0]]
    return basis


def _newton_step(logits: Floats, correct: Counts, rows: Counts) -> Floats:
    """The change of the logits by one step for (categories + levels) coefficients. The information has a block diagonal
    for each factor, and the weights themselves between the two."""
    categories, levels = logits.shape[-2:]
    fitted = 0.5 * (1 + np.tanh(logits / 2))
    weights, residual = rows * fitted * (1 - fitted), correct - rows * fitted
    size = categories + levels
    information = np.zeros((*logits.shape[:-2], size, size))
    information[..., :categories, categories:] = weights
    information[..., categories:, :categories] = np.swapaxes(weights, -1, -2)
    diagonal = np.concatenate([weights.sum(-1), weights.sum(-2)], axis=-1)
    # the ridge stands for the column too many and for levels without rows; it moves no logit at the end
    information[..., range(size), range(size)] = diagonal + RIDGE
    score = np.concatenate([residual.sum(-1), residual.sum(-2)], axis=-1)
    change = np.linalg.solve(information, score[..., None])[..., 0]
    step: Floats = change[..., :categories, None] + change[..., None, categories:]
    return step


def _deviance_at(logits: Floats, correct: Counts, rows: Counts) -> Floats:
    # a place without rows may have any logit, and has no part
    parts = np.where(rows > 0, rows * np.logaddexp(0, logits) - correct * logits, 0.0)
    total: Floats = 2 * parts.sum(axis=(-1, -2))
    return total


def _times_log(count: Counts, probability: Floats) -> Floats:
    """count * log(probability), 0 for a count of 0."""
    logs = np.log(np.where(count > 0, probability, 1.0))
    product: Floats = np.multiply(count, logs)
    return product
