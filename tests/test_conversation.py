"""What a worker can do to the conversation: die, leave, flood, forge. The static gate is bypassed on purpose."""

import pytest

from evaluator.cases import cases_of
from evaluator.conversation import Call, Transcript, converse
from evaluator.judge import Evaluator
from evaluator.limits import Limits
from evaluator.verdict import Verdict, judge
from tests.sources import GOOD, changed, double_task

FORGE = """
    import os, socket, struct
    for fd in range(3, 64):
        try:
            other = socket.socket(fileno=os.dup(fd))
            other.sendall({payload})
        except OSError:
            pass
    return y
"""


def held(evaluator: Evaluator, source: str, limits: Limits | None = None) -> tuple[Transcript, Verdict]:
    task = double_task()
    drawn = cases_of(task, 1, again=False)
    hand = [Call(index, entry.case) for index, entry in enumerate(drawn)]
    with evaluator._pool.children(most=1) as (child,):
        transcript = converse(child, source, task.entries, hand, limits or Limits())
    return transcript, judge(task, drawn, [transcript])


@pytest.mark.parametrize(
    ("ending", "exit_code"),
    [("os.kill(os.getpid(), 11)", -11), ("os._exit(0)", 0), ("os._exit(3)", 3)],
)
def test_a_death_is_the_candidates_and_an_exit_code_proves_nothing(
    evaluator: Evaluator, ending: str, exit_code: int
) -> None:
    transcript, verdict = held(
        evaluator, changed(("return y", f"import os; print('last words', flush=True); {ending}"))
    )
    assert verdict.failure is not None
    assert (verdict.failure.status, verdict.failure.reason) == ("runtime_error", "died")
    assert transcript.ending.exit_code == exit_code
    assert "last words" in transcript.ending.log
    assert held(evaluator, GOOD)[1].failure is None


def test_printing_without_end_does_no_harm(evaluator: Evaluator) -> None:
    _, verdict = held(evaluator, changed(("return y", "print('x' * 10**7); return y")))
    assert verdict.failure is None


@pytest.mark.parametrize(
    "payload",
    [
        "b'\\xff' * 64",
        "struct.pack('>I', 9) + b'{\"a\": 1}x'",
        "struct.pack('>I', 21) + b'{\"frames\": [99999999]}'[:21]",
        "struct.pack('>I', 13) + b'{\"frames\":[]}'",
        'struct.pack(\'>I\', 55) + b\'{"event": "reply", "frames": [], "returned": {"odd": 1}}\'',
    ],
)
def test_forged_messages_are_a_refusal_and_never_a_pass(evaluator: Evaluator, payload: str) -> None:
    source = changed(("    return y", FORGE.format(payload=payload)))
    _, verdict = held(evaluator, source, Limits(call_s=3.0, answer_bytes_max=2**20))
    assert verdict.failure is not None
    assert verdict.failure.status != "correct"


def test_a_child_left_behind_is_killed_with_its_group(evaluator: Evaluator) -> None:
    source = changed(
        ("return y", "import os\n    if os.fork() == 0:\n        import time; time.sleep(60)\n    return y")
    )
    transcript, _ = held(evaluator, source)
    assert transcript.ending is not None
    assert held(evaluator, GOOD)[1].failure is None
