"""Each mistake that models make is met by a hint that names the right thing, from what the real evaluator saw."""

import pytest

from evaluator.hints import hint_for, launch_line, without_values
from evaluator.hints_names import INSTEAD, NEAR
from evaluator.judge import Evaluator
from tests.sources import GOOD, double_task

HEAD = "import math\nimport torch\nimport triton\nimport triton.language as tl\n\nWIDTH = 64\n"
PARAMETERS = "x_ptr, y_ptr, n, BLOCK: tl.constexpr"
LAUNCH = "kernel[(1,)](x, y, n, BLOCK=64)"
DATA_PTR = LAUNCH.replace("(x,", "(x.data_ptr(),")
OFFS, X = "offs = tl.arange(0, BLOCK)", "x = tl.load(x_ptr + tl.arange(0, BLOCK))"
TILE = "a = tl.load(x_ptr + tl.arange(0, BLOCK)[:, None] + tl.arange(0, BLOCK)[None, :], mask=n < 0)"


def source(*body: str, takes: str = PARAMETERS, launch: str = LAUNCH, top: str = "", host: str = "pass") -> str:
    """A file whose kernel has these lines, and whose entry has these two."""
    lines = "\n    ".join(body)
    entry = f"def double(x):\n    y, n = torch.empty_like(x), x.numel()\n    {host}\n    {launch}\n    return y\n"
    return f"{HEAD}{top}\n\n@triton.jit\ndef kernel({takes}):\n    {lines}\n\n\n{entry}"


