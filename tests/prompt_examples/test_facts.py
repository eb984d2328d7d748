"""`prompts/facts.md` says what is so: names against the installed Triton, rules against its compiler."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from evaluator.judge import Evaluator
from prompts.loader import HERE
from tests.sources import changed, double_task

triton = pytest.importorskip("triton")
FACTS = (HERE / "facts.md").read_text()
VECTOR = "o = tl.arange(0, 16); a = tl.load(x + o)\n"
TILE = "o = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]; a = tl.load(x + o)\n"


def names_under(heading: str) -> set[str]:
    """The names in the bullets below a heading, without the bullets' own titles."""
    bullets = FACTS.partition(f"{heading}:\n")[2].partition("\n\n")[0].split("\n")
    return {name for line in bullets for name in re.findall(r"\w+", line.removeprefix("- ").rpartition(": ")[2])}


def libdevice_names() -> set[str]:
    line = next(line for line in FACTS.split("\n") if "import libdevice` has" in line)
    listed = re.sub(r"\(.*?\)", "", line.partition(" has ")[2].partition(", for ")[0])
    return set(re.findall(r"\w+", listed))


def test_what_is_said_to_exist_exists() -> None:
    import triton.language as tl

    there = names_under("In tl there is")
    assert {"load", "arange", "sigmoid", "associative_scan", "dot"} <= there
    used = set(re.findall(r"\btl\.(\w+)", FACTS))
    assert used and not {name for name in there | used if not hasattr(tl, name)}
    assert all(hasattr(triton, name) for name in re.findall(r"\btriton\.(?!language)(\w+)", FACTS))


def test_what_is_said_to_be_missing_is_missing() -> None:
    import triton.language as tl

    absent = names_under("In tl there is no")
    assert {"tanh", "round", "any"} <= absent
    assert not {name for name in absent if hasattr(tl, name)}


def device_library() -> str:
    """The sum of all functions of libdevice that the page names, at a block `a`."""
    two = {"pow", "fmod", "atan2"}
    return " + ".join(f"libdevice.{name}({'a, a' if name in two else 'a'})" for name in sorted(libdevice_names()))


def test_the_evaluator_takes_the_device_library(evaluator: Evaluator) -> None:
    store = "    tl.store(y_ptr + offs, 2 * x"
    source = changed(
        ("import triton\n", "import triton\nfrom triton.language.extra import libdevice\n"),
        (store, f"    a = x * 0 + 0.5\n    s = {device_library()}\n{store} + 0 * s"),
    )
    evaluation = evaluator.evaluate(double_task(), source)
    assert evaluation.correct, evaluation.diagnosis


