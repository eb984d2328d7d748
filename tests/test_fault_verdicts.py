"""Faults before the real evaluator: each kind leads to what it says, and its diagnosis is evidence enough to mend it.

Every kind is tried on one oracle. KERNELMEND_EVERY_PAIR=1 tries every kind on every oracle that it fits, which takes
minutes: for whoever adds a task or a kind. Hidden cases are drawn from a fixed secret, so a verdict doesn't change
from run to run.
"""

import os
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from agents.models.prompt import read
from agents.protocol import Candidate, Message
from evaluator.judge import Evaluator
from evaluator.records import Evaluation
from prompts.loader import Templates
from tasks.catalog import built, load, oracle_path
from tasks.faults.catalog import FAULTS, by_name
from tasks.faults.equivalent import EQUIVALENT, OUT_OF_REACH, why_right
from tasks.faults.fault import Fault
from tasks.outcomes import Reason

EVERY_PAIR = os.environ.get("KERNELMEND_EVERY_PAIR") == "1"


@cache
def oracle(task: str) -> str:
    return oracle_path(task).read_text()


def pairs(*, slow: bool) -> list[tuple[str, str]]:
    """Kinds and tasks: all that fit and make a mistake, or for each kind the task that has had the fewest so far."""
    chosen: list[tuple[str, str]] = []
    had: Counter[str] = Counter()
    for fault in FAULTS:
        tasks = [task for task in built() if fault.slow is slow and fault.apply(oracle(task)) is not None]
        tasks = [task for task in tasks if not why_right(fault.name, task)]
        for task in tasks if EVERY_PAIR else sorted(tasks, key=lambda task: had[task])[:1]:
            had[task] += 1
            chosen.append((fault.name, task))
    return chosen


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    with Evaluator(device="cpu", targets=("sm90",), workers=2, secret=b"fault verdicts") as running:
        yield running


def judged(evaluator: Evaluator, fault: Fault, task: str) -> tuple[str, Evaluation]:
    if Reason.NO_CODE in fault.reasons:
        return "", evaluator.evaluate(load(task), "")
    source = fault.apply(oracle(task))
    assert source is not None
    return source, evaluator.evaluate(load(task), source)


def test_every_oracle_is_tried():
    assert {task for _, task in pairs(slow=False)} == set(built())


@pytest.mark.parametrize(("name", "task"), pairs(slow=False))
def test_a_mistake_leads_to_what_it_says(evaluator: Evaluator, name: str, task: str):
    fault = by_name(name)
    source, evaluation = judged(evaluator, fault, task)
    assert evaluation.status in fault.expects, evaluation.diagnosis
    assert evaluation.reason in fault.reasons, evaluation.diagnosis
    last = Candidate(0, 1, 0, source, evaluation)
    told = Templates().render("fix.j2", task=load(task), cases=[], last=last)
    assert read([Message("user", told)]).proves(fault), evaluation.diagnosis


@pytest.mark.parametrize(("name", "task"), sorted({**EQUIVALENT, **OUT_OF_REACH}))
def test_a_mutant_kept_apart_is_right(evaluator: Evaluator, name: str, task: str):
    _, evaluation = judged(evaluator, by_name(name), task)
    assert evaluation.correct, evaluation.diagnosis


@pytest.mark.parametrize(("name", "task"), pairs(slow=True))
def test_a_slow_kernel_is_right_and_moves_more_bytes(evaluator: Evaluator, name: str, task: str):
    _, evaluation = judged(evaluator, by_name(name), task)
    best = evaluator.evaluate(load(task), oracle(task))
    assert evaluation.correct, evaluation.diagnosis
    assert evaluation.traffic is not None
    assert best.traffic is not None
    assert evaluation.traffic > best.traffic
