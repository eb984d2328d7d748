"""The order of candidates."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from agents.ranking import best, rank
from evaluator.records import CaseRow, Evaluation
from tasks.outcomes import Status

PLAIN = Evaluation("Toy/one", "", Status.CORRECT, None, None, "")
RIGHT, WRONG = CaseRow("a", "public", True), CaseRow("b", "public", False)
BEST_FIRST = [
    replace(PLAIN, speedup=2.0, traffic=3.0),
    replace(PLAIN, speedup=0.5, traffic=1.0),
    replace(PLAIN, traffic=1.0),
    replace(PLAIN, traffic=2.0),
    PLAIN,
    replace(PLAIN, status=Status.WRONG, cases=(RIGHT, WRONG)),
    replace(PLAIN, status=Status.WRONG, cases=(WRONG, WRONG), traffic=1.0),
    replace(PLAIN, status=Status.RUNTIME_ERROR),
    replace(PLAIN, status=Status.TIMEOUT),
    replace(PLAIN, status=Status.COMPILE_ERROR),
    replace(PLAIN, status=Status.REJECTED, numerically_right=True),
    replace(PLAIN, status=Status.REJECTED, numerically_right=False),
    replace(PLAIN, status=Status.INFRA_ERROR),
]


@dataclass
class One:
    evaluation: Evaluation


def test_the_order_is_the_stated_one() -> None:
    shuffled = BEST_FIRST.copy()
    random.Random(1).shuffle(shuffled)
    assert sorted(shuffled, key=rank, reverse=True) == BEST_FIRST


def test_the_first_of_equals_wins_and_the_unjudged_never() -> None:
    first, second, broken = One(BEST_FIRST[4]), One(BEST_FIRST[4]), One(BEST_FIRST[-1])
    assert best([first, second]) is first
    assert best([broken]) is None
    assert best([]) is None
