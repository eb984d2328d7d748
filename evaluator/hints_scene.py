"""What an error says, and what the source shows at its place: the node, its function, the types of the launch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evaluator.imports import dotted, imported_names
from tasks.parsing import parse

WORDS_MAX = 2000
NUMBER_MAX = 2**40
LANGUAGE = "triton.language."
RUNS = {"load", "program_id", "num_programs"}
Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Scene:
    """`node` is what the compiler or Python was at, None when that isn't known; `above` is what holds it, from inside
    out; `message` is shortened. All of `error` comes from a worker and may be anything."""

    kind: str
    cause: str
    message: str
    error: Mapping[str, Any]
    tree: ast.Module = field(default_factory=lambda: ast.Module([], []))
    node: ast.AST | None = None
    above: tuple[ast.AST, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)
    entry: str = ""

    @property
    def compiling(self) -> bool:
        """Whether the compiler refused, rather than a run."""
        return self.kind == "compilation"

    @property
    def function(self) -> Definition | None:
        """The function that the node is in."""
        return next((node for node in self.above if isinstance(node, Definition)), None)

    @property
    def call(self) -> ast.Call | None:
        """The call that the node is, or whose function it is."""
        outer = self.above[0] if self.above else None
        if isinstance(outer, ast.Call) and outer.func is self.node:
            return outer
        return self.node if isinstance(self.node, ast.Call) else None

    @property
    def signature(self) -> dict[str, str]:
        """{argument: type} of the launch, `constexpr` among the types; empty where the launch isn't known."""
        return {str(k): str(v) for k, v in _mapping(_mapping(self.error.get("launch")).get("signature")).items()}

    @property
    def constexprs(self) -> dict[str, Any]:
        """{constexpr: value} of the launch."""
        return {str(k): v for k, v in _mapping(_mapping(self.error.get("launch")).get("constexprs")).items()}

    @property
    def kernel(self) -> Definition | None:
        """The kernel that was launched."""
        return self.defined(str(_mapping(self.error.get("launch")).get("kernel")))

    def defined(self, name: str) -> Definition | None:
        """The function of this name in the file."""
        return next((n for n in ast.walk(self.tree) if isinstance(n, Definition) and n.name == name), None)

    def type_of(self, name: str) -> str:
        """The type that the launch gives an argument of the kernel that the node is in; empty if unknown."""
        return self.signature.get(name, "") if self.function is not None and self.function is self.kernel else ""

    def dotted(self, node: ast.AST | None) -> str:
        """`triton.language.load` for `tl.load`; empty for what doesn't come from an import."""
        return dotted(node, self.modules) or ""

    def tl_name(self, node: ast.AST | None) -> str:
        """`load` for the call `tl.load(...)`; empty for anything else."""
        path = self.dotted(node.func) if isinstance(node, ast.Call) else ""
        return path.rsplit(".", 1)[-1] if path.startswith(LANGUAGE) else ""

    @cached_property
    def bindings(self) -> dict[str, list[ast.expr]]:
        """{local name: what the node's function assigns to it}."""
        found: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self.function or self.tree):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, []).append(node.value)
        return found

    def runtime_names(self, node: ast.AST) -> list[str]:
        """Names in `node` that stand for values which only a run of the kernel knows."""
        return [name for name in names_in(node) if self._runs(name, set())]

    def _runs(self, name: str, seen: set[str]) -> bool:
        if name in seen or self.function is None:
            return False
        seen.add(name)
        arguments = self.function.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if argument.arg == name:
                return not is_constexpr(argument) and self.type_of(name) != "constexpr"
        values = self.bindings.get(name, [])
        loads = any(self.tl_name(node) in RUNS for value in values for node in ast.walk(value))
        return loads or any(self._runs(other, seen) for value in values for other in names_in(value))

    def number(self, node: ast.AST | None) -> int | None:
        """The integer that an expression of constants and constexprs has in this launch, if it is easy to tell."""
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int and abs(node.value) < NUMBER_MAX else None
        if isinstance(node, ast.Name):
            value = self.constexprs.get(node.id) if self.type_of(node.id) == "constexpr" else None
            return value if type(value) is int and abs(value) < NUMBER_MAX else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.number(node.operand)
            return None if value is None else -value
        if isinstance(node, ast.BinOp):
            a, b = self.number(node.left), self.number(node.right)
            if a is None or b is None:
                return None
            if isinstance(node.op, ast.FloorDiv):
                return a // b if b else None
            known = {ast.Add: a + b, ast.Sub: a - b, ast.Mult: a * b}
            return known.get(type(node.op))
        return None


def scene_of(error: Mapping[str, Any], source: str, entry: str = "") -> Scene:
    """The scene of an error as a worker reports it; without a node where the place isn't in `source`. `entry` is the
    function that the task calls."""
    text = str(error.get("message") or "")
    text = text if len(text) <= WORDS_MAX else f"{text[: WORDS_MAX // 2]}\n{text[-WORDS_MAX // 2 :]}"
    facts = (str(error.get("kind") or ""), str(error.get("cause") or ""), text, error)
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Scene(*facts)
    node, above = _at(tree, error)
    return Scene(*facts, tree, node, above, imported_names(ast.walk(tree)), entry)


def names_in(node: ast.AST) -> list[str]:
    """Names inside `node`, each once."""
    return list(dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name)))


def operands(node: ast.AST) -> list[str]:
    """Names that the operators of an expression meet, those inside calls left out."""
    if isinstance(node, ast.Name):
        return [node.id]
    parts = ast.iter_child_nodes(node) if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign)) else ()
    return [name for part in parts for name in operands(part)]


def is_constexpr(argument: ast.arg) -> bool:
    """Whether a parameter is annotated `tl.constexpr`."""
    return argument.annotation is not None and "constexpr" in ast.unparse(argument.annotation)


def is_jit(function: Definition) -> bool:
    """Whether `@triton.jit` is among the decorators."""
    return any("jit" in ast.unparse(decorator) for decorator in function.decorator_list)


def _at(tree: ast.Module, error: Mapping[str, Any]) -> tuple[ast.AST | None, tuple[ast.AST, ...]]:
    """The node at the place with what holds it; the statement where only the line is known."""
    place = [error.get(key) for key in ("line", "column", "end_line", "end_column")]
    if type(place[0]) is not int:
        return None, ()
    on_line: tuple[ast.AST | None, tuple[ast.AST, ...]] = (None, ())
    for node, above in _walk(tree):
        if [getattr(node, key, None) for key in ("lineno", "col_offset", "end_lineno", "end_col_offset")] == place:
            if isinstance(node, ast.Expr):
                return node.value, (node, *above)
            return node, above
        if on_line[0] is None and isinstance(node, ast.stmt) and node.lineno == place[0]:
            on_line = node, above
    return on_line


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    waiting: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    while waiting:
        node, above = waiting.pop()
        yield node, above
        waiting.extend((child, (node, *above)) for child in ast.iter_child_nodes(node))


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}