# the source, and what its hint must say
MISTAKES: dict[str, tuple[str, tuple[str, ...]]] = {
    "tanh": (source(X, "x = tl.tanh(x)"), ("no `tanh`", "tl.sigmoid(2 * x)")),
    "math.tanh": (source(X, "x = tl.math.tanh(x)"), ("no `tanh`",)),
    "round": (source(X, "x = tl.round(x)"), ("no `round`", "tl.floor(x + 0.5)")),
    "any": (source(X, "x = tl.any(x > 0)"), ("no `any`", "tl.max(x.to(tl.int32), axis)")),
    "a near name": (source(X, "x = tl.maximun(x, 0)"), ("did you mean tl.maximum?",)),
    "imported": (source(X, top="from triton.language.math import pow\n"), ("no `pow`", "exp2")),
    "power": (source(X, "x = x ** 2"), ("x * x",)),
    "pi": (source(X, "x = x * tl.pi"), ("3.14159",)),
    "an arange of 48": (source(X, launch=LAUNCH.replace("64", "48")), ("`BLOCK` is 48", "next_power_of_2")),
    "zeros of 48": (source("x = tl.zeros((48,), tl.float32)"), ("48 is no power of two",)),
    "too many elements": (source("x = tl.zeros((2048, 1024), tl.float32)"), ("1048576", "smaller block")),
    "no constexpr": (source(X, takes="x_ptr, y_ptr, n, BLOCK"), ("declare `BLOCK: tl.constexpr`",)),
    "zeros of n": (source("x = tl.zeros((n,), tl.float32)"), ("declare `n: tl.constexpr`",)),
    "a length made in the kernel": (source("m = tl.load(x_ptr)", "x = tl.arange(0, m)"), ("`m`", "run time")),
    "no tuple": (source("x = tl.zeros(BLOCK, tl.float32)"), ("(BLOCK,)",)),
    "a pointer indexed": (source("x = x_ptr[0]"), ("`x_ptr`, a pointer", "tl.load(x_ptr + 0)")),
    "an element stored": (source(X, "y_ptr[0] = x"), ("tl.store(y_ptr + 0, value)",)),
    "a block indexed": (source(X, "i = tl.program_id(0)", "x = x[i]"), ("the block `x`", "tl.sum(tl.where")),
    "a block sliced": (source(X, "x = x[0:4]"), ("the block `x`",)),
    "data_ptr": (source(X, launch=DATA_PTR), ("`x_ptr`", "not .data_ptr()")),
    "data_ptr of a block pointer": (
        source("p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))", launch=DATA_PTR),
        ("`x_ptr`", "not .data_ptr()"),
    ),
    "a loaded value as a pointer": (source(X, "x = tl.load(x + 1)"), ("`x` is a loaded value",)),
    "a number loaded": (
        source("x = tl.load(s)", takes=PARAMETERS + ", s=1.0", launch=LAUNCH.replace("=64", "=64, s=2.5")),
        ("`s` is a number (fp32)",),
    ),
    "a block stored at one address": (source(X, "tl.store(y_ptr, x)"), ("one address", "tl.arange")),
    "a pointer as a number": (source(OFFS, "m = offs < x_ptr"), ("`x_ptr` is a pointer (*fp32)",)),
    "a scalar reduced": (source("x = tl.sum(tl.load(x_ptr), axis=0)"), ("tl.sum got a scalar",)),
    "an axis too far": (source(X, "x = tl.sum(x, axis=1)"), ("axis of tl.sum",)),
    "max of two": (source(X, "x = tl.max(x, 0.0)"), ("tl.maximum(a, b)",)),
    "keepdim": (source(X, "x = tl.max(x, axis=0, keepdim=True)"), ("keep_dims",)),
    "a small dot": (source(TILE, "a = tl.dot(a, a)", launch=LAUNCH.replace("64", "4")), ("BLOCK is 4", "at least 16")),
    "dot of two types": (source(TILE, "a = tl.dot(a, a.to(tl.float16))"), ("one dtype",)),
    "dot with a vector": (source(TILE, X, "a = tl.dot(a, x)"), ("2-D",)),
    "@": (source(TILE, "a = a @ a"), ("tl.dot",)),
    "an int as grid": (source(X, launch=LAUNCH.replace("(1,)", "triton.cdiv(n, 64)")), ("(triton.cdiv(n, 64),)",)),
    "a named int as grid": (source(X, host="grid = (n)", launch=LAUNCH.replace("(1,)", "grid")), ("(n,)",)),
    "a grid that returns an int": (source(X, launch=LAUNCH.replace("(1,)", "lambda meta: n")), ("(n,)",)),
    "a grid too high": (source(X, launch=LAUNCH.replace("(1,)", "(1, 70000)")), ("first axis",)),
    "a tensor on the CPU": (source(X, host="x = x.cpu()"), ("device=x.device",)),
    "no grid": (source(X, launch="kernel(x, y, n, BLOCK=64)"), ("kernel[(n,)](...)",)),
    "tl.cdiv on the host": (source(X, launch=LAUNCH.replace("(1,)", "(tl.cdiv(n, 64),)")), ("triton.cdiv",)),
    "a fourth axis": (source("x = tl.program_id(3)"), ("0, 1 and 2",)),
    "complex": (source(X, host="x = torch.view_as_complex(torch.stack([x, x], -1))"), ("`x_ptr`", "view_as_real")),
    "shared memory": (
        source(
            "a = tl.zeros((BLOCK, BLOCK), tl.float32)",
            "at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]",
            "for k in range(0, n, BLOCK):",
            "    a += tl.dot(tl.load(x_ptr + k + at), tl.load(y_ptr + k * BLOCK + at))",
            "tl.store(y_ptr + at, a)",
            launch="kernel[(1,)](x, y, n, BLOCK=128, num_stages=8, num_warps=32)",
        ),
        ("bytes of shared memory", "232448", "BLOCK=128", "num_stages=8"),
    ),
    "torch in a kernel": (source(X, "x = torch.exp(x)"), ("`torch.exp` runs on the host", "tl.exp")),
    "math in a kernel": (source("x = math.sqrt(tl.load(x_ptr))"), ("`math.sqrt` runs on the host", "tl.sqrt")),
    "float()": (source("x = float(tl.load(x_ptr))"), ("x.to(tl.float32)",)),
    "a plain function": (
        source(X, "x = twice(x)", top="\n\ndef twice(x):\n    return tl.where(x > 0, x, x)\n"),
        ("`twice`", "@triton.jit"),
    ),
    "shape": (source("n = x_ptr.shape[0]"), ("`x_ptr` has no .shape",)),
    "stride": (source("n = x_ptr.stride(0)"), ("`x_ptr` has no .stride",)),
    "a global": (source("x = tl.arange(0, WIDTH)"), ("tl.constexpr", "`WIDTH`")),
    "nothing of that name": (source("x = tl.arange(0, SIZE)"), ("defines no `SIZE`", "parameter")),
    "an argument forgotten": (source(X, launch="kernel[(1,)](x, y, n)"), ("`BLOCK`", "BLOCK=64")),
    "None loaded": (source(X, launch="kernel[(1,)](None, y, n, BLOCK=64)"), ("`x_ptr` is None", "FLAG")),
    "a torch dtype": (
        source("tl.zeros((BLOCK,), D)", takes=f"{PARAMETERS}, D: tl.constexpr", launch=f"{LAUNCH[:-1]}, D=x.dtype)"),
        ("`D` is torch.float32",),
    ),
    "a type that changes": (source("s = 0", "for i in range(n):", "    s += tl.load(x_ptr + i)"), ("`s` changes",)),
    "break": (source("for i in range(n):", "    break"), ("no `break`",)),
    "a plain function in a helper": (
        source(
            X, "x = helper(x)",
            top="\n\ndef twice(x):\n    return x + x\n\n\n@triton.jit\ndef helper(x):\n    return twice(x)\n",
        ),
        ("`twice`", "@triton.jit"),
    ),
    "a number as mask": (source("x = tl.load(x_ptr + tl.arange(0, BLOCK), mask=n)"), ("mask of tl.load", "n != 0")),
    "a block in a block pointer": (
        source(OFFS, "p = tl.make_block_ptr(x_ptr, (n,), (1,), (offs,), (BLOCK,), (0,))"),
        ("`offs` is a block", "tl.make_block_ptr are numbers"),
    ),
    "an entry of its own": (source(X).replace("def double(x)", "def double(x, *, dim)"), ("`double` must take",)),
    "a shape taken for granted": (source(X, host="rows, cols = x.shape"), ("`x.shape` has another length",)),
    "a kernel's parameter outside": (
        source(X, launch=LAUNCH.replace("(1,)", "(triton.cdiv(n, BLOCK),)")),
        ("`BLOCK` is a parameter of the kernel `kernel`", 'meta["BLOCK"]'),
    ),
    "a function that calls itself": (source(X, launch="y = double(x)"), ("`double` calls itself",)),
    "sizes as one tuple": (
        source(X, top="\n\ndef made(*size):\n    return torch.empty(size)\n", host="y = made((n,))"),
        ("`*size` holds one tuple", "size[0]"),
    ),
    "exp of integers": (source("x = tl.exp(tl.arange(0, BLOCK))"), ("tl.exp takes float32",)),
    "no such package": (source(X, top="import no_such_module\n"), ("no module `no_such_module` beside it",)),
    "a name that a module lacks": (source(X, top="from typing import Number\n"), ("typing has no `Number`",)),
    "a part of Triton that is gone": (source(X, top="import triton.ops\n"), ("no `triton.ops` here",)),
    "torch not imported": (source(X).replace("import torch\n", ""), ("import it: import torch",)),
    "the entry is a kernel": (
        source(X).replace("def double", "@triton.jit\ndef double"), ("the entry `double` is a kernel", "plain function")
    ),
    "an autotuned kernel called": (
        source(X, top="@triton.autotune([triton.Config({})], [])", launch="kernel(x, y, n, BLOCK=64)"),
        ("`kernel` is a kernel: launch it",),
    ),
    "a block size in the grid": (source(X, launch=LAUNCH.replace("(1,)", "(1,), 64")), ("kernel[grid](",)),
    "a block size only in the grid": (
        source(X, host="BLOCK = 64", launch="kernel[1, BLOCK](x, y, n)"), ("`BLOCK`", "what stands in [] is the grid")
    ),
    "a pointer cast": (source("x = x_ptr.to(tl.float32)"), ("`x_ptr` is a pointer: load first",)),
    "bits by view": (source(X, "x = x.view(tl.int32)"), ("x.to(tl.int32, bitcast=True)",)),
    "a dtype as argument": (
        source(X, takes=f"{PARAMETERS}, D=0", launch=f"{LAUNCH[:-1]}, D=x.dtype)"), ("`D` is a dtype",)
    ),
    "None added": (source(X, "x = x + n", launch="kernel[(1,)](x, y, None, BLOCK=64)"), ("`n` is None",)),
    "shapes that differ": (source(X, "x = x + tl.arange(0, 32)"), ("[:, None]",)),
}  # fmt: skip

