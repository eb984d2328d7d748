"""Mistakes in addresses and masks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from tasks.faults.code import Code, Edit, Launch
from tasks.faults.fault import ADDRESSES, UNWRITTEN, VALUES, Fault
from tasks.faults.syntax import argument, calls, names, ordered, parameters, target_names
from tasks.outcomes import Status

REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "reduce", "dot", "cumsum", "associative_scan")


def unmask_stores(code: Code) -> str | None:
    edits = [code.without_argument(call, "mask", 2) for jit in code.jits for call in calls(jit, "store")]
    return code.edited(filter(None, edits))


def unmask_loads(code: Code) -> str | None:
    """Fits where a padded lane reaches a reduction: in an elementwise kernel the store's mask hides what it read."""
    edits: list[Edit | None] = []
    for jit in code.jits:
        loads = calls(jit, "load")
        masks = [mask for mask in (argument(load, "mask", 1) for load in loads) if mask]
        selected = set().union(*(names(call.args[0]) for call in calls(jit, "where") if call.args))
        exposed = [call for call in calls(jit, *REDUCTIONS) if call.args and not calls(call.args[0], "where")]
        if exposed and not any(names(mask) & selected for mask in masks):
            for load in loads:
                edits += [code.without_argument(load, "mask", 1), code.without_argument(load, "other", 2)]
    return code.edited(filter(None, edits))


def swap_strides(code: Code) -> str | None:
    """Two neighbouring stride parameters change places, in the first kernel that gets them by position."""
    for launch in code.launches:
        order = parameters(launch.kernel)
        by_name = {keyword.arg for keyword in launch.call.keywords}
        arguments = {argument.arg: argument for argument in launch.kernel.args.args}
        for first, second in pairwise(order):
            if not (_is_stride(first) and _is_stride(second)) or {first, second} & by_name:
                continue
            if _passed(launch, first) != _passed(launch, second):
                return code.edited([code.replace(arguments[first], second), code.replace(arguments[second], first)])
    return None


def drop_stride(code: Code) -> str | None:
    """The first `index * stride` whose stride isn't 1 by construction loses its stride."""
    for launch in code.launches:
        for product in ordered(launch.kernel, ast.BinOp):
            stride = product.right.id if isinstance(product.right, ast.Name) else ""
            if isinstance(product.op, ast.Mult) and _is_stride(stride) and _passed(launch, stride) != "1":
                return code.edited([code.replace(product, code.grouped(product.left))])
    return None


def shift_index(code: Code) -> str | None:
    """The first `tl.arange(0, N)` starts at 1."""
    for kernel in code.kernels:
        for call in calls(kernel, "arange"):
            if isinstance(code.parent(call), (ast.Assign, ast.BinOp, ast.Subscript)):
                return code.edited([code.replace(call, f"(1 + {code.segment(call)})")])
    return None


def loosen_bound(code: Code) -> str | None:
    """The first `index < bound` of a store's mask becomes `index <= bound`."""
    for kernel in code.kernels:
        masks = [mask for mask in (argument(store, "mask", 2) for store in calls(kernel, "store")) if mask]
        defined = [
            node.value for node in ordered(kernel, ast.Assign) if any(target_names(node) & names(m) for m in masks)
        ]
        for node in ordered(kernel, ast.Compare):
            inside = any(node in ast.walk(value) for value in (*masks, *defined))
            if inside and len(node.ops) == 1 and isinstance(node.ops[0], ast.Lt):
                left, right = code.segment(node.left), code.segment(node.comparators[0])
                return code.edited([code.replace(node, f"{left} <= {right}")])
    return None


def _is_stride(name: str) -> bool:
    return "stride" in name


def _passed(launch: Launch, name: str) -> str:
    """What is passed for `name`, as text; of `*x.stride()`, the parameter's own name."""
    value = launch.argument(name)
    return name if value is None else ast.unparse(value)


def _kinds() -> Iterator[Fault]:
    misplaced = frozenset({Status.WRONG, Status.RUNTIME_ERROR})
    reasons = VALUES | ADDRESSES
    yield Fault(
        "unmasked_store",
        "stores without their mask: lanes past the end write over what lies behind",
        misplaced,
        reasons,
        unmask_stores,
    )
    yield Fault(
        "unmasked_load",
        "loads without mask and padding value ahead of a reduction",
        misplaced,
        reasons,
        unmask_loads,
    )
    yield Fault("swapped_strides", "two strides passed in the wrong order", misplaced, reasons, swap_strides)
    yield Fault("dropped_stride", "an index used without its stride", misplaced, reasons, drop_stride)
    yield Fault(
        "shifted_index",
        "indices that start at 1: the first element is never touched",
        misplaced | {Status.REJECTED},
        reasons | UNWRITTEN,
        shift_index,
    )
    yield Fault(
        "loose_bound",
        "a mask that lets one element too many through (<= for <)",
        misplaced,
        reasons,
        loosen_bound,
        mended=False,
    )


FAULTS = tuple(_kinds())
