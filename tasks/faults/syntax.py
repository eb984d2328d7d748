"""Questions about syntax trees of Triton sources."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TypeVar

Function = ast.FunctionDef
Node = TypeVar("Node", bound=ast.expr | ast.stmt)


def is_jit(function: Function) -> bool:
    """Whether `@triton.jit` is among the decorators."""
    return any("triton.jit" in ast.unparse(decorator) for decorator in function.decorator_list)


def parameters(function: Function) -> list[str]:
    """Names of the parameters, in order."""
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def constexprs(kernel: Function) -> list[ast.arg]:
    """Parameters annotated `tl.constexpr`."""
    return [a for a in (*kernel.args.args, *kernel.args.kwonlyargs) if a.annotation and "constexpr" in ast.unparse(a)]


def target_names(node: ast.Assign) -> set[str]:
    """Every name that the assignment binds."""
    return {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def names(node: ast.AST) -> set[str]:
    """Every name read or written inside `node`."""
    return {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}


def ordered(root: ast.AST, kind: type[Node]) -> list[Node]:
    """Nodes of this kind inside `root`, in the order of the text."""
    return [node for node in _nodes(root) if isinstance(node, kind)]


@lru_cache(maxsize=1024)
def _nodes(root: ast.AST) -> tuple[ast.expr | ast.stmt, ...]:
    # cached, since every fault asks the same few functions for their nodes
    found = [node for node in ast.walk(root) if isinstance(node, (ast.expr, ast.stmt))]
    return tuple(sorted(found, key=lambda node: (node.lineno, node.col_offset)))


def calls(node: ast.AST, *wanted: str) -> list[ast.Call]:
    """Calls of `tl.<wanted>` (or `tl.math.<wanted>`) inside `node`, in the order of the text."""
    return [call for call in ordered(node, ast.Call) if tl_name(call) in wanted]


def tl_name(call: ast.Call) -> str:
    """`sum` for `tl.sum(...)` and `tl.math.sum(...)`; empty for anything else."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return ""
    owner = function.value
    if isinstance(owner, ast.Attribute) and owner.attr == "math":
        owner = owner.value
    return function.attr if isinstance(owner, ast.Name) and owner.id == "tl" else ""


def argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    """The argument `name`, by keyword or at `position`."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[position] if position < len(call.args) else None


def bindings(kernel: ast.AST) -> list[tuple[set[str], ast.expr]]:
    """Every assignment inside `kernel`, augmented ones too: the names that it binds, and its value."""
    bound = [(target_names(node), node.value) for node in ordered(kernel, ast.Assign)]
    added = [(names(node.target), node.value) for node in ordered(kernel, ast.AugAssign)]
    return [*bound, *added]


def loaded(kernel: ast.AST) -> set[str]:
    """Names that hold what `tl.load` gave, or something computed from it."""
    found: set[str] = set()
    pairs = bindings(kernel)
    while True:
        more = {name for bound, value in pairs if calls(value, "load") or names(value) & found for name in bound}
        if more <= found:
            return found
        found |= more


def is_spread(node: ast.expr) -> bool:
    """Whether `node` is `x[:, None]` or the like."""
    inside = ast.walk(node.slice) if isinstance(node, ast.Subscript) else ()
    return any(isinstance(found, ast.Constant) and found.value is None for found in inside)
