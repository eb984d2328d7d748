"""Mistakes in what is handed back: the name, the dtype, the object, and work that is not Triton's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tasks.faults.code import Code, Edit
from tasks.faults.fault import ADDRESSES, VALUES, Fault
from tasks.faults.syntax import names, ordered
from tasks.outcomes import Reason, Status

ALLOCATORS = {"empty", "empty_like", "zeros", "zeros_like", "full", "new_empty", "new_zeros"}
PROSE = (
    "The kernel should read each tile once, keep its running values in float32 registers and write the result with "
    "the mask of the last tile. I would choose the block size by the number of columns."
)


def change_dtype(code: Code) -> str | None:
    """The output is allocated in float64 (in float16 where it is float64 already)."""
    for call in returned_allocations(code):
        given = [keyword.value for keyword in call.keywords if keyword.arg == "dtype"]
        if given:
            other = "torch.float16" if ast.unparse(given[0]) == "torch.float64" else "torch.float64"
            return code.edited([code.replace(given[0], other)])
        end = code.span([*call.args, *call.keywords][-1])[1]
        return code.edited([Edit(end, end, ", dtype=torch.float64")])
    return None


def compute_in_torch(code: Code) -> str | None:
    """The kernel's result goes through a torch operation on its way out."""
    for value in _returned(code):
        if not isinstance(value, ast.Tuple):
            return code.edited([code.replace(value, f"{code.grouped(value)} * 1")])
    return None


def return_input(code: Code) -> str | None:
    """The first argument is returned in place of the result."""
    first = code.entry.args.args[:1] if code.entry else []
    for value in _returned(code):
        if first and not isinstance(value, ast.Tuple) and ast.unparse(value) != first[0].arg:
            return code.edited([code.replace(value, first[0].arg)])
    return None


def rename_entry(code: Code) -> str | None:
    """The entry function has another name."""
    if code.entry is None:
        return None
    start = code.span(code.entry)[0] + len("def ")
    return code.edited([Edit(start, start, "triton_")])


def write_prose(code: Code) -> str | None:
    """No source at all: a plan in words."""
    return PROSE


def returned_allocations(code: Code) -> Iterator[ast.Call]:
    """Allocations in the entry function whose names its last statement returns."""
    for returned in _returned(code):
        for node in ordered(code.entry or code.tree, ast.Assign):
            value = node.value.body if isinstance(node.value, ast.IfExp) else node.value
            name = value.func.attr if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else ""
            if isinstance(value, ast.Call) and name in ALLOCATORS and names(node.targets[0]) & names(returned):
                yield value


def _returned(code: Code) -> Iterator[ast.expr]:
    """What the entry function returns with its last statement."""
    last = code.entry.body[-1] if code.entry else None
    if isinstance(last, ast.Return) and last.value is not None:
        yield last.value


FAULTS = (
    Fault(
        "wrong_dtype",
        "an output of another dtype than the task's",
        frozenset({Status.WRONG, Status.COMPILE_ERROR, Status.RUNTIME_ERROR}),
        VALUES | ADDRESSES | {Reason.DTYPE, Reason.COMPILATION},
        change_dtype,
    ),
    Fault(
        "torch_after_kernel",
        "a torch operation on the kernel's result",
        frozenset({Status.REJECTED}),
        frozenset({Reason.TORCH_COMPUTE, Reason.NOT_FROM_KERNEL}),
        compute_in_torch,
        mended=False,
    ),
    Fault(
        "returned_input",
        "an argument returned in place of the result",
        # Where the call may change that argument in place, to return it is no alias: then its values are wrong or,
        # where they happen to be right, no kernel wrote them. It may have been reshaped on the way, and where the
        # first argument is a number (logspace, index_fill_) it isn't even a tensor.
        frozenset({Status.REJECTED, Status.WRONG}),
        VALUES | {Reason.ALIASES_INPUT, Reason.NOT_FROM_KERNEL, Reason.SHAPE, Reason.STRUCTURE},
        return_input,
    ),
    Fault(
        "wrong_entry_name",
        "an entry function under another name than the task's",
        frozenset({Status.RUNTIME_ERROR}),
        frozenset({Reason.NO_ENTRY}),
        rename_entry,
    ),
    Fault(
        "prose_only",
        "words and no code",
        frozenset({Status.REJECTED}),
        frozenset({Reason.NO_CODE}),
        write_prose,
    ),
)
