"""Every kind of diagnosis says more than the exception does, and a writer that gives only that is found out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import evaluator.judge as judging
from evaluator import diagnosis
from evaluator.cases import Drawn
from evaluator.conversation import Loss
from evaluator.hints import RULES
from evaluator.hints_scene import scene_of
from evaluator.judge import Evaluator
from evaluator.layers import Layer
from evaluator.observe import Breach
from evaluator.patterns import Pattern, PatternName
from evaluator.static import StaticFinding
from evaluator.verdict import Failure, Verdict
from tasks.draw import Draw
from tasks.judges import Mismatch
from tasks.outcomes import Reason, Stage, Status
from tests.sources import GOOD, changed, double_task
from tests.test_advice import ROW, ROWS
from tests.test_hints import MISTAKES

Call = tuple[Callable[..., str], tuple[Any, ...]]

# tasks of its own, so that no evaluation comes from another test's
DOUBLE = replace(double_task(), id="Mine/double diagnosed")
MATRIX = replace(ROWS, id="Mine/rows diagnosed")
LOAD, STORE = "tl.load(x_ptr + offs, mask=mask)", "tl.store(y_ptr + offs, 2 * x, mask=mask)"
LAUNCH, RETURN = "double_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)", "return y"
PUBLIC = 'case: public, "vector": double(x=float32[50])'
WRITE_IT = "allocate the output with torch.empty and let a kernel of this file write it"
RIGHT = "the values themselves are right"

# each reason that a small kernel can earn: its source, and what its diagnosis says beside the bare text
REASONS: dict[Reason | str, tuple[str, tuple[str, ...]]] = {
    Reason.NO_CODE: ("  \n", ("rejected: no_code (stage: static)",)),
    Reason.SYNTAX_ERROR: ("x = (1\n", ("line 1: x = (1",)),
    "syntax_error, fenced": (f"```python\n{GOOD}```\n", ("hint: the source holds a Markdown fence",)),
    Reason.ESCAPE: (changed((RETURN, "import os; os._exit(0)")), ("a kernel file imports torch", "line 18: ")),
    Reason.LOAD_ERROR: ("import no_such_module\n" + GOOD, ("line 1: import", "hint: this file stands alone")),
    Reason.NO_ENTRY: (changed(("def double(", "def twice(")), ("must define double; it defines twice",)),
    Reason.COMPILATION: (
        changed(("2 * x", "tl.tanh(x)")),
        (PUBLIC, "line 11: ", " ^", "kernel double_kernel(x_ptr: *fp32, y_ptr: *fp32, n: i32, BLOCK: 64)", "hint: "),
    ),
    Reason.OUT_OF_RESOURCES: (MISTAKES["shared memory"][0], ("from BLOCK=128 and num_stages=8: ", "BLOCK: 128)")),
    Reason.EXCEPTION: (changed(("[(triton.cdiv(n, 64),)]", "[triton.cdiv(n, 64)]")), ("(triton.cdiv(n, 64),)",)),
    Reason.OUT_OF_BOUNDS_WRITE: (
        changed((STORE, "tl.store(y_ptr + offs, 2 * x)")),
        ("kernel double_kernel stores outside y_ptr: 14 lanes", "56 bytes beyond its end", "line 11: "),
    ),
    Reason.NOT_INTERPRETABLE: (
        changed(("2 * x", "tl.inline_asm_elementwise('add.f32 $0, $1, $1;', '=f,f', [x], tl.float32, True, 1)")),
        ("line 11: ", PUBLIC),
    ),
    Reason.NO_LAUNCH: (changed((LAUNCH, "y = x + x")), (WRITE_IT, RIGHT)),
    Reason.TORCH_COMPUTE: (changed((LAUNCH, LAUNCH + "\n    y = y * 1")), (WRITE_IT, RIGHT)),
    Reason.NOT_FROM_KERNEL: (changed((RETURN, "return y.clone()")), (WRITE_IT, RIGHT)),
    Reason.ALIASES_INPUT: (changed((RETURN, "return x")), ("aliases_input (stage: contract)",)),
    Reason.STRUCTURE: (changed((RETURN, "return [y]")), (PUBLIC,)),
    Reason.SHAPE: (changed((RETURN, "return y[None]")), (PUBLIC,)),
    Reason.DTYPE: (changed(("empty_like(x)", "empty_like(x, dtype=torch.float64)")), (PUBLIC,)),
    Reason.INPUT_MUTATED: (changed((RETURN, "x.zero_(); return y")), (PUBLIC,)),
    Reason.MISMATCH: (
        changed(("2 * x", "3 * x")),
        (PUBLIC, "(100.0%)", "worst element: [", ", expected ", "largest absolute error", "pattern: "),
    ),
    Reason.NON_FINITE: (changed(("offs < n", "offs < n // 2")), ("worst element: [", "got nan", "pattern: ")),
    "mismatch in a hidden case": (
        changed(("2 * x", "tl.where(n == 50, 2, 3) * x")), ('case: hidden, of the family "', "pattern: ")
    ),
    "a load outside, in a wrong result": (
        changed((LOAD, "tl.load(x_ptr + offs + 1)")), ("double_kernel loads outside x_ptr", "line 10: ", "note: ")
    ),
    "correct, with advice": (
        changed((STORE, f"x = (x + {LOAD}) / 2\n    {STORE}")), ("traffic: kernels move 1.50 times", "is read 2.0")
    ),
    "correct": (GOOD, ("traffic: kernels move 1.00 times",)),
}  # fmt: skip

# each rule for hints, and the mistake of `test_hints` that it speaks to; what it says is part of the expectation there
HINTS = {
    "shared_memory": "shared memory", "missing_function": "tanh", "on_the_host": "no grid", "grid": "an int as grid",
    "arguments": "an argument forgotten", "complex_argument": "complex", "undefined_name": "a global",
    "parameters": "an entry of its own", "starred": "sizes as one tuple", "unpacked": "a shape taken for granted",
    "lost_name": "a kernel's parameter outside", "endless": "a function that calls itself",
    "block_pointer": "a block in a block pointer", "program_axis": "a fourth axis", "missing_attribute": "shape",
    "host_function": "math in a kernel", "keyword": "keepdim", "block_size": "an arange of 48",
    "missing_constexpr": "no constexpr", "subscript": "a pointer indexed", "mask": "a number as mask",
    "pointer": "a loaded value as a pointer", "wrong_operand": "exp of integers", "dot": "a small dot",
    "reduction": "a scalar reduced", "foreign_dtype": "a torch dtype", "operator": "a pointer as a number",
    "construct": "break", "missing_module": "no such package", "odd_argument": "a dtype as argument",
    "none_argument": "None added", "cast": "a pointer cast",
}  # fmt: skip

TWICE = ROW.replace(
    "tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs))", "x = tl.load(x_ptr + offs)\n    tl.store(y_ptr + offs, 2 * x)"
)
# what a kernel makes of a row in place of twice its values, and the first pattern that tells of it
SPOILT: dict[PatternName, tuple[str, str]] = {
    PatternName.CONSTANT_FACTOR: ("2 * x", "2.5 * x"),
    PatternName.CONSTANT_OFFSET: ("2 * x", "2 * x + 0.75"),
    PatternName.SIGN: ("2 * x", "-2 * x"),
    PatternName.EVERY_KTH: ("2 * x", "tl.where(offs % 4 == 1, 2 * x + x * x + 1, 2 * x)"),
    PatternName.WHOLE_SLICES: ("2 * x", "tl.where((tl.program_id(0) + 1) % 10 < 2, 2 * x + x * x + 1, 2 * x)"),
    PatternName.LAST_TILE: ("2 * x", "tl.where(tl.program_id(0) > 59, 2 * x + x * x + 1, 2 * x)"),
    PatternName.TRANSPOSED: ("y_ptr + offs", "y_ptr + tl.arange(0, BLOCK) * BLOCK + tl.program_id(0)"),
    PatternName.SHIFTED: ("tl.load(x_ptr + offs)", "tl.load(x_ptr + (offs + 1) % (BLOCK * BLOCK))"),
    PatternName.NEVER_WRITTEN: ("2 * x)", "2 * x, mask=offs < 0)"),
    PatternName.OUT_OF_BOUNDS_READ: ("tl.load(x_ptr + offs)", "tl.load(x_ptr + offs + BLOCK * BLOCK)"),
}

DRAWN = Drawn("public", next(iter(DOUBLE.public(Draw(0)))))
MISMATCH = Mismatch(Reason.PROPERTY, "result", "the message", 0.25, (3,), "1.0", "2.0", 1.0, 0.5)


def lost(reason: Reason, status: Status, kind: str, detail: str) -> Failure:
    return Failure(status, Stage.RUN, reason, DRAWN, {"exit_code": -11}, loss=Loss(kind, "call", detail), log="the log")


def breached(reason: Reason) -> Failure:
    return Failure(Status.REJECTED, Stage.CONTRACT, reason, DRAWN, breach=Breach(reason, "the message", Layer.AGAIN))


# reasons that take long, chance or malice to earn: `tests/exploits` earns them, here only their words are written
WRITTEN: dict[Reason, tuple[Failure, tuple[str, ...]]] = {
    Reason.DIED: (lost(Reason.DIED, Status.RUNTIME_ERROR, "died", ""), ("during call (signal 11)", "output: the log")),
    Reason.DEADLINE: (
        lost(Reason.DEADLINE, Status.TIMEOUT, "deadline", "9 s"),
        ("the call took more than 9 s", PUBLIC),
    ),
    Reason.PROTOCOL: (lost(Reason.PROTOCOL, Status.REJECTED, "protocol", "9"), ("worker's answer was malformed: 9",)),
    Reason.SURVIVORS: (breached(Reason.SURVIVORS), (PUBLIC, "the values of this case are right")),
    Reason.NOT_REPRODUCIBLE: (breached(Reason.NOT_REPRODUCIBLE), (PUBLIC, "the values of this case are right")),
    Reason.REMEMBERS: (breached(Reason.REMEMBERS), (PUBLIC, "remembers (stage: contract)")),
    Reason.OVERWRITTEN: (breached(Reason.OVERWRITTEN), (PUBLIC, "overwritten (stage: contract)")),
    **{
        reason: (
            Failure(Status.WRONG, Stage.COMPARE, reason, DRAWN, mismatch=replace(MISMATCH, reason=reason)),
            (PUBLIC, "the message (25.0%)", "worst element: [3]: got 1.0, expected 2.0", "largest absolute error 1"),
        )
        for reason in (Reason.PROPERTY, Reason.DISTRIBUTION)
    },
}


def verdict(failure: Failure | None, **more: Any) -> Verdict:
    facts: dict[str, Any] = dict.fromkeys(Verdict.__dataclass_fields__) | {"warnings": (), "rows": ()} | more
    return Verdict(**{**facts, "failure": failure})


def kinds() -> dict[str, tuple[Any, str, tuple[str, ...]]]:
    found = {str(reason): (DOUBLE, source, parts) for reason, (source, parts) in REASONS.items()}
    found |= {
        f"hint: {rule}": (DOUBLE, MISTAKES[name][0], ("hint: ", *MISTAKES[name][1])) for rule, name in HINTS.items()
    }
    for name, (old, new) in SPOILT.items():
        assert old in TWICE, old
        found[f"pattern: {name}"] = (MATRIX, TWICE.replace(old, new), ("pattern: ", "worst element: ["))
    return found


KINDS = kinds()


@pytest.fixture(scope="module")
def called(evaluator: Evaluator) -> Callable[[str], Call]:
    """The call that writes the diagnosis of a kind, as the evaluator makes it."""
    known: dict[str, Call] = {}

    def call(name: str) -> Call:
        task, source, _ = KINDS[name]
        made: list[Call] = []
        with pytest.MonkeyPatch.context() as patch:
            for writer in (diagnosis.diagnose, diagnosis.diagnose_static):

                def record(*args: Any, writer: Callable[..., str] = writer) -> str:
                    made.append((writer, args))
                    return writer(*args)

                patch.setattr(judging, writer.__name__, record)
            if name not in known:
                evaluator.evaluate(replace(task, id=f"{task.id} {name}"), source)
                known[name] = made[0]
        return known[name]

    return call


def bare(*args: Any) -> str:
    """What a writer gives that hands on what was raised or found, and nothing else."""
    subject = next(arg for arg in args if isinstance(arg, (Verdict, StaticFinding)))
    if isinstance(subject, StaticFinding):
        return subject.message
    failure = subject.failure
    if failure is None:
        return "correct"
    told = failure.breach or failure.mismatch
    if told is not None:
        return told.message
    return failure.loss.detail if failure.loss else f"{failure.error.get('type')}: {failure.error.get('message')}"


def missing(text: str, parts: tuple[str, ...]) -> list[str]:
    return [part for part in parts if part not in text]


@pytest.mark.parametrize("name", KINDS)
def test_a_diagnosis_says_what_helps(called: Callable[[str], Call], name: str) -> None:
    write, args = called(name)
    text = write(*args)
    assert not missing(text, KINDS[name][2]), text
    for characters in (900, 300):
        assert len(write(*args[:-1], characters)) <= characters


@pytest.mark.parametrize("name", KINDS)
def test_a_writer_of_the_bare_text_is_found_out(
    called: Callable[[str], Call], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind alone: what is expected of its diagnosis is not there when the writer gives the exception's text."""
    write, args = called(name)
    monkeypatch.setattr(diagnosis, write.__name__, bare)
    assert missing(getattr(diagnosis, write.__name__)(*args), KINDS[name][2])


