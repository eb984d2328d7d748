"""Mistakes in the arithmetic: padding, initial values, stability, axes, precision, terms left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tasks.faults.code import Code, Edit
from tasks.faults.fault import ADDRESSES, UNWRITTEN, VALUES, Fault
from tasks.faults.syntax import Function, argument, calls, names, ordered, parameters, target_names
from tasks.outcomes import Reason, Status

EXTREMES = ("max", "argmax", "maximum", "min", "argmin", "minimum")


def pad_with_zero(code: Code) -> str | None:
    """Padding of -inf becomes 0 ahead of an exponential: padded lanes then join the sum."""
    edits = [
        code.replace(other, "0.0")
        for jit in code.jits
        if calls(jit, "exp", "exp2") and calls(jit, "sum")
        for load in calls(jit, "load")
        if (other := argument(load, "other", 2)) and is_infinite(code, other)
    ]
    return code.edited(edits)


def start_at_zero(code: Code) -> str | None:
    """A running or padded extreme starts at 0: slices whose values lie all on one side come out as 0."""
    extreme = [jit for jit in code.jits if calls(jit, *EXTREMES) and not calls(jit, "exp", "exp2")]
    hosts = {launch.host for launch in code.launches if launch.kernel in extreme}
    edits: list[Edit] = []
    for function in (*extreme, *hosts):
        for node in ordered(function, ast.expr):
            inside = any(edit.start <= code.span(node)[0] < edit.end for edit in edits)
            if not inside and is_infinite(code, node):
                edits.append(code.replace(node, "0.0"))
    return code.edited(edits)


def forget_maximum(code: Code) -> str | None:
    """`exp(x - top)` becomes `exp(x)` where `top` comes from a maximum."""
    edits = []
    for jit in code.jits:
        tops = _from_maximum(jit)
        for call in calls(jit, "exp", "exp2"):
            inner = call.args[0] if call.args else None
            if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub) and names(inner.right) & tops:
                edits.append(code.replace(inner, code.segment(inner.left)))
    return code.edited(edits)


def turn_axis(code: Code) -> str | None:
    """The first reduction runs along the other axis."""
    for jit in code.jits:
        for call in calls(jit, "sum", "max", "min", "argmax", "argmin", "cumsum", "reduce", "associative_scan"):
            axis = argument(call, "axis", 1)
            if isinstance(axis, ast.Constant) and axis.value in (0, 1):
                return code.edited([code.replace(axis, str(1 - axis.value))])
    return None


def last_dimension(code: Code) -> str | None:
    """`x.shape[dim]` becomes `x.shape[-1]` where `dim` is a parameter of the entry function."""
    if code.entry is None:
        return None
    dims = {name for name in parameters(code.entry) if name in ("dim", "axis")}
    for node in ordered(code.entry, ast.Subscript):
        of_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        if of_shape and isinstance(node.slice, ast.Name) and node.slice.id in dims:
            return code.edited([code.replace(node.slice, "-1")])
    return None


def halve_precision(code: Code) -> str | None:
    """A product of tiles, a sum, or else a loaded value passes through half precision.

    Sums of comparisons count something, and only loads with a floating-point padding value are known to be of
    floating point. A bfloat16 value loses nothing in half precision, so files that speak of bfloat16 are left alone.
    """
    if "bfloat16" in code.text:
        return None
    for jit in code.jits:
        for call in calls(jit, "dot"):
            if "int" not in code.segment(call).partition("dtype")[2]:
                return code.edited([code.replace(call, f"{code.segment(call)}.to(tl.float16).to(tl.float32)")])
        for call in calls(jit, "sum"):
            if _adds_floats(jit, call):
                halved = code.replace(call.args[0], f"{code.grouped(call.args[0])}.to(tl.float16)")
                end = code.span(call)[1]
                return code.edited([halved, Edit(end, end, ".to(tl.float32)")])
    for jit in code.jits:
        for call in calls(jit, "load"):
            if _is_float(argument(call, "other", 2)):
                return code.edited([code.replace(call, f"{code.segment(call)}.to(tl.float16).to(tl.float32)")])
    return None


def turn_sign(code: Code) -> str | None:
    """The first `-x` of a kernel loses its sign; failing that, the first `a - b` becomes `a + b`."""
    for jit in code.jits:
        for node in ordered(jit, ast.UnaryOp):
            literal = isinstance(node.operand, ast.Constant) or is_infinite(code, node)
            if isinstance(node.op, ast.USub) and not literal:
                return code.edited([code.replace(node, code.grouped(node.operand))])
        for difference in ordered(jit, ast.BinOp):
            if isinstance(difference.op, ast.Sub) and not isinstance(difference.right, ast.Constant):
                left, right = code.segment(difference.left), code.grouped(difference.right)
                return code.edited([code.replace(difference, f"{left} + {right}")])
    return None


def drop_factor(code: Code) -> str | None:
    """The first product with a literal floating-point factor loses it."""
    for jit in code.jits:
        for node in ordered(jit, ast.BinOp):
            for factor, rest in ((node.left, node.right), (node.right, node.left)):
                number = isinstance(factor, ast.Constant) and isinstance(factor.value, float) and factor.value != 1.0
                if isinstance(node.op, ast.Mult) and number:
                    return code.edited([code.replace(node, code.grouped(rest))])
    return None


def drop_divisor(code: Code) -> str | None:
    """The first division loses its divisor."""
    for jit in code.jits:
        for node in ordered(jit, ast.BinOp):
            one = isinstance(node.left, ast.Constant)
            if isinstance(node.op, ast.Div) and not one and not isinstance(node.right, ast.Constant):
                return code.edited([code.replace(node, code.grouped(node.left))])
    return None


def _from_maximum(jit: Function) -> set[str]:
    """Names that get their value from a maximum, directly or through other names."""
    assignments = [node for node in ordered(jit, ast.Assign) if isinstance(node.targets[0], ast.Name)]
    found = {name for node in assignments if calls(node.value, "max", "maximum") for name in target_names(node)}
    for node in assignments:
        if calls(node.value, "where") and names(node.value) & found:
            found |= target_names(node)
    return found


def _adds_floats(jit: Function, call: ast.Call) -> bool:
    """Whether what `tl.sum` adds is known to be of floating point: an exponential, or loaded with such padding."""
    floats = {
        name
        for node in ast.walk(jit)
        if isinstance(node, ast.Assign)
        and any(_is_float(argument(load, "other", 2)) for load in calls(node.value, "load"))
        for name in target_names(node)
    }
    return bool(calls(call.args[0], "exp") or names(call.args[0]) & floats)


def _is_float(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def is_infinite(code: Code, node: ast.expr) -> bool:
    """Whether `node` is infinity of either sign, written out or by a module's name for it."""
    if isinstance(node, ast.Name):
        value = code.assigned(node.id, None)
        return value is not None and not isinstance(value, ast.Name) and is_infinite(code, value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return is_infinite(code, node.operand)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("float", "tl.constexpr") and len(node.args) == 1:
        inner = node.args[0]
        literal = isinstance(inner, ast.Constant) and str(inner.value).lstrip("+-") == "inf"
        return literal or is_infinite(code, inner)
    return isinstance(node, ast.Attribute) and ast.unparse(node) in ("math.inf", "torch.inf")


def _kinds() -> Iterator[Fault]:
    wrong = frozenset({Status.WRONG})
    misplaced = frozenset({Status.WRONG, Status.RUNTIME_ERROR})
    yield Fault("zero_padding", "padded lanes are 0 instead of -inf ahead of exp and sum", wrong, VALUES, pad_with_zero)
    yield Fault("zero_start", "a maximum or minimum that starts from 0", wrong, VALUES, start_at_zero)
    yield Fault("no_max_subtraction", "exp without subtracting the maximum: overflows", wrong, VALUES, forget_maximum)
    yield Fault(
        "wrong_axis",
        "a reduction along the other axis",
        frozenset({Status.WRONG, Status.COMPILE_ERROR}),
        VALUES | {Reason.COMPILATION},
        turn_axis,
    )
    yield Fault(
        "last_dimension",
        "the size of the last dimension where that of `dim` is meant",
        misplaced | {Status.REJECTED},
        VALUES | ADDRESSES | UNWRITTEN,
        last_dimension,
    )
    yield Fault(
        "low_precision", "values rounded to half precision on the way", wrong, VALUES, halve_precision, mended=False
    )
    yield Fault("wrong_sign", "a plus where a minus is meant", misplaced, VALUES | ADDRESSES, turn_sign)
    yield Fault("dropped_factor", "a constant factor left out", wrong, VALUES, drop_factor)
    yield Fault("dropped_divisor", "a division left out", wrong, VALUES, drop_divisor)


FAULTS = tuple(_kinds())
