"""What is said of a file as a whole: no Python, no entry, code on import, an escape, a grid that repeats itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from evaluator.diagnosis import diagnose
from evaluator.diagnosis_parts import without_paths
from evaluator.hints_file import escape, no_entry, sizes_by_torch, syntax
from evaluator.hints_launch import second_axis
from evaluator.hints_scene import scene_of
from evaluator.judge import Evaluator
from evaluator.layers import Layer
from evaluator.observe import Breach
from evaluator.patterns import Pattern, PatternName
from evaluator.patterns_relations import SWAP
from evaluator.records import CaseRow
from evaluator.static import inspect_source
from evaluator.verdict import Failure
from tasks.judges import Mismatch
from tasks.outcomes import Reason, Stage, Status
from tests.sources import GOOD, changed, double_task
from tests.test_diagnosis import DRAWN, verdict
from tests.test_hints import LAUNCH, X, hint_in, source

EXAMPLE = "\n\nprint(double(torch.ones(9)))\n"


@pytest.mark.parametrize(
    ("text", "also"),
    [
        (GOOD + EXAMPLE, ""),
        (source(X, launch="kernel[(1,)](x, y, n)") + EXAMPLE, "`BLOCK`"),
        (source(X, host="raise ValueError('own')") + EXAMPLE, ""),
    ],
)
def test_an_example_runs_on_import(evaluator: Evaluator, text: str, also: str) -> None:
    diagnosis = evaluator.evaluate(double_task(), text).diagnosis
    at = text.rstrip().count("\n") + 1
    assert f"hint: code outside functions runs on import, as line {at} does: leave the example out" in diagnosis
    assert also in hint_in(diagnosis) and "x.device" not in diagnosis


@pytest.mark.parametrize("top", ["SIZE = 1 // 0", "import no_such_module"])
def test_what_is_no_example_is_not_called_one(evaluator: Evaluator, top: str) -> None:
    assert "on import" not in evaluator.evaluate(double_task(), source(X, top=top)).diagnosis


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def f(x):\n    return g(\n        x,", "breaks off"),
        ("def f(x):\n    return g(x\n\n\ndef h(x):\n    return x\n", ""),
        ("def f(x):\n", "breaks off"),
        ("def f(x):\n    # as above\n\ndef g(x):\n    return x\n", "`f` has no body"),
        ("def f(x):\n    # as above\n", "`f` has no body"),
        ("import triton.language as tl @triton.jit\ndef f(x):\n    pass\n", "line breaks"),
    ],
)
def test_what_a_source_lacks_to_be_python(text: str, told: str) -> None:
    found = inspect_source(text)
    hint = syntax(found.message, found.line, text)
    assert told in hint if told and hint else hint is None and not told


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("from .near import f; f", "no module `.near`"),
        ("import elsewhere; elsewhere.f", "no module `elsewhere`"),
        ("import scipy; scipy.f", "imports torch"),
        ("import torch; torch.linalg.svd = f", "define `svd` as a plain function and leave torch's own"),
        ("x.__dict__", "no Python internals"),
        ("getattr(x, y)", "no Python internals"),
        ("eval(x)", "imports torch"),
    ],
)
def test_what_to_do_in_place_of_an_escape(row: str, told: str) -> None:
    assert told in (escape(inspect_source(row).message) or "")


@pytest.mark.parametrize(
    ("defined", "text", "told"),
    [
        (["triton_double"], "", "rename `triton_double` to `double`"),
        (["double_wrapper"], "", "rename `double_wrapper`"),
        (["doubled"], "", "it defines doubled"),
        ([], "@triton.jit\ndef double(x): pass", "`double` is a kernel"),
        ([], "@triton.jit\ndef f(x): pass", "only kernels (`f`)"),
        ([], "class Double: pass", "Double, no function"),
        ([], "", "it defines nothing"),
    ],
)
def test_why_there_is_no_entry(defined: list[str], text: str, told: str) -> None:
    said = no_entry("double", defined, text)
    assert told in said and ("rename" in told or "rename" not in said)


def test_sizes_are_no_work_for_torch() -> None:
    sizes, values = "n = torch.prod(torch.tensor(x.shape))", "n = x.prod()"
    assert "math.prod" in (sizes_by_torch("torch prod x1, torch _local_scalar_dense x1", sizes) or "")
    assert sizes_by_torch("torch prod x1", values) is None
    assert sizes_by_torch("torch prod x1, torch mm x1", sizes) is None


@pytest.mark.parametrize(
    ("grid", "row", "told"), [("n, 64", X, True), ("n, 64", "x = tl.program_id(1)", False), ("(n,)", X, False)]
)
def test_a_second_axis_that_no_kernel_asks_for(grid: str, row: str, told: bool) -> None:
    text = source(row, launch=LAUNCH.replace("(1,)", grid))
    assert bool(second_axis(scene_of({}, text))) is told


def test_a_mask_that_lets_lanes_pass(evaluator: Evaluator) -> None:
    store = "tl.store(y_ptr + offs, 2 * x, mask=mask)"
    wide = evaluator.evaluate(double_task(), changed(("y_ptr + offs", "y_ptr + 2 * offs"))).diagnosis
    none = evaluator.evaluate(double_task(), changed((store, "tl.store(y_ptr + offs, 2 * x)"))).diagnosis
    assert "its mask lets these lanes pass" in wide and "mask the lanes" not in wide
    assert "its mask lets" not in none and "mask the lanes" in none


def told(failure: Failure, **facts: Any) -> str:
    return diagnose(double_task(), verdict(failure, **facts), GOOD)


def test_a_case_that_goes_round_the_kernel() -> None:
    breach = Breach(Reason.NO_LAUNCH, "no kernel", Layer.LAUNCHES)
    failure = Failure(Status.REJECTED, Stage.CONTRACT, Reason.NO_LAUNCH, DRAWN, breach=breach)
    rows = [CaseRow("one", "public", True, launches=n) for n in (0, 1)]
    round_it = told(failure, rows=(rows[0], rows[1]))
    assert "takes a path round it" in round_it and "the values of this case are right" in round_it
    plain = told(failure, rows=(rows[0],), numerically_right=True)
    assert "path round it" not in plain and "the values themselves are right" in plain
    # of what no case led to nothing is known until all are compared
    assert "are right" not in told(replace(failure, drawn=None))


def test_no_advice_on_stores_where_nothing_was_launched() -> None:
    patterns = (Pattern(PatternName.TRANSPOSED, f"transposed{SWAP}"),)
    failure = Failure(
        Status.REJECTED, Stage.CONTRACT, Reason.NO_LAUNCH, DRAWN, mismatch=Mismatch(Reason.PROPERTY, "r", "m"),
        patterns=patterns,
    )  # fmt: skip
    assert SWAP not in told(failure) and "pattern: transposed" in told(failure)
    assert SWAP in told(replace(failure, status=Status.WRONG, reason=Reason.MISMATCH))


def raised(error: Mapping[str, Any]) -> str:
    return told(Failure(Status.RUNTIME_ERROR, Stage.RUN, Reason.EXCEPTION, DRAWN, error))


def test_a_message_without_paths_and_without_echo() -> None:
    said = raised({"type": "ImportError", "message": "no 'f' in 'm' (/a/lib/python3/m.py)"})
    assert said.endswith("ImportError: no 'f' in 'm'")
    assert raised({"type": "AssertionError", "message": "AssertionError: "}).endswith("\nAssertionError")
    assert without_paths('File "/a/b/c.py", x / y / z.w') == 'File "c.py", x / y / z.w'


def test_a_result_of_another_type_is_named(evaluator: Evaluator) -> None:
    odd = changed(("return y", "return Own()"), ("def double(", "class Own: pass\n\n\ndef double("))
    diagnosis = evaluator.evaluate(double_task(), odd).diagnosis
    assert "got an object of type Own" in diagnosis and "Odd" not in diagnosis


def test_an_exception_does_not_hide_that_torch_computed(evaluator):
    said = evaluator.evaluate(double_task(), changed(("return y", "(y * 1).no_such_thing")))
    assert said.reason == "exception"
    assert "note: what torch mul did must be done in Triton too" in said.diagnosis
