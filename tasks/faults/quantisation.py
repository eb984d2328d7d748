"""Mistakes in quantisation: the rounding, the scales, the range of the grid, or no grid at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tasks.faults.code import Code, Edit
from tasks.faults.fault import VALUES, Fault
from tasks.faults.syntax import Function, argument, calls, constexprs, is_spread, loaded, names, ordered
from tasks.outcomes import Status

ROUNDINGS = ("rint", "round", "nearbyint")
NARROW = ("tl.int8", "tl.uint8")
LARGEST = 127


def truncate(code: Code) -> str | None:
    """The cast to an integer truncates: what rounds ahead of it is gone."""
    return code.edited(code.replace(node, code.grouped(inner)) for node, inner in _roundings(code))


def round_half_away(code: Code) -> str | None:
    """Half to even becomes half away from zero: half is added by sign, and the cast truncates."""
    edits = []
    for node, inner in _roundings(code):
        if _is_cast(code.parent(node)):
            value = code.grouped(inner)
            edits.append(code.replace(node, f"({value} + tl.where({value} < 0, -0.5, 0.5))"))
    return code.edited(edits)


def share_scale(code: Code) -> str | None:
    """One scale for a whole tensor: the largest magnitude is taken over all rows, which become one tile."""
    for launch in code.launches:
        kernel = launch.kernel
        for call in calls(kernel, "max"):
            axis = argument(call, "axis", 1)
            if not (axis and call.args and calls(call.args[0], "abs")):
                continue
            block, bound = _kept_dimension(code, kernel, call)
            size, given = launch.argument(bound) if bound else None, launch.argument(block) if block else None
            if size and given:
                everything = code.replace(call, f"tl.max({code.segment(call.args[0])})")
                return code.edited([everything, code.replace(given, f"triton.next_power_of_2({code.segment(size)})")])
    return None


def drop_scale(code: Code) -> str | None:
    """A loaded value is not multiplied by the scale of its row or column."""
    for kernel in code.jits:
        values = loaded(kernel)
        for node in ordered(kernel, ast.BinOp):
            scaled = isinstance(node.op, ast.Mult) and is_spread(node.right) and not is_spread(node.left)
            if scaled and names(node.left) & values and names(node.right) & values:
                return code.edited([code.replace(node, code.grouped(node.left))])
    return None


def widen_range(code: Code) -> str | None:
    """The largest value is put on 128 and not clamped, so that it wraps around to -128."""
    if "int8" not in code.text:
        return None
    for kernel in code.jits:
        for node in ordered(kernel, ast.Constant):
            if node.value == LARGEST:
                return code.edited([code.replace(node, str(node.value + 1))])
    return None


def leave_float(code: Code) -> str | None:
    """Nothing is rounded and cast: quotients are kept, multiplied and added in float32."""
    edits: list[Edit] = []
    for node, inner in _roundings(code):
        method = code.parent(node)
        if not _is_cast(method):
            return None
        edits.append(code.replace(code.parent(method), code.grouped(inner)))
    if not edits:
        return None
    for host in code.hosts:
        edits += [code.replace(n, "torch.float32") for n in ordered(host, ast.Attribute) if _is(n, "torch.int8")]
    for kernel in code.jits:
        if calls(kernel, "dot"):
            edits += _in_float(code, kernel)
    return code.edited(edits)


def _in_float(code: Code, kernel: Function) -> Iterator[Edit]:
    """An integer product of tiles becomes one of float32."""
    asked = [keyword for call in calls(kernel, "dot") for keyword in call.keywords if keyword.arg == "out_dtype"]
    yield from (code.replace(keyword, 'input_precision="ieee"') for keyword in asked)
    for node in ordered(kernel, ast.Attribute):
        if _is(node, "tl.int32") and code.parent(node) not in asked:
            yield code.replace(node, "tl.float32")


def _roundings(code: Code) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What rounds a value to an integer in a kernel, with that value: a call, or `x + C - C` with a large C."""
    for kernel in code.jits:
        for call in ordered(kernel, ast.Call):
            if isinstance(call.func, ast.Attribute) and call.func.attr in ROUNDINGS and call.args:
                yield call, call.args[0]
        for node in ordered(kernel, ast.BinOp):
            left, right = node.left, node.right
            if not (isinstance(node.op, ast.Sub) and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add)):
                continue
            if isinstance(right, ast.Constant) and ast.dump(left.right) == ast.dump(right):
                yield node, left.left


def _is_cast(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "to"


def _is(node: ast.expr, written: str) -> bool:
    return ast.unparse(node) == written


def _kept_dimension(code: Code, kernel: Function, call: ast.Call) -> tuple[str, str]:
    """The block size of the dimension that the reduction `call` keeps, and the kernel's parameter that bounds it;
    empty names where that can't be told."""
    tiles = {parameter.arg for parameter in constexprs(kernel)}
    statement = code.statement(call)
    target = ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    starts = [
        n.value for n in ordered(kernel, ast.Assign) if ast.unparse(n.targets[0]) == target and n is not statement
    ]
    blocks = [name for start in starts for name in names(start) if name in tiles]
    for place in ordered(kernel, ast.Assign):
        ranges = [c for c in calls(place.value, "arange") if blocks and names(c.args[-1]) == {blocks[0]}]
        index = ast.unparse(place.targets[0])
        for node in ordered(kernel, ast.Compare) if ranges else ():
            if ast.unparse(node.left) == index and isinstance(node.comparators[0], ast.Name):
                return blocks[0], node.comparators[0].id
    return "", ""


def _kinds() -> Iterator[Fault]:
    wrong = frozenset({Status.WRONG})
    yield Fault("truncated_rounding", "a cast that truncates where rounding is meant", wrong, VALUES, truncate)
    yield Fault("half_away_rounding", "halves rounded away from zero and not to even", wrong, VALUES, round_half_away)
    yield Fault("shared_scale", "one scale for a tensor in place of one for each row", wrong, VALUES, share_scale)
    yield Fault("dropped_scale", "a scale for each row or column left out", wrong, VALUES, drop_scale)
    yield Fault("wrapped_range", "a grid up to 128 without a clamp: int8 wraps around", wrong, VALUES, widen_range)
    yield Fault("not_quantised", "the plain floating-point product", wrong, VALUES, leave_float)


FAULTS = tuple(_kinds())