UNRELATED = {
    "an own check": source(X, host="raise ValueError('only 1-D tensors')"),
    "a missing method": source(X, host="x.no_such_method()"),
    "an own assertion": source(X, "tl.static_assert(BLOCK == 32, 'the block must be 32')"),
    "a division by zero": source(X, host="n // 0"),
}


def hint_in(diagnosis: str) -> str:
    return next((line for line in diagnosis.split("\n") if line.startswith("hint: ")), "")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told(evaluator: Evaluator, name: str) -> None:
    text, parts = MISTAKES[name]
    diagnosis = evaluator.evaluate(double_task(), text).diagnosis
    assert all(part in hint_in(diagnosis) for part in parts), diagnosis


@pytest.mark.parametrize("name", UNRELATED)
def test_what_is_not_known_gets_no_hint(evaluator: Evaluator, name: str) -> None:
    diagnosis = evaluator.evaluate(double_task(), UNRELATED[name]).diagnosis
    assert not hint_in(diagnosis), diagnosis


def test_the_place_and_the_launch_are_told(evaluator: Evaluator) -> None:
    twice = source(X, "z = x + 1", "x = x + tl.tanh(x)", "z = x + 1", launch=LAUNCH[:-1] + ", num_warps=8)")
    diagnosis = evaluator.evaluate(double_task(), twice).diagnosis
    lines = diagnosis.split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("line 13:"))
    assert lines[at][lines[at + 1].index("^") :] == "tl.tanh(x)"
    assert "kernel kernel(x_ptr: *fp32, y_ptr: *fp32, n: i32, BLOCK: 64), num_warps=8" in lines