ALLOWED = {
    "while and an early return": "if n < 0: return\ni = 0\nwhile i < n: i += 1",
    "Python's functions": "tl.store(y, max(min(n, 3), len((1, 2))))",
    "a global by tl.constexpr": "tl.store(y, GOOD)",
    "a helper": "tl.store(y, helper(n))",
    "masks": VECTOR + "tl.store(y + o, a, mask=(o < n) & ~(o == 3))",
    "an accumulator": VECTOR + "s = tl.zeros((16,), tl.float32)\nfor i in range(n): s += a",
    "a cast of what may be 1": "tl.store(y + tl.cast(ONE, tl.int64), 1.0)",
    "None is known": "tl.store(y, 1.0) if NONE is None else tl.store(y, tl.load(NONE))",
    "an inner side of 16": TILE + "tl.store(y + o, tl.dot(a, a, tl.zeros((16, 16), tl.float32)))",
    "the device library": VECTOR + f"tl.store(y + o, {device_library()})",
    "infinity": VECTOR + 'tl.store(y, tl.max(tl.load(x + o, mask=o < n, other=-float("inf"))))',
    "dtypes": VECTOR + "h = a.to(tl.float16)\n"
    "tl.static_assert(tl.sum(h).dtype == tl.float16)\ntl.static_assert(n.dtype == tl.int32)\n"
    "tl.static_assert(tl.program_id(0).dtype == tl.int32)\ntl.store(y.to(tl.pointer_type(tl.float16)), tl.sum(a))",
    "half atomics": VECTOR + "tl.atomic_add(y.to(tl.pointer_type(tl.float16)) + o, a.to(tl.float16))",
}  # fmt: skip
REFUSED = {
    "a length of 48": "o = tl.arange(0, 48)",
    "a block of 48": "o = tl.zeros((48,), tl.float32)",
    "a length at run time": "o = tl.arange(0, n)",
    "a block too large": "tl.store(y, tl.sum(tl.zeros((2097152,), tl.float32)))",
    "break": "for i in range(n):\n    if i > 3: break",
    "continue": "for i in range(n):\n    if i > 3: continue",
    "return in a loop": "for i in range(n):\n    if i > 3: return",
    "lambda": "f = lambda v: v",
    "dict": "d = {'a': 1}",
    "try": "try: tl.store(y, 1.0)\nexcept ValueError: pass",
    "an index": VECTOR + "tl.store(y, a[0])",
    "a slice": VECTOR + "tl.store(y + tl.arange(0, 8), a[:8])",
    "a plain global": "tl.store(y, PLAIN)",
    "a plain function": "tl.store(y, plain(n))",
    "abs": "tl.store(y, abs(n))",
    "if of a block": VECTOR + "if o < n: tl.store(y + o, a)",
    "power": VECTOR + "tl.store(y + o, a ** 2)",
    "an accumulator that begins as 0": VECTOR + "s = 0\nfor i in range(n): s += a",
    "sides of an if": "if n > 3: v = 1.0\nelse: v = 1\ntl.store(y, v)",
    "1.to": "tl.store(y + ONE.to(tl.int64), 1.0)",
    "axis 3": "tl.store(y, tl.program_id(3))",
    "exp of half": VECTOR + "tl.store(y + o, tl.exp(a.to(tl.float16)))",
    "sqrt of half": VECTOR + "tl.store(y + o, tl.sqrt(a.to(tl.float16)))",
    "erf of half": VECTOR + "tl.store(y + o, tl.erf(a.to(tl.float16)))",
    "floor of half": VECTOR + "tl.store(y + o, tl.floor(a.to(tl.bfloat16)))",
    "sigmoid of half": VECTOR + "tl.store(y + o, tl.sigmoid(a.to(tl.float16)))",
    "the device library on half": VECTOR + "tl.store(y + o, libdevice.tanh(a.to(tl.float16)))",
    "a dot of two dtypes": TILE + "tl.store(y + o, tl.dot(a, a.to(tl.float16)))",
    "an inner side of 8": TILE + "h = tl.zeros((16, 8), tl.float16)\ntl.store(y + o, tl.dot(h, tl.trans(h)))",
    "an int8 dot of 16": TILE + "h = a.to(tl.int8)\ntl.store(y + o, tl.dot(h, h))",
    "an int8 atomic": "tl.atomic_add(y.to(tl.pointer_type(tl.int8)), tl.full((), 1, tl.int8))",
}  # fmt: skip
INSTRUCTIONS = {
    "div.full": VECTOR + "tl.store(y + o, a / (a + 1))",
    "div.rn": VECTOR + "tl.store(y + o, tl.div_rn(a, a + 1))",
    "sqrt.approx": VECTOR + "tl.store(y + o, tl.sqrt(a))",
    "sqrt.rn": VECTOR + "tl.store(y + o, tl.sqrt_rn(a))",
    "ex2.approx": VECTOR + "tl.store(y + o, tl.exp(a))",
    "max.f32": VECTOR + "tl.store(y, tl.max(a))",
    "max.NaN.f32": VECTOR + "tl.store(y + o, tl.maximum(a, 0.0, propagate_nan=tl.PropagateNan.ALL))",
    "tf32": TILE + "tl.store(y + o, tl.dot(a, a))",
    "fma.rn.f32": TILE + 'tl.store(y + o, tl.dot(a, a, input_precision="ieee"))',
    "div.s32": VECTOR + "tl.store(y + o, a.to(tl.int32) // n)",
    "rem.s32": VECTOR + "tl.store(y + o, a.to(tl.int32) % n)",
}  # fmt: skip
BODIES = {**ALLOWED, **REFUSED, **INSTRUCTIONS}
HEAD = """\
import triton
import triton.language as tl
from triton.language.extra import libdevice

GOOD, PLAIN = tl.constexpr(3), 3


def plain(v):
    return v


@triton.jit
def helper(v):
    return v + 1
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A kernel for each body: x and y point to float32, n is an int32, ONE is 1 and NONE is None."""
    folder = tmp_path_factory.mktemp("facts")
    text = HEAD
    for number, body in enumerate(BODIES.values()):
        lines = "".join(f"    {line}\n" for line in body.split("\n"))
        text += f"\n\n@triton.jit\ndef kernel{number}(x, y, n, ONE, NONE):\n{lines}"
    (folder / "bodies.py").write_text(text)
    spec = importlib.util.spec_from_file_location("bodies_of_facts", folder / "bodies.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    before = os.environ.get("TRITON_CACHE_DIR")
    os.environ["TRITON_CACHE_DIR"] = str(folder / "cache")
    spec.loader.exec_module(module)
    yield {name: getattr(module, f"kernel{number}") for number, name in enumerate(BODIES)}
    os.environ.pop("TRITON_CACHE_DIR")
    if before is not None:
        os.environ["TRITON_CACHE_DIR"] = before


def compiled(kernel: Any, **options: int) -> Any:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "ONE": "constexpr", "NONE": "constexpr"}
    source = ASTSource(fn=kernel, signature=signature, constexprs={(3,): 1, (4,): None})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


