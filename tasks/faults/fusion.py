"""Mistakes in putting steps together: a stage, a term or a function left out, an order changed, an argument ignored."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from tasks.faults.code import Code, Edit
from tasks.faults.fault import ADDRESSES, UNWRITTEN, VALUES, Fault
from tasks.faults.numerics import is_infinite
from tasks.faults.syntax import argument, calls, is_spread, loaded, names, ordered, parameters
from tasks.outcomes import Reason, Status

# what ends a computation ahead of what prepares it
FUNCTIONS = ("tanh", "sigmoid", "erf", "log", "log2", "exp", "exp2", "rsqrt", "sqrt", "abs")
NO_VALUES = ("device", "out", "layout", "requires_grad", "pin_memory", "generator")


def skip_launch(code: Code) -> str | None:
    """The last launch is never made, where there are several."""
    launches = _launch_statements(code)
    return code.edited([code.replace(launches[-1], "pass")]) if len(code.launches) > 1 and launches else None


def swap_launches(code: Code) -> str | None:
    """Two neighbouring launches of a host function change places."""
    launches = _launch_statements(code)
    for host in code.hosts:
        for first, second in pairwise(host.body):
            if first in launches and second in launches:
                return code.edited(
                    [code.replace(first, code.segment(second)), code.replace(second, code.segment(first))]
                )
    return None


def swap_stages(code: Code) -> str | None:
    """What comes last comes first: exp after the sum in place of before it, or a bias ahead of the scale."""
    return _exp_after_sum(code) or _bias_ahead_of_scale(code) or _sum_ahead_of_product(code)


def ignore_argument(code: Code) -> str | None:
    """The first parameter with a default that the result depends on has its default whatever was passed."""
    if code.entry is None or not code.entry.body:
        return None
    arguments = code.entry.args
    given = (
        [*zip(arguments.args[-len(arguments.defaults) :], arguments.defaults, strict=True)]
        if arguments.defaults
        else []
    )
    given += [(name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    for name, default in given:
        if name.arg not in NO_VALUES:
            line = f"{name.arg} = {code.segment(default)}"
            return code.edited([code.before(code.entry.body[0], line)])
    return None


def ignore_option(code: Code) -> str | None:
    """A launch passes False for the first flag that the kernel branches on."""
    for launch in code.launches:
        for branch in ordered(launch.kernel, ast.If):
            flag = branch.test.id if isinstance(branch.test, ast.Name) else ""
            passed = launch.argument(flag) if flag in parameters(launch.kernel) else None
            if passed is not None and not isinstance(passed, ast.Constant):
                return code.edited([code.replace(passed, "False")])
    return None


def forget_addend(code: Code) -> str | None:
    """What is loaded and added once (a bias, a residual) is not added."""
    for kernel in code.jits:
        looped = {inner for loop in ordered(kernel, ast.For) for inner in ordered(loop, ast.AugAssign)}
        for node in ordered(kernel, ast.AugAssign):
            if isinstance(node.op, ast.Add) and calls(node.value, "load") and node not in looped:
                return code.edited([code.replace(node, "pass")])
    return None


def forget_epsilon(code: Code) -> str | None:
    """`x + eps` becomes `x`."""
    for kernel in code.jits:
        for node in ordered(kernel, ast.BinOp):
            small = isinstance(node.right, ast.Name) and node.right.id.lower() in ("eps", "epsilon")
            if isinstance(node.op, ast.Add) and small:
                return code.edited([code.replace(node, code.grouped(node.left))])
    return None


def forget_function(code: Code) -> str | None:
    """A function of a loaded value is left out: of those that a kernel calls, the one that comes last as a rule."""
    for name in FUNCTIONS:
        for kernel in code.jits:
            values = loaded(kernel)
            for call in calls(kernel, name):
                if call.args and names(call.args[0]) & values:
                    return code.edited([code.replace(call, code.grouped(call.args[0]))])
    return None


def _launch_statements(code: Code) -> list[ast.stmt]:
    statements = [code.statement(launch.call) for launch in code.launches]
    return [statement for statement in statements if isinstance(statement, ast.Expr)]


def _exp_after_sum(code: Code) -> str | None:
    """`y = sum(exp(x)) / n` becomes `y = exp(sum(x) / n)`; padding with it."""
    for kernel in code.jits:
        for call in calls(kernel, "exp"):
            running = code.parent(call)
            if not (isinstance(running, ast.AugAssign) and isinstance(running.op, ast.Add)):
                continue
            totals = [
                n
                for n in ordered(kernel, ast.Assign)
                if names(running.target) & names(n.value) and calls(n.value, "sum")
            ]
            padding = [other for load in calls(kernel, "load") if (other := argument(load, "other", 2))]
            if totals:
                edits = [code.replace(other, "0.0") for other in padding if is_infinite(code, other)]
                # around what is kept, since a load whose padding changes may stand in it
                edits += _bared(code, call)
                start, end = code.span(totals[0].value)
                edits += [Edit(start, start, "tl.exp("), Edit(end, end, ")")]
                return code.edited(edits)
    return None


def _bared(code: Code, call: ast.Call) -> list[Edit]:
    """`call` replaced by its first argument, which is left as it stands."""
    (start, end), (first, last) = code.span(call), code.span(call.args[0])
    alone = code.grouped(call.args[0]) == code.segment(call.args[0])
    return [Edit(start, first, "" if alone else "("), Edit(last, end, "" if alone else ")")]


def _bias_ahead_of_scale(code: Code) -> str | None:
    """`y = x * scale` and then `y += bias` becomes `y = (x + bias) * scale`: the bias is scaled, too."""
    for kernel in code.jits:
        for node in ordered(kernel, ast.AugAssign):
            added = isinstance(node.op, ast.Add) and calls(node.value, "load")
            for scaled in ordered(kernel, ast.Assign) if added else ():
                product = scaled.value
                same = ast.unparse(scaled.targets[0]) == ast.unparse(node.target)
                if same and isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
                    bias, scale = code.grouped(node.value), code.grouped(product.right)
                    return code.edited([code.replace(node.value, f"{bias} * {scale}")])
    return None


def _sum_ahead_of_product(code: Code) -> str | None:
    """`a * b + c` becomes `(a + c) * b`, for loaded values."""
    for kernel in code.jits:
        values = loaded(kernel)
        for node in ordered(kernel, ast.BinOp):
            product = node.left
            summed = isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(product, ast.BinOp)
            if not (summed and isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)):
                continue
            if is_spread(product.left):
                continue
            if names(product.left) & values and names(node.right) & values and not calls(node, "load"):
                sign = "+" if isinstance(node.op, ast.Add) else "-"
                left, right = code.grouped(product.left), code.grouped(node.right)
                return code.edited([code.replace(node, f"({left} {sign} {right}) * {code.grouped(product.right)}")])
    return None


def _kinds() -> Iterator[Fault]:
    wrong = frozenset({Status.WRONG})
    missing = frozenset({Status.WRONG, Status.REJECTED, Status.RUNTIME_ERROR})
    reasons = VALUES | ADDRESSES | UNWRITTEN
    yield Fault("skipped_launch", "the last of several launches left out", missing, reasons, skip_launch)
    yield Fault("swapped_launches", "two launches in the wrong order", missing, reasons, swap_launches)
    yield Fault("swapped_stages", "two steps of a fused computation in the wrong order", wrong, VALUES, swap_stages)
    yield Fault(
        "ignored_argument",
        "an argument that is taken and not used",
        missing,
        reasons | {Reason.DTYPE, Reason.STRUCTURE},
        ignore_argument,
    )
    yield Fault("ignored_option", "a branch of the kernel that no launch asks for", wrong, VALUES, ignore_option)
    yield Fault("dropped_addend", "a bias or residual that is not added", wrong, VALUES, forget_addend)
    yield Fault("dropped_epsilon", "an eps left out ahead of a root or a division", wrong, VALUES, forget_epsilon)
    yield Fault("dropped_function", "a function (an activation, a root) left out", wrong, VALUES, forget_function)


FAULTS = tuple(_kinds())
