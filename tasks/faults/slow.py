"""Right but slow: kernels that move more bytes than they need to."""

from __future__ import annotations

import ast

from tasks.faults.code import Code, Edit
from tasks.faults.contract import returned_allocations
from tasks.faults.fault import Fault
from tasks.faults.syntax import Function, calls
from tasks.outcomes import Status

ROUND_TRIP = """\
@triton.jit
def round_trip_kernel(from_ptr, to_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(to_ptr + offs, tl.load(from_ptr + offs, mask=offs < n), mask=offs < n)


"""
THERE_AND_BACK = """\
scratch = torch.empty_like({name})
    trip = (triton.cdiv({name}.numel(), 1024),)
    round_trip_kernel[trip]({name}, scratch, {name}.numel(), BLOCK=1024)
    round_trip_kernel[trip](scratch, {name}, {name}.numel(), BLOCK=1024)"""


def load_twice(code: Code) -> str | None:
    """Every load is done once more, for nothing; volatile, so that no compiler merges the two."""
    edits: list[Edit] = []
    for kernel in code.kernels:
        for call in calls(kernel, "load"):
            statement = code.statement(call)
            if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr)) and code.begins_line(statement):
                once_more = code.segment(call)[:-1].rstrip().rstrip(",")
                edits.append(code.before(statement, f"again_{len(edits)} = {once_more}, volatile=True)"))
    return code.edited(edits)


def go_through_scratch(code: Code) -> str | None:
    """The output is copied to a workspace and back before it is returned.

    Triton has no complex pointers; a single number more or less does not show in the traffic.
    """
    entry = code.entry
    if entry is None or not code.jits or "complex" in code.text:
        return None
    for allocation in returned_allocations(code):
        statement = code.statement(allocation)
        if allocation.args and ast.unparse(allocation.args[0]) == "()":
            continue
        if statement in entry.body and isinstance(statement, ast.Assign) and statement.value is allocation:
            name = code.segment(statement.targets[0])
            start = _first_byte(code, code.jits[0])
            lines = code.before(entry.body[-1], THERE_AND_BACK.format(name=name))
            return code.edited([Edit(start, start, ROUND_TRIP), lines])
    return None


def _first_byte(code: Code, function: Function) -> int:
    return code.span(function.decorator_list[0])[0] - len("@")


FAULTS = (
    Fault(
        "redundant_reload",
        "right, with every load done twice",
        frozenset({Status.CORRECT}),
        frozenset(),
        load_twice,
        slow=True,
    ),
    Fault(
        "scratch_round_trip",
        "right, with the output copied to a workspace and back",
        frozenset({Status.CORRECT}),
        frozenset(),
        go_through_scratch,
        slow=True,
    ),
)
