"""The fault injector without an evaluator: where kinds fit, and what the edits leave behind."""

import ast
import difflib
from functools import cache

import pytest
from first_tasks import FIRST

from tasks.catalog import built, oracle_path
from tasks.errors import UserError
from tasks.faults.catalog import FAULTS, by_name, fitting
from tasks.faults.code import Code
from tasks.faults.equivalent import why_right
from tasks.outcomes import Reason, Status

NOT_PYTHON = {Reason.SYNTAX_ERROR, Reason.NO_CODE}

ADD = '''\
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """µ: bytes and characters differ from here on."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1.0, mask=offs < n)


def add_one(x):
    y = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
'''


QUANTISE = """\
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def quantise_kernel(x_ptr, b_ptr, q_ptr, s_ptr, rows, cols, eps, HAS_B: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    top = tl.zeros((R,), dtype=tl.float32)
    mean = tl.zeros((R,), dtype=tl.float32)
    for start in range(0, cols, C):
        c = start + tl.arange(0, C)
        mask = (r < rows)[:, None] & (c < cols)[None, :]
        x = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=mask, other=0.0)
        top = tl.maximum(top, tl.max(tl.abs(x), axis=1))
        mean += tl.sum(x, axis=1)
    mean = mean / cols
    scale = top / 127 + eps
    c = tl.arange(0, C)
    x = tl.load(x_ptr + r[:, None] * cols + c[None, :])
    y = (x - mean[:, None]) * scale[:, None]
    if HAS_B:
        y += tl.load(b_ptr + c)[None, :]
    tl.store(q_ptr + r[:, None] * cols + c[None, :], libdevice.rint(y).to(tl.int8))
    tl.store(s_ptr + r, scale / (cols - 1), mask=r < rows)


def quantise(x, b=None, eps=1e-6):
    q = torch.empty_like(x, dtype=torch.int8)
    s = torch.empty(x.shape[0], device=x.device)
    grid = (triton.cdiv(x.shape[0], 16),)
    quantise_kernel[grid](x, b, q, s, x.shape[0], x.shape[1], eps, HAS_B=b is not None, R=16, C=128)
    return q
"""


def oracle(task: str) -> str:
    return oracle_path(task).read_text()


@cache
def mutants(task: str) -> dict[str, str]:
    return {fault.name: fault.apply(oracle(task)) or "" for fault in fitting(oracle(task))}


def changed_lines(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[0] in "+-"]


def test_names_are_unique_and_found():
    names = [fault.name for fault in FAULTS]
    assert len(names) == len(set(names))
    assert [by_name(name) for name in names] == list(FAULTS)
    with pytest.raises(UserError, match="short_grid"):
        by_name("shrot_grid")


def test_kinds_say_what_they_lead_to():
    for fault in FAULTS:
        assert fault.summary
        if fault.slow:
            assert fault.expects == {Status.CORRECT}
            assert not fault.reasons
        else:
            assert fault.expects
            assert not fault.expects & {Status.CORRECT, Status.INFRA_ERROR}
            assert fault.reasons


def test_some_kinds_are_never_mended_and_some_are_slow():
    assert any(not fault.mended for fault in FAULTS)
    assert any(fault.slow for fault in FAULTS)


def test_at_least_thirty_kinds_of_mistakes_fit_somewhere():
    wrong = [name for task in FIRST for name in mutants(task) if not why_right(name, task)]
    assert len({name for name in wrong if not by_name(name).slow}) >= 30


@pytest.mark.parametrize("task", built())
def test_every_oracle_gets_kinds_of_several_outcomes(task: str):
    fits = [by_name(name) for name in mutants(task)]
    assert len(fits) >= 6
    assert len(set().union(*(fault.expects for fault in fits))) >= 3


@pytest.mark.parametrize("task", built())
def test_mutants_differ_from_the_oracle_and_from_each_other(task: str):
    sources = [oracle(task), *mutants(task).values()]
    assert len(sources) == len(set(sources))


@pytest.mark.parametrize("task", built())
def test_mutants_are_python_unless_that_is_the_mistake(task: str):
    for name, source in mutants(task).items():
        if by_name(name).reasons & NOT_PYTHON:
            with pytest.raises(SyntaxError):
                ast.parse(source)
        else:
            ast.parse(source)


@pytest.mark.parametrize("task", built())
def test_mutants_are_the_same_every_time(task: str):
    for name, source in mutants(task).items():
        assert by_name(name).apply(oracle(task)) == source


@pytest.mark.parametrize("task", built())
def test_an_edit_leaves_the_rest_as_it_was_written(task: str):
    for name, source in mutants(task).items():
        if name not in ("prose_only", "scratch_round_trip", "redundant_reload"):
            edited = len(changed_lines(oracle(task), source))
            assert edited <= 2 * max(1, oracle(task).count("tl.load") + oracle(task).count("tl.store")), name


def test_what_is_not_python_fits_nothing():
    assert fitting("def broken(:\n") == []


