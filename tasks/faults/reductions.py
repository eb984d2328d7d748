"""Mistakes in sums, means, variances and running values: what is counted, subtracted, kept and how wide."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tasks.faults.code import Code, Edit
from tasks.faults.fault import ADDRESSES, VALUES, Fault
from tasks.faults.syntax import Function, argument, calls, loaded, names, ordered, parameters
from tasks.outcomes import Reason, Status

HALF = {"tl.float32": "tl.float16", "tl.int32": "tl.int16"}


def miscount(code: Code) -> str | None:
    """A mean is divided by one less than its count."""
    for kernel in code.jits:
        for node in ordered(kernel, ast.BinOp):
            count = node.right
            counted = isinstance(count, ast.Name) and count.id in _counts(kernel)
            if isinstance(node.op, ast.Div) and counted and names(node.left) & loaded(kernel):
                return code.edited([code.replace(count, f"({code.segment(count)} - 1)")])
    return None


def bias_variance(code: Code) -> str | None:
    """A division by `n - 1` becomes one by `n`."""
    for kernel in code.jits:
        for node in ordered(kernel, ast.BinOp):
            less = node.right
            one_less = isinstance(less, ast.BinOp) and isinstance(less.op, ast.Sub) and _is_one(less.right)
            if isinstance(node.op, ast.Div) and one_less and isinstance(less, ast.BinOp):
                return code.edited([code.replace(less, code.grouped(less.left))])
    return None


def keep_mean(code: Code) -> str | None:
    """The last `x - mean` of the kernels becomes `x`: a mean by its name, or by its origin in a sum."""
    differences = [
        node
        for kernel in code.jits
        for node in ordered(kernel, ast.BinOp)
        if isinstance(node.op, ast.Sub) and any("mean" in name for name in names(node.right))
    ]
    differences = [node for node in differences if isinstance(node.left, ast.Name) and "mean" not in node.left.id]
    return code.edited([code.replace(node, code.segment(node.left)) for node in differences[-1:]])


def forget_rescaling(code: Code) -> str | None:
    """`total * exp(old - new) + x` becomes `total + x`: what was added up under another maximum stays as it was."""
    for kernel in code.jits:
        for added in _rescaled_sums(kernel):
            product = added.left
            if isinstance(product, ast.BinOp) and calls(product.right, "exp", "exp2"):
                return code.edited([code.replace(product, code.segment(product.left))])
    return None


def overwrite_accumulator(code: Code) -> str | None:
    """`total += x` in a loop over tiles becomes `total = x`, and `total = total * scale + x` as well."""
    for kernel in code.jits:
        for rescaled in _rescaled_sums(kernel):
            return code.edited([code.replace(rescaled, code.segment(rescaled.right))])
        for node in _accumulations(kernel):
            return code.edited([Edit(code.span(node.target)[1], code.span(node.value)[0], " = ")])
    return None


def halve_accumulator(code: Code) -> str | None:
    """A running sum is kept in half its bits: float16 for float32, int16 for int32."""
    for kernel in code.jits:
        for node in _accumulations(kernel):
            starts = [n for n in ordered(kernel, ast.Assign) if ast.unparse(n.targets[0]) == ast.unparse(node.target)]
            zeros = [call for start in starts for call in calls(start.value, "zeros")]
            dtype = argument(zeros[0], "dtype", 1) if len(zeros) == 1 else None
            half = HALF.get(ast.unparse(dtype)) if dtype else None
            if dtype and half:
                return code.edited(
                    [code.replace(dtype, half), code.replace(node.value, f"{code.grouped(node.value)}.to({half})")]
                )
    return None


def change_base(code: Code) -> str | None:
    """The exponentials of the kernels have the base 2; where there are none, the logarithms."""
    for name in ("exp", "log"):
        found = [call for kernel in code.jits for call in calls(kernel, name)]
        if found:
            return code.edited(code.replace(call.func, f"{code.segment(call.func)}2") for call in found)
    return None


def unclamp(code: Code) -> str | None:
    """The first `tl.minimum(a + b, bound)` becomes `a + b`."""
    for kernel in code.jits:
        for call in calls(kernel, "minimum"):
            reaching = call.args[0] if len(call.args) == 2 else None
            if isinstance(reaching, ast.BinOp) and isinstance(reaching.op, ast.Add):
                return code.edited([code.replace(call, code.grouped(reaching))])
    return None


def _counts(kernel: Function) -> set[str]:
    """Parameters that bound something in `kernel`, and so are whole numbers."""
    bounding = [*ordered(kernel, ast.Compare), *calls(kernel, "minimum", "maximum")]
    bounding += [loop.iter for loop in ordered(kernel, ast.For)]
    return set(parameters(kernel)) & set().union(*map(names, bounding))


def _accumulations(kernel: Function) -> Iterator[ast.AugAssign]:
    """What loops add up of loaded values."""
    values = loaded(kernel)
    for loop in ordered(kernel, ast.For):
        for node in ordered(loop, ast.AugAssign):
            if isinstance(node.op, ast.Add) and (calls(node.value, "load") or names(node.value) & values):
                yield node


def _rescaled_sums(kernel: Function) -> Iterator[ast.BinOp]:
    """`total * scale + x` where a loop assigns it to `total`."""
    for loop in ordered(kernel, ast.For):
        for node in ordered(loop, ast.Assign):
            added = node.value
            if isinstance(added, ast.BinOp) and isinstance(added.op, ast.Add):
                product = added.left
                if isinstance(product, ast.BinOp) and ast.unparse(product.left) == ast.unparse(node.targets[0]):
                    yield added


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _kinds() -> Iterator[Fault]:
    wrong = frozenset({Status.WRONG})
    misplaced = frozenset({Status.WRONG, Status.RUNTIME_ERROR})
    yield Fault("wrong_count", "a mean divided by n - 1", wrong, VALUES, miscount)
    yield Fault("biased_variance", "a variance divided by n where n - 1 is meant", wrong, VALUES, bias_variance)
    yield Fault("mean_not_subtracted", "values not centred ahead of their scaling", wrong, VALUES, keep_mean)
    yield Fault("no_rescaling", "a running sum kept as it was when the maximum moves", wrong, VALUES, forget_rescaling)
    yield Fault("overwritten_accumulator", "= for +=: only the last tile counts", wrong, VALUES, overwrite_accumulator)
    # what comes after the sum may refuse its dtype: tl.exp, tl.sqrt and libdevice take no float16
    refused = frozenset({Status.WRONG, Status.COMPILE_ERROR})
    narrow = VALUES | {Reason.COMPILATION}
    yield Fault("narrow_accumulator", "a running sum in half its bits", refused, narrow, halve_accumulator)
    yield Fault("wrong_base", "exp2 for exp, or log2 for log", wrong, VALUES, change_base)
    yield Fault("dropped_clamp", "a minimum with a bound left out", misplaced, VALUES | ADDRESSES, unclamp)


FAULTS = tuple(_kinds())