@pytest.mark.parametrize("reason", WRITTEN)
def test_a_diagnosis_of_what_is_rare_says_what_helps(reason: Reason) -> None:
    failure, parts = WRITTEN[reason]
    text = diagnosis.diagnose(DOUBLE, verdict(failure), GOOD)
    assert not missing(text, (f"{failure.status}: {reason} (stage: ", *parts)), text
    assert missing(bare(verdict(failure)), parts)


def test_a_long_compilation_gets_advice() -> None:
    loss = Loss("deadline", "call", "60 s", compiling="mm")
    text = diagnosis.diagnose(
        DOUBLE, verdict(Failure(Status.TIMEOUT, Stage.RUN, Reason.DEADLINE, DRAWN, loss=loss)), GOOD
    )
    assert "compiling mm took more than 60 s" in text and "smaller blocks" in text


def test_patterns_outlast_the_line_that_says_only_that_values_are_wrong() -> None:
    patterns = (Pattern(PatternName.SIGN, "first " * 10), Pattern(PatternName.LAST_TILE, "second"))
    mismatch = replace(MISMATCH, reason=Reason.MISMATCH)
    failure = Failure(Status.WRONG, Stage.COMPARE, Reason.MISMATCH, DRAWN, mismatch=mismatch, patterns=patterns)
    lengths = [
        next(n for n in range(500, 0, -1) if part not in diagnosis.diagnose(DOUBLE, verdict(failure), GOOD, n))
        for part in ("worst element", "the message", "pattern: second", "pattern: first")
    ]
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize("name", PatternName)
def test_every_pattern_is_told(name: PatternName) -> None:
    patterns = (Pattern(name, f"the words of {name}"),)
    failure = Failure(Status.WRONG, Stage.COMPARE, Reason.MISMATCH, DRAWN, mismatch=MISMATCH, patterns=patterns)
    assert f"pattern: the words of {name}" in diagnosis.diagnose(DOUBLE, verdict(failure), GOOD)


