"""Which candidate is better: the one order that `best`, the pool and the tables share."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Protocol, TypeVar

from evaluator.records import Evaluation
from tasks.outcomes import Status

ORDER = (
    Status.CORRECT,
    Status.WRONG,
    Status.RUNTIME_ERROR,
    Status.TIMEOUT,
    Status.COMPILE_ERROR,
    Status.REJECTED,
    Status.INFRA_ERROR,
)


class Judged(Protocol):
    """Anything with a verdict: a candidate of a running method, or one out of a log."""

    @property
    def evaluation(self) -> Evaluation: ...


C = TypeVar("C", bound=Judged)


def rank(evaluation: Evaluation) -> tuple[float, ...]:
    """Larger is better. First the status: correct, wrong, runtime_error, timeout, compile_error, rejected, infra_error.

    Then, of correct ones, the higher speedup over eager, and without one the lower traffic; a measured one comes
    before an unmeasured one. Of the others, right values where only the contract refuses, then the share of cases
    that are right.
    """
    status = float(-ORDER.index(evaluation.status))
    if evaluation.correct:
        speedup = -inf if evaluation.speedup is None else evaluation.speedup
        return status, speedup, -inf if evaluation.traffic is None else -evaluation.traffic
    right = sum(row.right is True for row in evaluation.cases)
    return status, float(evaluation.numerically_right is True), right / max(1, len(evaluation.cases))


def best(candidates: Iterable[C]) -> C | None:
    """The best candidate by `rank`, of equal ones the first; None when there is none that was judged."""
    judged = [one for one in candidates if one.evaluation.status is not Status.INFRA_ERROR]
    return max(judged, key=lambda one: rank(one.evaluation), default=None)
