"""Faults before the real evaluator: each kind leads to what it says, and its diagnosis is evidence enough to mend it.

Every kind is tried on one of the oracles in `FIRST`, and every week one kind on half of the oracles of the suite.
`make admission` tries every kind on every oracle. Hidden cases are drawn from a fixed secret, so a verdict doesn't
change from run to run.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from first_tasks import FIRST, WEEK

from agents.models.prompt import read
from agents.protocol import Candidate, Message
from evaluator.judge import Evaluator
from evaluator.records import Evaluation
from prompts.loader import Templates
from tasks.catalog import built, index, load, oracle_path
from tasks.faults.catalog import FAULTS, by_name, fitting
from tasks.faults.equivalent import EQUIVALENT, OUT_OF_REACH, why_right
from tasks.faults.fault import Fault
from tasks.outcomes import Reason, Status


@cache
def oracle(task: str) -> str:
    return oracle_path(task).read_text()


def pairs(*, slow: bool) -> list[tuple[str, str]]:
    """For each kind the task that has had the fewest so far, of those where it makes a mistake."""
    chosen: list[tuple[str, str]] = []
    had: Counter[str] = Counter()
    for fault in FAULTS:
        tasks = [task for task in FIRST if fault.slow is slow and fault.apply(oracle(task)) is not None]
        tasks = [task for task in tasks if not why_right(fault.name, task)]
        for task in sorted(tasks, key=lambda task: had[task])[:1]:
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


def of_the_week(task: str) -> Fault:
    """One kind of mistake for the task's oracle, another every second week."""
    kinds = [fault for fault in fitting(oracle(task)) if not fault.slow and not why_right(fault.name, task)]
    kinds = [fault for fault in kinds if Reason.NO_CODE not in fault.reasons]
    return kinds[(WEEK // 2 + list(index()).index(task)) % len(kinds)]


def test_every_one_of_the_first_oracles_is_tried():
    assert {task for _, task in pairs(slow=False)} == set(FIRST)


@pytest.mark.parametrize("task", built()[WEEK % 2 :: 2])
def test_the_mutant_of_the_week_is_refused(evaluator: Evaluator, task: str):
    fault = of_the_week(task)
    _, evaluation = judged(evaluator, fault, task)
    assert not evaluation.correct, fault.name
    assert evaluation.status is not Status.INFRA_ERROR, f"{fault.name}: {evaluation.diagnosis}"


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
