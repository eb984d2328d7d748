"""The simulated model: what it draws, what it mends, and on what evidence."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest
from first_tasks import sampled

from agents.models import mutants
from agents.models.apprentice import Apprentice
from agents.protocol import Candidate, Message, Reply, Request
from evaluator.records import Evaluation
from prompts.loader import Templates
from tasks.catalog import load
from tasks.faults.catalog import by_name
from tasks.faults.fault import Fault
from tasks.outcomes import Reason, Stage, Status

SOFTMAX = "Math/softmax"
VALUE_EVIDENCE = "case: last dimension\nworst element [0, 3]: got 1, expected 2"
TEMPLATES = Templates()


def ask(text: str, *, task: str = SOFTMAX, lane: int = 0, attempt: int = 0, seed: int = 0) -> Reply:
    return Apprentice(seed).complete(Request((Message("user", text),), {}, task, lane, attempt))


def prompt(template: str, task: str = SOFTMAX, **variables: object) -> str:
    return TEMPLATES.render(template, task=load(task), cases=["x: float32 (5, 33)"], **variables)


def draw(task: str = SOFTMAX, **place: int) -> Reply:
    return ask(f"# Task: {task}\n\nWrite this operator in Triton.", task=task, **place)


def judged(
    source: str, status: Status, reason: Reason | None, diagnosis: str, traffic: float | None = None
) -> Candidate:
    evaluation = Evaluation(
        SOFTMAX, hashlib.sha256(source.encode()).hexdigest(), status, Stage.RUN, reason, diagnosis, traffic=traffic
    )
    return Candidate(0, 1, 0, source, evaluation)


def failed(fault: Fault, source: str, diagnosis: str = VALUE_EVIDENCE, reason: Reason | None = None) -> Candidate:
    return judged(source, min(fault.expects), reason or min(fault.reasons), diagnosis)


def softmax_with(*names: str) -> str:
    source = mutants.source_with(SOFTMAX, tuple(by_name(name) for name in names))
    assert source is not None
    return source


def is_oracle(source: str | None) -> bool:
    return source is not None and source.strip() == mutants.oracle(SOFTMAX).strip()


MENDED = [fault for fault in mutants.choices(SOFTMAX) if fault.mended and not fault.slow]
NEVER_MENDED = [fault for fault in mutants.choices(SOFTMAX) if not fault.mended]


def test_it_says_that_it_is_a_simulation():
    assert Apprentice().simulated
    assert Apprentice().name == "offline/apprentice"
    assert "no language model" in draw().text


def test_the_same_request_gets_the_same_reply():
    model = Apprentice(3)
    request = Request((Message("user", prompt("generate.j2")),), {}, SOFTMAX, 1, 2)
    assert model.complete(request) == model.complete(request) == Apprentice(3).complete(request)


def test_another_process_draws_the_same():
    script = (
        "from agents.models.apprentice import Apprentice\n"
        "from agents.protocol import Message, Request\n"
        f"text = '# Task: {SOFTMAX}'\n"
        f"asked = [Request((Message('user', text),), {{}}, '{SOFTMAX}', 0, n) for n in range(12)]\n"
        "print([Apprentice().complete(request).text for request in asked])\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    told = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == str([draw(attempt=n).text for n in range(12)])


def test_seed_lane_and_attempt_change_the_draw():
    places = [{"attempt": n} for n in range(12)]
    first = [draw(**place).text for place in places]
    assert first != [draw(**place, seed=1).text for place in places]
    assert first != [draw(**place, lane=1).text for place in places]
    assert len(set(first)) > 3


@pytest.mark.parametrize("task", sampled())
def test_every_task_yields_draws(task: str):
    replies = [draw(task, attempt=n) for n in range(20)]
    sources = [reply.code for reply in replies if reply.code is not None]
    assert len(set(sources)) > 3
    assert all(mutants.stack_of(task, source) is not None for source in sources)


def test_draws_are_clean_slow_wordy_and_faulty_in_the_shares_named():
    seen: Counter[str] = Counter()
    for n in range(600):
        code = draw(attempt=n).code
        stack = mutants.stack_of(SOFTMAX, code) if code is not None else None
        if stack is None:
            seen["words"] += 1
        elif any(not fault.slow for fault in stack):
            seen[f"{len(stack)} faults"] += 1
        else:
            seen["slow" if stack else "clean"] += 1
    shares = {kind: count / 600 for kind, count in seen.items()}
    assert shares["clean"] == pytest.approx(0.12, abs=0.05)
    assert shares["slow"] == pytest.approx(0.15, abs=0.05)
    assert shares["words"] == pytest.approx(0.06, abs=0.03)
    assert shares["1 faults"] > 0.25
    assert shares["2 faults"] > 0.25


@pytest.mark.parametrize("fault", MENDED, ids=lambda fault: fault.name)
def test_a_fault_is_mended_on_its_evidence(fault: Fault):
    source = softmax_with(fault.name)
    assert is_oracle(ask(prompt("fix.j2", last=failed(fault, source))).code)


@pytest.mark.parametrize("fault", MENDED, ids=lambda fault: fault.name)
def test_no_fault_is_mended_without_its_diagnosis(fault: Fault):
    source = softmax_with(fault.name)
    asked = prompt("fix.j2", last=failed(fault, source))
    block = asked[asked.index("--- diagnosis ---") : asked.index("--- end of diagnosis ---")]
    for without in (prompt("fix.j2", last=failed(fault, source, " ")), asked.replace(block, "")):
        code = ask(without).code
        assert code is not None
        assert code.strip() == source.strip()


@pytest.mark.parametrize("fault", MENDED, ids=lambda fault: fault.name)
def test_no_fault_is_mended_on_the_evidence_of_another(fault: Fault):
    source = softmax_with(fault.name)
    other = next(reason for reason in Reason if reason not in fault.reasons)
    assert not is_oracle(ask(prompt("fix.j2", last=failed(fault, source, reason=other))).code)


def test_a_mismatch_is_mended_only_where_it_is_said_where():
    fault = by_name("zero_padding")
    last = failed(fault, softmax_with("zero_padding"), "some values are wrong", Reason.MISMATCH)
    assert not is_oracle(ask(prompt("fix.j2", last=last)).code)


@pytest.mark.parametrize("fault", NEVER_MENDED, ids=lambda fault: fault.name)
def test_some_kinds_are_never_mended(fault: Fault):
    source = softmax_with(fault.name)
    for reason in fault.reasons:
        code = ask(prompt("fix.j2", last=failed(fault, source, reason=reason))).code
        assert code is not None
        assert code.strip() == source.strip()


def test_of_two_faults_the_proven_one_is_mended_first():
    source = softmax_with("zero_padding", "missing_constexpr")
    once = ask(prompt("fix.j2", last=failed(by_name("missing_constexpr"), source))).code
    assert once is not None
    assert once.strip() == softmax_with("zero_padding").strip()
    last = failed(by_name("zero_padding"), once, reason=Reason.MISMATCH)
    assert is_oracle(ask(prompt("fix.j2", last=last)).code)


def test_what_it_knows_is_built_again_from_the_oracle():
    source = softmax_with("zero_padding", "short_grid")
    known = mutants.stack_of(SOFTMAX, source)
    mutants._table.cache_clear()
    mutants.choices.cache_clear()
    assert mutants.stack_of(SOFTMAX, source) == known
    assert known is not None
    assert [fault.name for fault in known] == ["short_grid", "zero_padding"]


def test_a_stranger_s_kernel_is_left_alone():
    source = "import triton\n\n\ndef softmax(input, dim, dtype=None):\n    return input\n"
    last = judged(source, Status.REJECTED, Reason.ALIASES_INPUT, "the result shares memory with input")
    code = ask(prompt("fix.j2", last=last)).code
    assert code is not None
    assert code.strip() == source.strip()


@pytest.mark.parametrize("name", ["redundant_reload", "scratch_round_trip"])
def test_slow_kernels_are_improved_on_a_measured_figure(name: str):
    best = judged(softmax_with(name), Status.CORRECT, None, "", traffic=2.0)
    assert is_oracle(ask(prompt("optimise.j2", best=best)).code)
    unmeasured = judged(softmax_with(name), Status.CORRECT, None, "")
    assert not is_oracle(ask(prompt("optimise.j2", best=unmeasured)).code)


def test_of_several_kernels_in_a_prompt_the_last_is_improved():
    best = judged(softmax_with("redundant_reload"), Status.CORRECT, None, "", traffic=2.0)
    other = Candidate(7, 1, 0, softmax_with("scratch_round_trip"), best.evaluation)
    assert is_oracle(ask(prompt("optimise.j2", best=best, pool=[other, best])).code)


def test_the_best_kernel_is_handed_in_again():
    best = judged(mutants.oracle(SOFTMAX), Status.CORRECT, None, "", traffic=1.0)
    assert is_oracle(ask(prompt("optimise.j2", best=best)).code)


def test_after_words_without_code_it_draws_afresh():
    last = judged("", Status.REJECTED, Reason.NO_CODE, "the reply held no Python code")
    asked = prompt("fix.j2", last=last)
    assert ask(asked, attempt=5).code == draw(attempt=5).code


def test_a_reflection_is_words():
    last = failed(by_name("zero_padding"), softmax_with("zero_padding"), reason=Reason.MISMATCH)
    reply = ask(prompt("reflect.j2", last=last))
    assert reply.code is None
    assert "mismatch" in reply.text


def test_a_task_without_an_oracle_gets_an_honest_answer():
    for text in ("# Task: my/own", "no task named at all", "# Task: ../../secret"):
        reply = ask(text)
        assert reply.code is None
        assert "know no task" in reply.text


def test_it_counts_no_tokens():
    assert draw().usage.input_tokens is None
    assert draw().usage.output_tokens is None


def pretended(source: str | None, *, diagnosis: str) -> Candidate:
    """An evaluator in miniature: the last fault of the stack is the one that shows."""
    stack = mutants.stack_of(SOFTMAX, source) if source is not None else None
    if source is None or stack is None:
        return judged("", Status.REJECTED, Reason.NO_CODE, diagnosis)
    wrong = [fault for fault in stack if not fault.slow]
    if wrong:
        return failed(wrong[-1], source, diagnosis)
    return judged(source, Status.CORRECT, None, "", traffic=1.0 + len(stack))


def rescued(diagnosis: str, rounds: int = 4, lanes: int = 30) -> int:
    """Lanes that were wrong in one round and right in the next."""
    count = 0
    for lane in range(lanes):
        candidates = [pretended(draw(lane=lane).code, diagnosis=diagnosis)]
        for attempt in range(1, rounds):
            if candidates[-1].correct or not candidates[-1].source:
                break
            asked = prompt("fix.j2", last=candidates[-1], attempts=candidates)
            candidates.append(pretended(ask(asked, lane=lane, attempt=attempt).code, diagnosis=diagnosis))
        count += any(after.correct and not before.correct for before, after in pairwise(candidates))
    return count


def test_feedback_rescues_and_its_absence_rescues_nothing():
    assert rescued(VALUE_EVIDENCE) >= 10
    assert rescued("") == 0
