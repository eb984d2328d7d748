"""Mistakes that Python or the Triton compiler refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tasks.faults.code import Code, Edit, Launch
from tasks.faults.fault import Fault
from tasks.faults.syntax import calls, constexprs, names, ordered, target_names, tl_name
from tasks.outcomes import Reason, Status

# what models write for functions that Triton has under another name, or not at all
MISSPELT = {
    "max": "tl.amax",
    "argmax": "tl.arg_max",
    "sum": "tl.reduce_sum",
    "dot": "tl.matmul",
    "erf": "tl.math.tanh",
    "exp": "tl.math.expm1",
    "sqrt": "tl.math.sqrtf",
    "maximum": "tl.fmax",
    "where": "tl.select",
}
TOO_WIDE = 2**21  # a block holds at most 2**20 elements
TOO_MANY = 40


def misspell_function(code: Code) -> str | None:
    """The first function of a known list gets a name that Triton lacks; failing that, the stored value is rounded."""
    for jit in code.jits:
        for call in calls(jit, *MISSPELT):
            return code.edited([code.replace(call.func, MISSPELT[tl_name(call)])])
    for jit in code.jits:
        for call in calls(jit, "store"):
            if len(call.args) > 1:
                return code.edited([code.replace(call.args[1], f"tl.round({code.segment(call.args[1])})")])
    return None


def break_power_of_two(code: Code) -> str | None:
    """A block size that is a power of two no longer is."""
    for launch, name in _blocks(code):
        for value in _values(code, launch, name):
            for node in ast.walk(value):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "triton.next_power_of_2":
                    return code.edited([code.replace(node, code.segment(node.args[0]))])
            if isinstance(value, ast.Constant) and isinstance(value.value, int) and value.value >= 4:
                return code.edited([code.replace(value, str(value.value * 3 // 4))])
            if isinstance(value, ast.Name):
                return code.edited([code.replace(value, f"3 * {value.id}")])
    return None


def widen_block(code: Code) -> str | None:
    """A block size beyond what one block may hold."""
    for launch, name in _blocks(code):
        for value in _values(code, launch, name):
            return code.edited([code.replace(value, str(TOO_WIDE))])
    return None


def unannotate_block(code: Code) -> str | None:
    """A block size loses its `tl.constexpr`."""
    for launch, name in _blocks(code):
        for parameter in constexprs(launch.kernel):
            if parameter.arg == name:
                return code.edited([code.replace(parameter, name)])
    return None


def shrink_dot(code: Code) -> str | None:
    """The inner tile side of a `tl.dot` is 8."""
    return code.edited(code.replace(value, "8") for value in _inner_sides(code))


def prefetch_all(code: Code) -> str | None:
    """The loop around a `tl.dot` keeps more tiles in flight than shared memory holds.

    Single bytes can't be copied asynchronously, so tiles of int8 are not kept in flight and nothing would show. More
    warps only make the long code that comes of it shorter.
    """
    if "int8" in code.text:
        return None
    for launch, _ in _blocks(code):
        if any(calls(loop, "dot") for loop in ordered(launch.kernel, ast.For)):
            given = [keyword for keyword in launch.call.keywords if keyword.arg in ("num_stages", "num_warps")]
            kept = [keyword for keyword in launch.call.keywords if keyword not in given]
            end = code.span(kept[-1])[1]
            gone = [code.without_argument(launch.call, str(keyword.arg), -1) for keyword in given]
            return code.edited([Edit(end, end, f", num_warps=32, num_stages={TOO_MANY}"), *filter(None, gone)])
    return None


def forget_definition(code: Code) -> str | None:
    """A kernel's first local name is used and never defined."""
    for kernel in code.kernels:
        for node in kernel.body:
            if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
                continue
            name = node.targets[0].id
            others = [other for other in ordered(kernel, ast.Assign) if other is not node]
            rebound = any(name in target_names(other) for other in others)
            used = sum(isinstance(found, ast.Name) and found.id == name for found in ast.walk(kernel)) > 1
            if used and not rebound:
                return code.edited([code.without_line(node)])
    return None


def forget_import(code: Code) -> str | None:
    """`triton` is never imported: the decorator of the first kernel fails."""
    for node in code.tree.body:
        if isinstance(node, ast.Import) and [(name.name, name.asname) for name in node.names] == [("triton", None)]:
            return code.edited([code.without_line(node)]) if code.jits else None
    return None


def drop_colon(code: Code) -> str | None:
    """The entry function's head lacks its colon."""
    if code.entry is None:
        return None
    start = code.span(code.entry)[0]
    head = [code.entry.returns, *code.entry.args.defaults, *code.entry.args.args]
    colon = code.text.encode().find(b":", max([start, *(code.span(node)[1] for node in head if node)]))
    return code.edited([Edit(colon, colon + 1, "")])


def _blocks(code: Code) -> Iterator[tuple[Launch, str]]:
    """Launches, each with the `tl.constexpr` parameters that bound a `tl.arange` of its kernel."""
    for launch in code.launches:
        bounds = set().union(*(names(call.args[-1]) for call in calls(launch.kernel, "arange") if call.args))
        for parameter in constexprs(launch.kernel):
            if parameter.arg in bounds:
                yield launch, parameter.arg


def _values(code: Code, launch: Launch, name: str) -> Iterator[ast.expr]:
    """The expressions that give the launch's parameter `name` its values: one, or one a configuration."""
    passed = launch.argument(name)
    if passed is not None:
        yield code.resolved(passed, launch.host)
        return
    for decorator in launch.kernel.decorator_list:
        for node in ordered(decorator, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    yield value


def _inner_sides(code: Code) -> list[ast.expr]:
    """The values of the tile side that the loop around a `tl.dot` steps by."""
    for launch, name in _blocks(code):
        for loop in ordered(launch.kernel, ast.For):
            if calls(loop, "dot") and name in names(loop.iter):
                return list(_values(code, launch, name))
    return []


def _kinds() -> Iterator[Fault]:
    refused = frozenset({Status.COMPILE_ERROR})
    compiler = frozenset({Reason.COMPILATION})
    yield Fault(
        "missing_function",
        "a function that triton.language does not have (tl.amax, tl.math.tanh, tl.round)",
        refused,
        compiler,
        misspell_function,
    )
    yield Fault("block_not_power_of_two", "a block size that is no power of two", refused, compiler, break_power_of_two)
    yield Fault("oversized_block", "a block of more than 2**20 elements", refused, compiler, widen_block)
    yield Fault("missing_constexpr", "a block size without tl.constexpr", refused, compiler, unannotate_block)
    yield Fault("small_dot_tile", "tl.dot on a tile with a side of 8", refused, compiler, shrink_dot)
    yield Fault(
        "shared_memory_over_limit",
        "tiles in flight that need more shared memory than a GPU has",
        refused,
        frozenset({Reason.OUT_OF_RESOURCES}),
        prefetch_all,
    )
    yield Fault("undefined_name", "a kernel that uses a name it never defines", refused, compiler, forget_definition)
    yield Fault(
        "missing_import",
        "triton used and not imported",
        frozenset({Status.RUNTIME_ERROR}),
        frozenset({Reason.LOAD_ERROR}),
        forget_import,
    )
    yield Fault("syntax_error", "source that is not Python", refused, frozenset({Reason.SYNTAX_ERROR}), drop_colon)


FAULTS = tuple(_kinds())
