"""What the built-in methods ask, submit and remember, against scripted verdicts."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from agents.methods.best_of_n import BestOfN
from agents.methods.geak import WAYS_TO_BEGIN, Geak, best_of, fingerprint
from agents.methods.oneshot import OneShot
from agents.methods.reflexion import Reflexion
from agents.protocol import Candidate, Method, Request
from agents.scripted import ScriptedContext
from evaluator.records import Evaluation
from tests.examples.two_shots import TwoShots
from tests.fakes import KERNEL, broken, candidate, context, numbered, right, wrong

FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAME = [wrong()] * 99


def run(method: Method, *verdicts: Evaluation, **settings: Any) -> ScriptedContext:
    ctx = context(*verdicts, **settings)
    method.run(ctx.task, ctx)
    return ctx


def prompts(ctx: ScriptedContext, lane: int = 0) -> list[str]:
    return [request.messages[0].content for request in ctx.requests if request.lane == lane]


def kinds(ctx: ScriptedContext, lane: int = 0) -> list[str]:
    """What each prompt of a lane was for, told by words of its template."""
    signs = {"Mend it.": "fix", "Write no code now.": "reflect", "Keep it correct": "optimise"}
    return [next((kind for sign, kind in signs.items() if sign in text), "generate") for text in prompts(ctx, lane)]


def parents(ctx: ScriptedContext, lane: int = 0) -> list[tuple[int, ...]]:
    return [one.parents for one in ctx.candidates if one.lane == lane]


def source(number: int) -> str:
    return KERNEL.format(number=number)


def test_oneshot_asks_once_a_round_and_has_one_round() -> None:
    ctx = run(OneShot(), wrong(), rounds=1)
    assert OneShot.max_rounds == 1
    assert kinds(ctx) == ["generate"] and [one.source for one in ctx.candidates] == [source(0)]


def test_best_of_n_samples_one_prompt_and_hears_nothing() -> None:
    ctx = run(BestOfN(n=3), broken(), right(), wrong(), rounds=2)
    assert len({request.messages for request in ctx.requests}) == 1
    assert [request.lane for request in ctx.requests] == [0, 1, 2] * 2
    assert len(ctx.candidates) == 6 and ctx.best is ctx.candidates[1]


def test_reflexion_reflects_then_mends_with_its_lessons_and_ends_when_correct() -> None:
    ctx = run(Reflexion(memory=2), broken("d0"), wrong("d1"), wrong("d2"), wrong("d3"), right(), rounds=9)
    assert kinds(ctx) == ["generate", *["reflect", "fix"] * 4]
    assert parents(ctx) == [(), (0,), (1,), (2,), (3,)]
    asked = prompts(ctx)
    for attempt in (1, 2, 3):
        reflect, fix = asked[2 * attempt - 1 : 2 * attempt + 1]
        before = ctx.candidates[attempt - 1]
        assert FENCE.findall(reflect) == FENCE.findall(fix) == [before.source]
        assert f"\nd{attempt - 1}\n" in reflect and f"\nd{attempt - 1}\n" in fix
    lessons = re.findall(r"^- This is answer (\d+)\.$", asked[-1], re.MULTILINE)
    assert lessons == ["5", "7"]


def test_geak_mends_each_lane_by_its_own_diagnosis() -> None:
    ctx = run(Geak(), wrong("lane 0 is off"), broken("lane 1 is broken"), *SAME, rounds=2)
    assert kinds(ctx, 0) == kinds(ctx, 1) == ["generate", "fix"]
    first, second = prompts(ctx, 0)[1], prompts(ctx, 1)[1]
    assert "lane 0 is off" in first and "lane 1" not in first and FENCE.findall(first) == [source(0)]
    assert "lane 1 is broken" in second and "lane 0" not in second and FENCE.findall(second) == [source(100)]
    assert parents(ctx, 1) == [(), (1,)]


def test_geak_lanes_begin_in_different_ways() -> None:
    ctx = run(Geak(candidates=3), *SAME, rounds=1)
    assert [way in prompts(ctx, lane)[0] for lane, way in enumerate(WAYS_TO_BEGIN[:3])] == [True] * 3
    assert len({request.messages for request in ctx.requests}) == 3


def test_geak_tells_the_true_history() -> None:
    told = [wrong(f"{word} is off") for word in ("stride", "mask", "axis", "sum")]
    ctx = run(Geak(candidates=1), *told, rounds=4)
    last = prompts(ctx)[-1]
    history = last.partition("Your attempts so far:\n")[2].partition("\n\n")[0].splitlines()
    assert history == [
        "1. wrong: mismatch. stride is off",
        '   It came with: "This is answer 0."',
        "2. wrong: mismatch. mask is off",
        '   It came with: "This is answer 1."',
        "3. wrong: mismatch. axis is off",
        '   It came with: "This is answer 2."',
    ]
    assert FENCE.findall(last) == [source(2)] and "--- diagnosis ---\naxis is off\n" in last
    assert parents(ctx) == [(), (0,), (1,), (2,)]


def test_geak_starts_afresh_after_the_same_outcome_three_times() -> None:
    same = [wrong(f"{n} of 165 elements differ, worst {n}.5e-{n}") for n in range(1, 9)]
    ctx = run(Geak(candidates=1), *same, rounds=7)
    assert kinds(ctx) == ["generate", "fix", "fix", "generate", "fix", "fix", "generate"]
    restarted = prompts(ctx)[3]
    assert f"Approach to take: {WAYS_TO_BEGIN[1]}" in restarted
    assert f"- {WAYS_TO_BEGIN[0]} (ended 3 times in wrong: mismatch)" in restarted
    assert "Your attempts so far" not in prompts(ctx)[4]
    assert parents(ctx)[3] == ()
    notes = [event.what for event in ctx.events if event.kind == "note"]
    assert [(note["lane"], note["times"]) for note in notes] == [(0, 3), (0, 3)]


def test_geak_goes_on_while_outcomes_differ() -> None:
    different = [wrong(f"{word} is off") for word in ("stride", "mask", "axis", "sum", "tail")]
    assert kinds(run(Geak(candidates=1), *different, rounds=5)) == ["generate", *["fix"] * 4]


def test_geak_restarts_only_the_stuck_lane() -> None:
    words = ("stride", "mask", "axis", "sum")
    ctx = run(Geak(), *[one for word in words for one in (broken(), wrong(f"{word} is off"))], rounds=4)
    assert kinds(ctx, 0) == ["generate", "fix", "fix", "generate"]
    assert kinds(ctx, 1) == ["generate", "fix", "fix", "fix"]
    assert f"Approach to take: {WAYS_TO_BEGIN[2]}" in prompts(ctx, 0)[3]


def test_geak_optimises_from_the_best_and_never_from_a_regression() -> None:
    ctx = run(Geak(candidates=1), wrong(), right(3.0), right(2.0), broken(), right(2.5), right(1.5), rounds=7)
    assert kinds(ctx) == ["generate", "fix", *["optimise"] * 5]
    assert parents(ctx) == [(), (0,), (1,), (2,), (2,), (2,), (5,)]
    back = prompts(ctx)[5]
    assert FENCE.findall(back)[-1] == source(2)
    assert "Measured: traffic 2.00 times the least possible" in back
    assert "1. compile_error: compilation. line 7" in back
    assert "2. correct, traffic 2.50 times the least possible" in back
    ways = re.findall(r"^Approach to take: (.*)$", "\n".join(prompts(ctx)[2:]), re.MULTILINE)
    assert len(ways) == 5 and len(set(ways)) == 4


def test_geak_optimises_by_speedup_where_there_is_one() -> None:
    ctx = run(Geak(candidates=1), right(None, 1.1), right(None, 1.3), right(None, 1.2), rounds=4)
    assert parents(ctx) == [(), (0,), (1,), (1,)]
    assert "Measured: speedup 1.30 over eager" in prompts(ctx)[-1]


def test_geak_ends_when_there_is_nothing_left_to_gain() -> None:
    assert len(run(Geak(), wrong(), right(1.2), wrong(), right(1.004), *SAME, rounds=9).candidates) == 4
    assert len(run(Geak(), wrong(), right(1.0, speedup=1.5), *SAME, rounds=9).candidates) == 18


def test_a_solved_lane_without_gain_goes_to_the_pools_best() -> None:
    ctx = run(Geak(), *[right(3.0), right(1.5)] * 5, rounds=5)
    assert parents(ctx, 0) == [(), (0,), (0,), (0,), (1,)]


def test_the_pool_is_shown_and_keeps_its_best() -> None:
    ctx = run(Geak(pool=2), right(2.0), right(4.0), right(3.0), wrong(), right(5.0), wrong(), *SAME, rounds=4)
    last = prompts(ctx, 1)[-1]
    assert FENCE.findall(last) == [source(0), source(1), source(100)]


def test_best_of_keeps_the_best_drops_doubles_and_failures() -> None:
    pool = [candidate(0, right(3.0)), candidate(1, right(1.0)), candidate(2, wrong()), candidate(3, right(2.0))]
    double = candidate(4, right(1.0), source=pool[1].source)
    assert [one.index for one in best_of([*pool, double], 2)] == [1, 3]
    assert best_of([candidate(0, wrong())], 2) == []


def test_fingerprints_forget_numbers_and_nothing_else() -> None:
    one = fingerprint(wrong("3 of 165 differ\nat (1, 2): got 1.5e-07, expected -0.25"))
    assert one == fingerprint(wrong("7 of 90 differ\nat (0, 9): got 2.5, expected 3e+10"))
    assert one != fingerprint(wrong("3 of 165 are NaN\nat (1, 2): got 1.5e-07, expected -0.25"))
    assert one != fingerprint(broken("3 of 165 differ\nat (1, 2): got 1.5e-07, expected -0.25"))


def test_replies_without_code_are_submitted_and_answered() -> None:
    def silent(request: Request) -> str:
        return "I can't." if request.attempt == 0 else numbered(request)

    for method in (Reflexion(), Geak(candidates=1), TwoShots()):
        ctx = run(method, right(), rounds=3, reply=silent)
        assert [str(one.evaluation.reason) for one in ctx.candidates[:1]] == ["no_code"]
        assert any("held no Python code" in text for text in prompts(ctx))
        assert ctx.best is not None and ctx.best.correct


def test_the_example_mends_once_then_starts_anew() -> None:
    ctx = run(TwoShots(), wrong(), broken(), wrong(), right(), rounds=5)
    assert kinds(ctx) == ["generate", "fix", "generate", "fix"]
    assert parents(ctx) == [(), (0,), (), (2,)]
    assert len(run(TwoShots(repairs=0), *SAME, rounds=3).candidates) == 3


@pytest.mark.parametrize(
    "wrong_option",
    [lambda: BestOfN(n=0), lambda: Reflexion(memory=0), lambda: Geak(candidates=0), lambda: Geak(trap=0)],
)
def test_options_that_make_no_sense_are_refused(wrong_option: Callable[[], Method]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        wrong_option()


@pytest.mark.parametrize("method", [OneShot(), BestOfN(), Reflexion(), Geak(), TwoShots()])
def test_the_same_answers_give_the_same_requests(method: Method) -> None:
    script = [broken(), wrong(), *[wrong("same")] * 6, right(2.0), right(1.0), wrong()]
    assert run(method, *script, rounds=8).events == run(method, *script, rounds=8).events


def test_evidence_that_is_taken_out_of_the_verdict_is_missing_from_the_prompt() -> None:
    """The prompts show what the evaluator wrote and nothing that stands in for it."""
    with_it, without = (run(Geak(candidates=1), wrong(text), rounds=2) for text in ("row 3 is never written", ""))
    assert "row 3 is never written" in prompts(with_it)[1]
    assert "--- diagnosis ---\n\n--- end of diagnosis ---" in prompts(without)[1]


def test_candidates_keep_their_order() -> None:
    ctx = run(Geak(candidates=4), *SAME, rounds=3)
    found: list[Candidate] = ctx.candidates
    assert [one.index for one in found] == list(range(12)) and [one.lane for one in found] == [0, 1, 2, 3] * 3