def test_a_line_that_stands_twice_is_placed(evaluator: Evaluator) -> None:
    other = "\n\n@triton.jit\ndef other(x_ptr):\n    x = tl.tanh(tl.load(x_ptr))\n"
    diagnosis = evaluator.evaluate(double_task(), source("x = tl.tanh(tl.load(x_ptr))", top=other)).diagnosis
    assert "line 16:" in diagnosis


@pytest.mark.parametrize(
    ("row", "node", "part"),
    [
        ("x = tl.tanh(x)", "tl.tanh", "no `tanh`"),
        ("x = tl.arange(0, n)", "tl.arange(0, n)", "declare `n: tl.constexpr`"),
        ("x = tl.arange(0, 3 * BLOCK)", "tl.arange(0, 3 * BLOCK)", "`3 * BLOCK` is 192"),
        ("x = tl.load(x_ptr + n)[n]", "tl.load(x_ptr + n)[n]", "can't index"),
        ("x = tl.load(n)", "tl.load(n)", "`n` came as a number (i32)"),
        ("x = tl.program_id(3)", "tl.program_id(3)", "0, 1 and 2"),
        ("x = 0 < n < 3", "0 < n < 3", "can't chain"),
        ("x = n % x_ptr", "n % x_ptr", "`x_ptr` is a pointer"),
        ("x = math.exp(n)", "math.exp(n)", "use tl.exp"),
        ("x = tl.max(n, 2.0)", "tl.max(n, 2.0)", "tl.maximum"),
    ],
)
def test_a_hint_does_not_hang_on_the_words(row: str, node: str, part: str) -> None:
    text = source(row)
    line = text.split("\n").index(f"    {row}") + 1
    column = 4 + row.index(node)
    place = {"line": line, "column": column, "end_line": line, "end_column": column + len(node)}
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    launch = {"kernel": "kernel", "signature": signature, "constexprs": {"BLOCK": 64}}
    said = {"kind": "compilation", "type": "CompilationError", "cause": "AttributeError", "message": "in other words"}
    assert part in (hint_for({**said, **place, "launch": launch}, text) or "")


def test_values_of_a_hidden_case_are_left_out() -> None:
    launch = {
        "kernel": "k",
        "signature": {"x_ptr": "constexpr", "N": "constexpr"},
        "constexprs": {"x_ptr": None, "N": 517},
    }
    error = {"kind": "compilation", "message": "m", "launch": launch}
    assert launch_line(error) == "kernel k(x_ptr: None, N: 517)"
    assert launch_line(without_values(error)) == "kernel k(x_ptr: None, N: constexpr)"


def test_a_long_launch_is_told_in_groups() -> None:
    signature = {**{f"stride_number_{i}": "i32" for i in range(20)}, "BLOCK": "constexpr"}
    line = launch_line({"launch": {"kernel": "k", "signature": signature, "constexprs": {"BLOCK": 64}}})
    assert line is not None
    assert line.endswith("stride_number_19: i32, BLOCK: 64)")


@pytest.mark.parametrize(
    "error",
    [
        {},
        {"message": None, "line": "3", "launch": 7, "kind": ["compilation"]},
        {"kind": "compilation", "line": 8, "column": -1, "launch": {"signature": [1], "constexprs": {"n": {}}}},
        {"kind": "out_of_resources", "resource": "shared memory", "required": 0, "limit": 0},
    ],
)
def test_a_malformed_report_does_no_harm(error: dict[str, object]) -> None:
    assert hint_for(error, GOOD) is None
    assert launch_line(error) is None


def test_a_pass_that_fails_is_told_without_a_place() -> None:
    said = {
        "kind": "compilation",
        "type": "CompilationError",
        "cause": "RuntimeError",
        "message": "PassManager::run failed",
    }
    assert "other block sizes" in (hint_for(said, GOOD) or "")


def test_the_tables_agree_with_this_triton() -> None:
    import triton.language as tl
    from triton.language.extra import libdevice

    assert not [name for name in INSTEAD if hasattr(tl, name) or hasattr(tl.math, name)]
    assert not [name for name in NEAR if not hasattr(tl, name)]
    told = [
        text.split("libdevice.", 1)[1].split("(")[0].split()[0] for text in INSTEAD.values() if "libdevice." in text
    ]
    assert not [name for name in told if not hasattr(libdevice, name)]
