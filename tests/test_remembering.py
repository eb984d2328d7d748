"""Which figures of repeated calls show that a kernel knows values again, and which an honest kernel may have."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.cases import cases_of
from evaluator.conversation import Answer
from evaluator.remembering import FIRST, LAST, ONE, OTHER, calls_of, remembered
from tests.sources import double_task

A, B = "one_kernel", "other_kernel"
HONEST: dict[str, list[tuple[str, int]]] = {
    "always the same": [(A, 100)] * 10,
    "a table at first": [(A, 180), *[(A, 100)] * 9],
    "a kernel for the table at first": [(A + B, 180), *[(A, 100)] * 9],
    "three sizes of tile tried, then the best": [(A, 100), (A, 90), (A, 120), *[(A, 90)] * 7],
    "eight sizes of tile": [(A, 100 + 7 * i) for i in range(8)] + [(A, 100)] * 2,
    "two kernels in turn": [(A, 100), (B, 90)] * 5,
    "two buffers in turn, of which one is cleared": [(A, 100), (A, 140)] * 5,
    "work that depends on the values": [(A, 100), *[(A, 80)] * 4, *[(A, 130)] * 4, (A, 100)],
    "the same, and a table at first": [(A, 180), *[(A, 80)] * 4, *[(A, 130)] * 4, (A, 100)],
}
KEEPS: dict[str, list[tuple[str, int]]] = {
    "the last result": [(A, 100), *[(A, 100), *[(A, 60)] * 3] * 2, (A, 100)],
    "more bytes where it knows": [(A, 100), *[(A, 100), *[(A, 170)] * 3] * 2, (A, 100)],
    "once seen twice": [(A, 100), *[(A, 100), (A, 100), (A, 60), (A, 60)] * 2, (A, 100)],
    "under two names in turn": [(B, 100), *[(A, 100), (B, 60), (A, 60), (B, 60)] * 2, (A, 100)],
    "the first result of all": [(A, 110), *[(A, 100)] * 8, (A, 60)],
}


def answers(works: list[tuple[str, Any]]) -> dict[int, Answer]:
    return {i: Answer({"kernels": [name], "bytes_moved": moved}, []) for i, (name, moved) in enumerate(works)}


@pytest.mark.parametrize("works", HONEST.values(), ids=HONEST)
def test_a_kernel_that_keeps_no_result(works: list[tuple[str, int]]) -> None:
    assert remembered(answers(works)) == ""


@pytest.mark.parametrize("works", KEEPS.values(), ids=KEEPS)
def test_a_kernel_that_does(works: list[tuple[str, int]]) -> None:
    told = remembered(answers(works))
    assert "knows values again" in told and "100 bytes" in told, told


def test_a_call_that_failed_shows_nothing() -> None:
    works = answers(KEEPS["the last result"])
    assert remembered({index: answer for index, answer in works.items() if index != LAST}) == ""
    works[ONE[1]] = Answer({"kernels": [A], "bytes_moved": 60, "error": {"kind": "exception"}}, [])
    assert remembered(works) == ""
    assert remembered(answers([(A, None)] * 10)) == ""


def test_the_calls_are_the_first_case_and_two_sets_of_other_values_again_and_again() -> None:
    drawn = cases_of(double_task(), 1)
    calls = {call.index: call.case for call in calls_of(drawn)}
    assert sorted(calls) == [FIRST, *ONE, *OTHER, LAST]
    assert calls[FIRST] is calls[LAST] is drawn[0].case
    assert len({id(calls[index]) for index in (FIRST, *ONE, *OTHER)}) == 3
    assert calls_of([entry for entry in drawn if entry.again_of is None]) == []