def test_every_reason_and_every_hint_is_here_for_its_own_sake(called: Callable[[str], Call]) -> None:
    assert {*map(str, REASONS), *map(str, WRITTEN)} >= {*map(str, Reason)} - {
        "infrastructure",
        "cut_off",
    }  # told elsewhere
    assert set(HINTS) == {rule.__name__ for rule in RULES}
    for rule, name in HINTS.items():
        _, (_, said, source, _) = called(f"hint: {rule}")
        scene = scene_of(said.failure.error, source)
        assert next(r.__name__ for r in RULES if r(scene)) == rule, name
    for name in SPOILT:
        _, (_, said, *_) = called(f"pattern: {name}")
        assert said.failure.patterns[0].name is name


def failed(error: dict[str, Any]) -> Verdict:
    known = {"kind": "compilation", "type": "CompilationError", "line": 11, "column": 35, "cause": "AttributeError"}
    launch = {"kernel": "double_kernel", "signature": {"x_ptr": "*fp32", "BLOCK": "constexpr"}, "constexprs": {}}
    return verdict(
        Failure(Status.COMPILE_ERROR, Stage.RUN, Reason.COMPILATION, DRAWN, {**known, "launch": launch, **error})
    )


@pytest.mark.parametrize("characters", [4000, 600, 200, 120])
def test_the_tail_of_a_long_message_is_never_cut(characters: int) -> None:
    message = "how it began\n" + "note: and so on\n" * 400 + "module 'triton.language' has no attribute 'tanh'"
    text = diagnosis.diagnose(DOUBLE, failed({"message": message}), changed(("2 * x", "tl.tanh(x)")), characters)
    assert len(text) <= characters
    assert text.startswith("compile_error: compilation (stage: run)\n")
    assert "has no attribute 'tanh'" in text
    assert "[...]" in text


def test_what_helps_least_is_left_out_first() -> None:
    said, source = (
        failed({"message": "module 'triton.language' has no attribute 'tanh'"}),
        changed(("2 * x", "tl.tanh(x)")),
    )
    whole = diagnosis.diagnose(DOUBLE, said, source)
    order = ["kernel double_kernel(", "case: ", "line 11: ", "hint: "]
    lengths = [
        next(n for n in range(len(whole), 0, -1) if part not in diagnosis.diagnose(DOUBLE, said, source, n))
        for part in order
    ]
    assert all(part in whole for part in order)
    assert lengths == sorted(lengths, reverse=True)