@pytest.mark.parametrize("name", ALLOWED)
def test_what_the_page_allows_compiles(kernels: dict[str, Any], name: str) -> None:
    assert compiled(kernels[name]).asm["ptx"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_page_forbids_does_not_compile(kernels: dict[str, Any], name: str) -> None:
    with pytest.raises((triton.CompilationError, RuntimeError)):  # the second for a plain function
        compiled(kernels[name])


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_precision_is_as_the_page_says(kernels: dict[str, Any], name: str) -> None:
    assert name in compiled(kernels[name]).asm["ptx"]


def test_num_warps_is_a_power_of_two(kernels: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="power of 2"):
        compiled(kernels["masks"], num_warps=3)


def test_the_kinds_of_arguments() -> None:
    mangled = triton.runtime.jit.mangle_type
    assert [mangled(value, True) for value in (1.5, 5, 2**31, 1, None)] == [
        "fp32",
        "i32",
        "i64",
        "constexpr",
        "constexpr",
    ]


CONFIGS = ", ".join(f'triton.Config({{"BLOCK": {block}}}, num_warps=1)' for block in (32, 64, 128, 256))


@pytest.mark.parametrize(("launch", "status"), [("(x, y, n)", "correct"), ("(x, y, n, BLOCK=64)", "runtime_error")])
def test_an_autotuned_launch_does_not_pass_its_block(evaluator: Evaluator, launch: str, status: str) -> None:
    source = changed(
        ("@triton.jit", f'@triton.autotune(configs=[{CONFIGS}], key=["n"])\n@triton.jit'),
        ("(triton.cdiv(n, 64),)", 'lambda meta: (triton.cdiv(n, meta["BLOCK"]),)'),
        ("(x, y, n, BLOCK=64)", launch),
    )
    evaluation = evaluator.evaluate(double_task(), source)
    assert str(evaluation.status) == status, evaluation.diagnosis
