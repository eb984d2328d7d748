"""Every status and reason that a candidate can earn on the CPU tier, each from the smallest source that earns it."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.judge import Evaluator
from evaluator.limits import Limits
from evaluator.records import Evaluation
from tasks.errors import UserError
from tests.sources import GOOD, changed, double_task

LOAD, STORE = "tl.load(x_ptr + offs, mask=mask)", "tl.store(y_ptr + offs, 2 * x, mask=mask)"
LAUNCH, RETURN = "double_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)", "return y"
BROKEN = LAUNCH.replace("BLOCK=64", "BLOCK=48")


def tuned(*edits: tuple[str, str]) -> str:
    """The good source with an autotuner whose first configuration is refused, and more that are not than are tried."""
    sizes = [128, *[64] * 6]
    configs = ", ".join(f"triton.Config({{'BLOCK': {size}}}, num_stages={n})" for n, size in enumerate(sizes, start=1))
    return changed(
        ("@triton.jit", f"@triton.autotune([{configs}], key=['n'])\n@triton.jit"),
        ("    offs =", "    tl.static_assert(BLOCK < 128)\n    offs ="),
        ("n, BLOCK=64", "n"),
        *edits,
    )


OUTCOMES = {
    "good": (GOOD, "correct", None),
    "empty": ("  \n", "rejected", "no_code"),
    "not python": ("Here is the kernel you asked for.", "compile_error", "syntax_error"),
    "null byte": ("x = 1\0", "compile_error", "syntax_error"),
    "escape": (changed((RETURN, "import os; os._exit(0)")), "rejected", "escape"),
    "an escape by a harmless module": (changed((RETURN, "import os; f = os; return y")), "rejected", "escape"),
    "paths and sys.path": (
        "import os, sys\nsys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))\n" + GOOD,
        "correct",
        None,
    ),
    "a way out of os.path": (changed((RETURN, "import os; os.path.os.remove('x'); return y")), "rejected", "escape"),
    "a broken launch at the top": (
        changed(("2 * x", "tl.tanh(x)")) + "\n\ndouble(torch.ones(8, device='cuda'))\n",
        "compile_error",
        "compilation",
    ),
    "import fails": ("import no_such_module\n" + GOOD, "runtime_error", "load_error"),
    "exit at import": ("raise SystemExit(0)\n" + GOOD, "runtime_error", "load_error"),
    "no entry": (changed(("def double(", "def twice(")), "runtime_error", "no_entry"),
    "missing function": (changed(("2 * x", "tl.tanh(x)")), "compile_error", "compilation"),
    "block size": (changed(("BLOCK=64", "BLOCK=48")), "compile_error", "compilation"),
    "exit in the call": (changed((RETURN, "raise SystemExit(0)")), "runtime_error", "exception"),
    "int as grid": (changed(("[(triton.cdiv(n, 64),)]", "[triton.cdiv(n, 64)]")), "runtime_error", "exception"),
    "grid too high": (changed(("[(triton.cdiv(n, 64),)]", "[(1, 70000)]")), "runtime_error", "exception"),
    "store past the end": (changed((STORE, "tl.store(y_ptr + offs, 2 * x)")), "runtime_error", "out_of_bounds_write"),
    "no launch": (changed((LAUNCH, "y = x + x")), "rejected", "no_launch"),
    "torch computes": (changed((LAUNCH, LAUNCH + "\n    y = y * 1")), "rejected", "torch_compute"),
    "numpy detour": (changed((RETURN, "y.numpy(); return y")), "rejected", "torch_compute"),
    "copied at the end": (changed((RETURN, "return y.clone()")), "rejected", "not_from_kernel"),
    "input returned": (changed((RETURN, "return x"), ("torch.empty_like(x)", "x")), "wrong", "input_mutated"),
    "alias returned": (changed((RETURN, "return x")), "rejected", "aliases_input"),
    "input zeroed": (changed((RETURN, "x.zero_(); return y")), "wrong", "input_mutated"),
    "a list": (changed((RETURN, "return [y]")), "wrong", "structure"),
    "a dictionary": (changed((RETURN, "return {'y': y}")), "wrong", "structure"),
    "nothing": (changed((RETURN, "return None")), "wrong", "structure"),
    "shape": (changed((RETURN, "return y[None]")), "wrong", "shape"),
    "dtype": (changed(("torch.empty_like(x)", "torch.empty_like(x, dtype=torch.float64)")), "wrong", "dtype"),
    "expanded": (changed((RETURN, "return y[:1].expand(n)")), "wrong", "structure"),
    "values": (changed(("2 * x", "3 * x")), "wrong", "mismatch"),
    "nothing stored": (changed((STORE, "pass")), "wrong", "non_finite"),
    "half stored": (changed(("mask = offs < n", "mask = offs < n // 2")), "wrong", "non_finite"),
    "reads past the end": (changed((LOAD, "tl.load(x_ptr + offs)")), "correct", None),
    "reads and uses what is past the end": (changed((LOAD, "tl.load(x_ptr + offs + 1)")), "wrong", "non_finite"),
    "a helper that fails to compile, swallowed": (
        changed((LAUNCH, f"try:\n        {BROKEN}\n    except Exception:\n        y = x + x")),
        "compile_error",
        "compilation",
    ),
    "falls back to another launch": (
        changed((LAUNCH, f"try:\n        {BROKEN}\n    except Exception:\n        {LAUNCH}")),
        "correct",
        None,
    ),
    "cuda everywhere": (
        changed(
            ("torch.empty_like(x)", "torch.empty(x.shape, device='cuda', dtype=x.dtype)"),
            ("n = x.numel()", "assert x.is_cuda and y.device == x.device; torch.cuda.synchronize(); n = x.numel()"),
        ),
        "correct",
        None,
    ),
    "assembly that ptxas refuses": (
        changed(("2 * x", "tl.inline_asm_elementwise('no.such.f32 $0, $1;', '=f,f', [x], tl.float32, True, 1)")),
        "compile_error",
        "compilation",
    ),
    "a tuner drops what does not compile": (tuned(), "correct", None),
    "a tuner drops, and torch computes": (tuned((RETURN, "return y * 1")), "rejected", "torch_compute"),
    "no configuration compiles": (tuned(("BLOCK < 128", "BLOCK < 2")), "compile_error", "compilation"),
    "random numbers of Python's": (changed((RETURN, "import random; random.random(); return y")), "correct", None),
    "a module by way of another": (changed((RETURN, "import random; random._os.stat(y)")), "rejected", "escape"),
    "torch without a GPU": (
        changed((RETURN, "torch.linalg.lu(y.view(-1, 1).expand(n, n), pivot=False); return y")),
        "rejected",
        "torch_compute",
    ),
    "torch names the GPU itself": (
        changed((RETURN, "torch.nn.functional.fractional_max_pool2d(y.new_zeros(1, 1, 4, 4), 2, 2); return y")),
        "rejected",
        "torch_compute",
    ),
    "inline assembly": (
        changed(("2 * x", "tl.inline_asm_elementwise('add.f32 $0, $1, $1;', '=f,f', [x], tl.float32, True, 1)")),
        "rejected",
        "not_interpretable",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcome(evaluator: Evaluator, name: str) -> None:
    source, status, reason = OUTCOMES[name]
    evaluation = evaluator.evaluate(double_task(), source)
    assert (str(evaluation.status), evaluation.reason) == (status, reason), evaluation.diagnosis
    assert evaluation.diagnosis
    assert Evaluation.from_json(evaluation.to_json()) == evaluation


def test_a_correct_kernel_is_measured(evaluator: Evaluator) -> None:
    evaluation = evaluator.evaluate(double_task(), GOOD)
    assert evaluation.compiled
    assert evaluation.called
    assert evaluation.numerically_right is True
    assert evaluation.traffic == pytest.approx(1.0)
    assert evaluation.speedup is None
    assert {row.kind for row in evaluation.cases} == {"public", "hidden", "timed"}
    assert all(row.right and row.launches == 1 for row in evaluation.cases)
    assert evaluation.targets == {"sm90": "ok"}
    assert evaluation.builds[0].registers


def test_a_tuner_is_said_to_be_judged_by_its_first_configuration(evaluator: Evaluator) -> None:
    said = evaluator.evaluate(double_task(), tuned())
    assert said.correct and [w for w in said.warnings if "first configuration of a tuner that compiles" in w]
    assert not [w for w in evaluator.evaluate(double_task(), GOOD).warnings if "tuner" in w]


def test_values_are_compared_even_when_the_contract_refuses(evaluator: Evaluator) -> None:
    refused = evaluator.evaluate(double_task(), changed((LAUNCH, "y = x + x")))
    assert refused.numerically_right is True
    assert refused.torch_ops == {"add": 7}


def test_traffic_of_a_reload_is_counted(evaluator: Evaluator) -> None:
    source = changed((STORE, "x = (x + tl.load(x_ptr + offs, mask=mask)) / 2\n    " + STORE))
    evaluation = evaluator.evaluate(double_task(), source)
    assert evaluation.correct
    assert evaluation.traffic == pytest.approx(1.5)
    assert "x_ptr is read 2.0 times" in evaluation.diagnosis


def test_a_hang_costs_its_deadline_and_the_next_candidate_nothing() -> None:
    with Evaluator(workers=1, limits=replace(Limits(), call_s=1.0)) as impatient:
        hung = impatient.evaluate(double_task(), changed((RETURN, "while True: pass")))
        assert (hung.status, hung.reason, hung.stage) == ("timeout", "deadline", "run")
        assert impatient.evaluate(double_task(), GOOD).correct
        slow_and_wrong = changed((RETURN, "x.zero_()\n    while n > 64: pass\n    return y"))
        assert impatient.evaluate(double_task(), slow_and_wrong).reason == "input_mutated"  # as other calls showed


def test_every_target_is_compiled_and_the_first_decides() -> None:
    huge = changed(("BLOCK=64", "BLOCK=64, num_stages=2"))
    with Evaluator(workers=1, targets=("sm80", "sm90", "gfx942")) as several:
        evaluation = several.evaluate(double_task(), huge)
    assert evaluation.correct
    assert evaluation.targets == {"sm80": "ok", "sm90": "ok", "gfx942": "ok"}


def test_hidden_cases_follow_the_secret_and_the_source(evaluator: Evaluator) -> None:
    from evaluator.seeds import hidden_seed

    assert hidden_seed(b"one", "T", "sha") == hidden_seed(b"one", "T", "sha")
    assert len({hidden_seed(s, t, h) for s in (b"one", b"two") for t in "TU" for h in ("a", "b")}) == 8


def test_threads_share_an_evaluator(evaluator: Evaluator) -> None:
    verdicts: dict[int, str] = {}

    def judge(index: int) -> None:
        source = GOOD if index % 2 else changed(("2 * x", "3 * x"))
        verdicts[index] = str(evaluator.evaluate(double_task(), source).status)

    threads = [threading.Thread(target=judge, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == {0: "wrong", 1: "correct", 2: "wrong", 3: "correct"}


def test_a_dead_warm_process_is_an_infra_error_and_is_replaced() -> None:
    with Evaluator(workers=1) as fragile:
        assert fragile.evaluate(double_task(), GOOD).correct
        fragile._pool._all[0].process.kill()
        fragile._pool._all[0].process.wait()
        other = changed(("BLOCK=64", "BLOCK=128"))
        lost = fragile.evaluate(double_task(), other)
        assert (lost.status, lost.reason) == ("infra_error", "infrastructure")
        assert fragile.evaluate(double_task(), other).correct


def test_the_warm_process_has_one_thread(evaluator: Evaluator) -> None:
    assert evaluator.evaluate(double_task(), GOOD).correct
    assert len(list(Path(f"/proc/{evaluator._pool._all[0].process.pid}/task").iterdir())) == 1


def test_a_verdict_is_the_same_from_several_children(evaluator: Evaluator) -> None:
    sources = [
        GOOD,
        changed(("2 * x", "3 * x")),
        changed(("2 * x", "tl.tanh(x)")),
        changed((RETURN, "return y.clone()")),
    ]
    with Evaluator(workers=3, secret=b"a secret that tests may fix") as several:
        for source in sources:
            alone, shared = evaluator.evaluate(double_task(), source), several.evaluate(double_task(), source)
            assert (alone.status, alone.reason, alone.traffic) == (shared.status, shared.reason, shared.traffic)
            if alone.status != "compile_error":
                assert [row.right for row in alone.cases] == [row.right for row in shared.cases]


def test_a_worker_sees_neither_keys_nor_oracles(evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch) -> None:
    from evaluator.pool import ENVIRONMENT

    assert not any("KEY" in name or "TOKEN" in name for name in ENVIRONMENT)
    if "tasks hidden" not in evaluator.describe()["assurance"]:
        pytest.skip("this machine permits no mount namespace: the evaluation says so in its assurance")
    from tasks.catalog import oracle_path

    pid = evaluator._pool._all[0].process.pid
    seen = f"/proc/{pid}/root{oracle_path('Math/softmax')}"
    with pytest.raises(FileNotFoundError):
        open(seen).close()


def test_the_same_source_is_judged_once(evaluator: Evaluator) -> None:
    first = evaluator.evaluate(double_task(), GOOD)
    assert evaluator.evaluate(double_task(), GOOD) is first
    assert evaluator.evaluate(double_task(), GOOD + "\n") is not first


def test_users_mistakes() -> None:
    with pytest.raises(UserError, match="did you mean 'sm90'"):
        Evaluator(targets=("sm91",))
    with pytest.raises(UserError, match="unknown device"):
        Evaluator(device="tpu")
    with pytest.raises(UserError, match="no NVIDIA GPU"):
        Evaluator(device="cuda")


LARGE_DOT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    i = tl.arange(0, 128)
    ones = (i[:, None] + i[None, :] >= 0).to(tl.float32)
    one = tl.sum(tl.sum(tl.dot(ones, ones, input_precision="tf32"), axis=0), axis=0) / (128.0 * 128.0 * 128.0)
    tl.store(y_ptr + offs, (1.0 + one) * tl.load(x_ptr + offs, mask=mask), mask=mask)


def double(x):
    y = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""


def test_a_large_product_starts_no_thread_of_the_candidates(evaluator):
    verdict = evaluator.evaluate(double_task(), LARGE_DOT)
    assert verdict.correct, verdict.diagnosis
