"""The account of a run, on histories small enough to count by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from agents.efficiency import mean_of
from agents.protocol import Usage
from agents.report_table import PLAIN_WIDTH, account_text, many, mean_text
from agents.tracker import Account, State, account
from evaluator.records import Evaluation
from tasks.outcomes import Reason, Stage, Status


@dataclass(frozen=True)
class Tried:
    round: int
    evaluation: Evaluation


@dataclass(frozen=True)
class Paid:
    round: int
    usage: Usage


def tried(
    round: int,
    status: Status = Status.CORRECT,
    *,
    reason: Reason | None = None,
    traffic: float | None = None,
    speedup: float | None = None,
) -> Tried:
    called = status in (Status.WRONG, Status.CORRECT)
    verdict = Evaluation(
        task="t",
        source_sha="sha",
        status=status,
        stage=None if status is Status.CORRECT else Stage.RUN,
        reason=reason,
        diagnosis="",
        compiled=called or status is Status.RUNTIME_ERROR,
        called=called,
        traffic=traffic,
        speedup=speedup,
    )
    return Tried(round, verdict)


def own_states(of: Account, task: str) -> list[State]:
    return [row.own.states[task] for row in of.rounds]


def best_states(of: Account, task: str) -> list[State]:
    return [row.best.states[task] for row in of.rounds]


def test_every_state_against_the_round_before() -> None:
    of = account(
        ["up", "down", "good", "bad"],
        {
            "up": [tried(1, Status.WRONG), tried(2), tried(3)],
            "down": [tried(1), tried(2, Status.WRONG), tried(3)],
            "good": [tried(1), tried(2), tried(3)],
            "bad": [tried(1, Status.WRONG), tried(2, Status.COMPILE_ERROR), tried(3, Status.WRONG)],
        },
    )
    assert own_states(of, "up") == [State.FAILING, State.RESCUED, State.PERSISTENT]
    assert own_states(of, "down") == [State.CORRECT, State.REGRESSED, State.RESCUED]
    assert own_states(of, "good") == [State.CORRECT, State.PERSISTENT, State.PERSISTENT]
    assert own_states(of, "bad") == [State.FAILING] * 3
    assert best_states(of, "down") == [State.CORRECT, State.PERSISTENT, State.PERSISTENT]
    assert [row.state for row in of.tasks] == [State.RESCUED, State.PERSISTENT, State.PERSISTENT, State.FAILING]
    assert [row.solved_in_round for row in of.tasks] == [2, 1, 1, None]


def test_rates_are_over_the_task_list_and_any_candidate_of_the_round_counts() -> None:
    of = account(
        ["a", "b", "c", "never"],
        {
            "a": [tried(1, Status.COMPILE_ERROR), tried(1)],
            "b": [tried(1, Status.RUNTIME_ERROR)],
            "c": [tried(1, Status.WRONG), tried(2, Status.COMPILE_ERROR)],
        },
    )
    first, second = of.rounds
    assert (first.own.compile_rate, first.own.call_rate, first.own.correct_rate) == (3 / 4, 2 / 4, 1 / 4)
    assert (second.own.compile_rate, second.own.call_rate) == (2 / 4, 1 / 4)
    assert (second.best.compile_rate, second.best.call_rate) == (3 / 4, 2 / 4)
    assert own_states(of, "never") == [State.FAILING, State.FAILING]
    assert of.tasks[3].status is None
    assert (first.submitted, second.submitted) == (3, 1)


def test_a_task_that_submits_nothing_stands_where_it_stood() -> None:
    of = account(
        ["solved early", "gave up", "long"],
        {
            "solved early": [tried(1, Status.WRONG), tried(2)],
            "gave up": [tried(1), tried(2, Status.WRONG)],
            "long": [tried(n, Status.WRONG) for n in (1, 2, 3, 4)],
        },
    )
    assert own_states(of, "solved early")[1:] == [State.RESCUED, State.PERSISTENT, State.PERSISTENT]
    assert own_states(of, "gave up")[1:] == [State.REGRESSED, State.FAILING, State.FAILING]
    assert [row.submitted for row in of.rounds] == [3, 3, 1, 1]


def test_infra_errors_are_no_submissions() -> None:
    of = account(["a"], {"a": [tried(1), tried(2, Status.INFRA_ERROR)]})
    assert own_states(of, "a") == [State.CORRECT, State.PERSISTENT]
    assert [(row.infra, row.submitted) for row in of.rounds] == [(0, 1), (1, 0)]
    assert of.tasks[0].submissions == 1


def test_not_interpretable_is_counted_apart() -> None:
    of = account(["a"], {"a": [tried(1, Status.RUNTIME_ERROR, reason=Reason.NOT_INTERPRETABLE)]})
    assert of.rounds[0].not_interpretable == 1
    assert of.rounds[0].own.states["a"] is State.FAILING


def test_the_figure_of_each_group_apart_and_of_the_best_candidate() -> None:
    of = account(
        ["kept", "mended", "lost"],
        {
            "kept": [tried(1, traffic=2.0), tried(2, traffic=3.0), tried(2, traffic=8.0)],
            "mended": [tried(1, Status.WRONG), tried(2, traffic=1.5)],
            "lost": [tried(1, traffic=1.0), tried(2, Status.WRONG)],
        },
    )
    groups = of.rounds[1].own.groups
    assert groups[State.PERSISTENT].traffic == mean_of([3.0])
    assert groups[State.RESCUED].traffic == mean_of([1.5])
    assert groups[State.REGRESSED].traffic is None
    assert groups[State.REGRESSED].tasks == 1
    best = of.rounds[1].best.groups[State.PERSISTENT].traffic
    assert best is not None and best.n == 2 and best.geometric == pytest.approx(math.sqrt(2.0))


def test_slower_than_eager_is_a_share_of_timed_correct_kernels() -> None:
    of = account(["a", "b", "c"], {"a": [tried(1, speedup=0.5)], "b": [tried(1, speedup=2.0)], "c": [tried(1)]})
    assert of.rounds[0].own.slower_than_eager == 0.5
    untimed = account(["a"], {"a": [tried(1, traffic=1.0)]})
    assert untimed.rounds[0].own.slower_than_eager is None


def test_a_wrong_kernel_has_no_figure() -> None:
    of = account(["a"], {"a": [tried(1, Status.WRONG, traffic=1.5, speedup=3.0)]})
    assert (of.tasks[0].traffic, of.tasks[0].speedup) == (None, None)
    assert of.rounds[0].own.groups[State.FAILING].traffic is None


def test_an_unknown_cost_is_none_and_never_zero() -> None:
    replies = {
        "a": [Paid(1, Usage(input_tokens=10, output_tokens=5, usd=0.25)), Paid(2, Usage(input_tokens=7))],
        "b": [Paid(1, Usage(input_tokens=1, output_tokens=2, usd=0.5))],
    }
    of = account(["a", "b"], {"a": [tried(1), tried(2)], "b": [tried(1)]}, replies)
    first, second = (row.spending for row in of.rounds)
    assert (first.replies, first.input_tokens, first.output_tokens, first.usd) == (2, 11, 7, 0.75)
    assert (second.input_tokens, second.output_tokens, second.usd) == (7, None, None)
    assert of.spending.usd is None and of.spending.input_tokens == 18
    lines = account_text(of).splitlines()
    assert any(line.endswith(" 11 in, 7 out  $0.7500") for line in lines)
    assert any(line.endswith(" 7 in, ? out        ?") for line in lines)
    assert lines[-1].endswith("3 replies, tokens 18 in, ? out, cost ?.")


def test_records_of_a_task_off_the_list_are_refused() -> None:
    with pytest.raises(ValueError, match="beside it: \\['b'\\]"):
        account(["a"], {"b": [tried(1)]})
    with pytest.raises(ValueError, match="once"):
        account(["a", "a"], {})
    assert account(["a"], {}).rounds == ()


def test_means_and_their_interval() -> None:
    assert mean_of([]) is None
    one = mean_of([4.0])
    assert one is not None and (one.n, one.low, one.high) == (1, None, None)
    assert one.geometric == pytest.approx(4.0)
    mean = mean_of([1.0, 2.0, 4.0, 8.0])
    assert mean is not None and mean.low is not None and mean.high is not None
    assert mean.geometric == pytest.approx(2**1.5)
    assert mean.arithmetic == pytest.approx(3.75)
    assert 1.0 <= mean.low < mean.geometric < mean.high <= 8.0
    assert mean == mean_of([1.0, 2.0, 4.0, 8.0])
    assert mean != mean_of([1.0, 2.0, 4.0, 8.0], seed=1)
    with pytest.raises(ValueError, match="positive"):
        mean_of([1.0, 0.0])


def test_the_plain_table_says_what_the_account_says() -> None:
    of = account(
        ["Math/up", "Math/bad"],
        {"Math/up": [tried(1, Status.WRONG), tried(2, traffic=1.25)], "Math/bad": [tried(1, Status.WRONG)]},
        {"Math/up": [Paid(1, Usage())]},
    )
    text = account_text(of)
    lines = [line.split() for line in text.splitlines()]
    assert ["2", "100%", "0", "100%", "50%", "1", "0", "0", "1"] in lines
    assert ["2", "rescued", "1.25x", "n=1", "1.25x", "n=1"] in lines
    assert ["Math/up", "rescued", ".R", "2", "1.25x", "-", "2"] in lines
    assert ["Math/bad", "failing", "..", "-", "-", "-", "1"] in lines
    assert ["Math/bad", "wrong"] in lines
    assert "1 rescued, 1 failing" in text and "cost ?" in text
    assert "\x1b" not in text and "1 reply," in text


def test_the_plain_table_fits_and_loses_nothing() -> None:
    long, longer = "Fusion/fused_cosine_embedding_loss_with_normalization", f"Mine/{'x' * 150}"
    up = [tried(number, traffic=1000.5 + number) for number in range(1, 61)]
    text = account_text(account([long, longer], {long: up, longer: up[:2]}))
    assert max(map(len, text.splitlines())) <= PLAIN_WIDTH == 120
    assert text.count("P") >= 2 * 59 and "\u2026" not in text
    assert "mean 1001.500 n=2" in text, "the mean is whole"
    ten = account_text(account([long], {long: up[:10]}))
    assert any(
        line.split() == [long, "persistent", "C" + 9 * "P", "1", "1001.50x", "-", "10"] for line in ten.splitlines()
    )


def test_a_table_of_nothing_says_so() -> None:
    assert account_text(account(["a"], {})) == "Nothing is recorded yet.\n"
    assert mean_text(None) == "-"
    assert [many(1, "task"), many(2, "task"), many(0, "reply", "replies")] == ["1 task", "2 tasks", "0 replies"]