def test_a_file_without_kernels_gets_no_kernel_faults():
    host_only = "import torch\n\n\ndef f(x):\n    return torch.exp(x)\n"
    names = {fault.name for fault in fitting(host_only)}
    assert not names & {"unmasked_store", "shifted_index", "missing_function", "short_grid", "redundant_reload"}


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("unmasked_store", ["+     tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1.0)"]),
        ("floored_grid", ["+     add_kernel[(x.numel() // 1024,)](x, y, x.numel(), BLOCK=1024)"]),
        ("short_grid", ["+     add_kernel[(triton.cdiv(x.numel(), 1024) - 1,)](x, y, x.numel(), BLOCK=1024)"]),
        ("integer_grid", ["+     add_kernel[triton.cdiv(x.numel(), 1024)](x, y, x.numel(), BLOCK=1024)"]),
        ("shifted_index", ["+     offs = tl.program_id(0) * BLOCK + (1 + tl.arange(0, BLOCK))"]),
        ("block_not_power_of_two", ["+     add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=768)"]),
        ("missing_constexpr", ["+ def add_kernel(x_ptr, y_ptr, n, BLOCK):"]),
        ("missing_import", []),
        ("undefined_name", []),
        ("syntax_error", ["+ def add_one(x)"]),
        ("returned_input", ["+     return x"]),
        ("torch_after_kernel", ["+     return y * 1"]),
        ("wrong_dtype", ["+     y = torch.empty_like(x, dtype=torch.float64)"]),
    ],
)
def test_edits_in_full(name: str, lines: list[str]):
    mutant = by_name(name).apply(ADD)
    assert mutant
    assert [line for line in changed_lines(ADD, mutant) if line.startswith("+")] == lines


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("truncated_rounding", ["tl.store(q_ptr + r[:, None] * cols + c[None, :], y.to(tl.int8))"]),
        (
            "half_away_rounding",
            ["tl.store(q_ptr + r[:, None] * cols + c[None, :], (y + tl.where(y < 0, -0.5, 0.5)).to(tl.int8))"],
        ),
        (
            "shared_scale",
            [
                "top = tl.maximum(top, tl.max(tl.abs(x)))",
                "quantise_kernel[grid](x, b, q, s, x.shape[0], x.shape[1], eps, HAS_B=b is not None, "
                "R=triton.next_power_of_2(x.shape[0]), C=128)",
            ],
        ),
        ("dropped_scale", ["y = (x - mean[:, None])"]),
        ("wrapped_range", ["scale = top / 128 + eps"]),
        (
            "not_quantised",
            [
                "tl.store(q_ptr + r[:, None] * cols + c[None, :], y)",
                "q = torch.empty_like(x, dtype=torch.float32)",
            ],
        ),
        ("swapped_stages", ["y += tl.load(b_ptr + c)[None, :] * scale[:, None]"]),
        ("ignored_argument", ["b = None"]),
        (
            "ignored_option",
            ["quantise_kernel[grid](x, b, q, s, x.shape[0], x.shape[1], eps, HAS_B=False, R=16, C=128)"],
        ),
        ("dropped_addend", ["pass"]),
        ("dropped_epsilon", ["scale = (top / 127)"]),
        ("dropped_function", ["top = tl.maximum(top, tl.max(x, axis=1))"]),
        ("wrong_count", ["mean = mean / (cols - 1)"]),
        ("biased_variance", ["tl.store(s_ptr + r, scale / (cols), mask=r < rows)"]),
        ("mean_not_subtracted", ["y = (x) * scale[:, None]"]),
        ("overwritten_accumulator", ["mean = tl.sum(x, axis=1)"]),
        (
            "narrow_accumulator",
            ["mean = tl.zeros((R,), dtype=tl.float16)", "mean += tl.sum(x, axis=1).to(tl.float16)"],
        ),
    ],
)
def test_edits_of_a_quantising_kernel_in_full(name: str, lines: list[str]):
    mutant = by_name(name).apply(QUANTISE)
    assert mutant
    assert [line[2:].strip() for line in changed_lines(QUANTISE, mutant) if line.startswith("+")] == lines


def test_fusion_mistakes_in_launches_and_stages():
    two = ADD.replace("    return y", "    add_kernel[(1,)](y, y, 1, BLOCK=16)\n    return y")
    first, second = (line for line in two.splitlines() if "add_kernel[" in line)
    swapped, skipped = by_name("swapped_launches").apply(two), by_name("skipped_launch").apply(two)
    assert swapped and swapped.index(second) < swapped.index(first)
    assert skipped and first in skipped and second not in skipped
    assert by_name("skipped_launch").apply(ADD) is None
    assert by_name("no_rescaling").apply(ADD.replace("+ 1.0", "* tl.exp(1.0)")) is None


MEAN_OF_EXP = """\
import torch
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.exp(tl.load(x_ptr + offs, mask=offs < n, other=-float("inf")))
    mean = tl.sum(acc, axis=0) / n
    tl.store(y_ptr, mean)


def mean_of_exp(x):
    y = torch.empty((), device=x.device)
    mean_kernel[(1,)](x, y, x.numel(), BLOCK=1024)
    return y
"""


def test_an_exponential_moves_behind_the_sum_of_what_it_loads():
    """The load whose padding changes stands inside the call that goes away."""
    mutant = by_name("swapped_stages").apply(MEAN_OF_EXP)
    assert mutant
    assert [line[2:].strip() for line in changed_lines(MEAN_OF_EXP, mutant) if line.startswith("+")] == [
        "acc += tl.load(x_ptr + offs, mask=offs < n, other=0.0)",
        "mean = tl.exp(tl.sum(acc, axis=0) / n)",
    ]


def test_loads_of_elementwise_kernels_keep_their_masks():
    """The store's mask hides what an unmasked load read, so nothing could be seen of it."""
    assert by_name("unmasked_load").apply(ADD) is None


def test_every_load_is_doubled():
    mutant = by_name("redundant_reload").apply(ADD)
    assert mutant
    assert "    again_0 = tl.load(x_ptr + offs, mask=offs < n, volatile=True)\n" in mutant


def test_the_round_trip_adds_a_kernel():
    mutant = by_name("scratch_round_trip").apply(ADD)
    assert mutant
    assert len(Code(mutant).kernels) == len(Code(ADD).kernels) + 1


def test_the_entry_is_the_function_that_nobody_calls():
    code = Code("def entry(x):\n    return helper(x)\n\n\ndef helper(x):\n    return x\n")
    assert code.entry
    assert code.entry.name == "entry"
