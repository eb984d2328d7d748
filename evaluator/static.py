"""What can be said of a source without running it: whether it is Python, and whether it reaches for a way out.

The escape list is a gate: a candidate that threads, forks, patches hooks or leaves torch for NumPy could make what the
worker reports untrue. It works on the syntax tree, never on text. An import that is never used is only a warning.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tasks.outcomes import Reason
from tasks.parsing import parse

ESCAPE_MODULES = {
    "_thread", "agents", "asyncio", "atexit", "builtins", "cffi", "code", "codecs", "concurrent", "contextvars",
    "ctypes", "cupy", "evaluator", "experiments", "faulthandler", "fcntl", "gc", "http", "importlib", "inspect",
    "io", "jax", "marshal", "mmap", "multiprocessing", "numba", "numpy", "os", "pathlib", "pickle", "pkgutil",
    "platform", "prompts", "resource", "runpy", "scipy", "select", "shutil", "signal", "site", "socket",
    "subprocess", "sys", "tasks", "tempfile", "tensorflow", "threading", "traceback", "types", "urllib",
    "weakref",
}  # fmt: skip
ESCAPE_NAMES = {"__import__", "breakpoint", "compile", "delattr", "eval", "exec", "globals", "open", "vars"}
ESCAPE_TORCH = {
    "torch._C", "torch._dynamo", "torch._inductor", "torch.compile", "torch.jit", "torch.library", "torch.ops",
    "torch.overrides", "torch.utils._python_dispatch", "torch.utils.cpp_extension", "torch.utils.dlpack",
    "torch.multiprocessing", "torch.distributed", "torch.hub", "torch.load", "torch.save", "torch.autograd.graph",
    "triton.compiler", "triton.runtime.driver.set_active", "triton.runtime.interpreter", "triton.runtime.jit",
    "triton.knobs",
}  # fmt: skip
HARMLESS_DUNDERS = {
    "__init__", "__name__", "__call__", "__doc__", "__version__", "__all__", "__annotations__", "__file__", "__len__",
    "__repr__", "__post_init__", "__iter__", "__getitem__", "__enter__", "__exit__", "__main__", "__future__",
}  # fmt: skip

# boilerplate round many kernels: computing a path reads nothing, and a worker's sys.path is its own
HARMLESS_CHAINS = {
    "os.path.abspath", "os.path.basename", "os.path.dirname", "os.path.join", "os.path.realpath", "os.environ.get",
    "os.getenv", "sys.path.append", "sys.path.insert", "sys.exit",
}  # fmt: skip


@dataclass(frozen=True)
class StaticFinding:
    """The first thing that refuses a source (`reason`), with its line, or None; and warnings."""

    reason: Reason | None
    message: str
    line: int | None
    warnings: tuple[str, ...] = ()


def inspect_source(source: str) -> StaticFinding:
    """Parses `source` and looks for escapes. Never runs it."""
    try:
        tree = parse(source)
    except SyntaxError as error:
        return StaticFinding(Reason.SYNTAX_ERROR, f"{type(error).__name__}: {error.msg}", error.lineno)
    except (ValueError, RecursionError, MemoryError) as error:
        return StaticFinding(Reason.SYNTAX_ERROR, f"not a Python source: {error}", None)
    aliases = _aliases(tree)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    own = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    harmless = _harmless_nodes(tree, aliases)
    warnings = []
    for node in ast.walk(tree):
        if id(node) in harmless:
            continue
        for what, name in _escapes(node, aliases):
            line = getattr(node, "lineno", None)
            if what in own:
                continue  # a parameter that happens to have a builtin's name
            if name is not None and name not in used:
                warnings.append(f"line {line}: imports {what} and never uses it")
                continue
            return StaticFinding(Reason.ESCAPE, f"uses {what}", line)
    return StaticFinding(None, "", None, tuple(warnings))


def _aliases(tree: ast.AST) -> dict[str, str]:
    """What each imported name stands for: `import torch._C as c` gives {"c": "torch._C"}."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                names[item.asname or item.name.split(".")[0]] = item.name if item.asname else item.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module:
            for item in node.names:
                names[item.asname or item.name] = f"{node.module}.{item.name}"
    return names


def _harmless_nodes(tree: ast.AST, aliases: dict[str, str]) -> set[int]:
    """Ids of the nodes inside allowed chains on `os` and `sys`."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _path(node, aliases) in HARMLESS_CHAINS:
            found |= {id(part) for part in ast.walk(node)}
    return found


def _escapes(node: ast.AST, aliases: dict[str, str]) -> list[tuple[str, str | None]]:
    """(what, the name that an import binds) for each way out that this node is."""
    if isinstance(node, ast.Import):
        names = [item for item in node.names if item.name.split(".")[0] not in ("os", "sys")]  # judged by their use
        return [(i.name, i.asname or i.name.split(".")[0]) for i in names if _forbidden(i.name)]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        return [(f"{module}.{i.name}", i.asname or i.name) for i in node.names if _forbidden(f"{module}.{i.name}")]
    if isinstance(node, ast.Name):
        module = aliases.get(node.id, "").split(".")[0]
        return [(module or node.id, None)] if node.id in ESCAPE_NAMES or module in ("os", "sys") else []
    if isinstance(node, ast.Attribute):
        path = _path(node, aliases)
        if path and _forbidden(path):
            return [(path, None)]
        if node.attr.startswith("__") and node.attr not in HARMLESS_DUNDERS:
            return [(f"the attribute {node.attr}", None)]
        if isinstance(node.ctx, ast.Store) and path and path.split(".")[0] in ("torch", "triton"):
            return [(f"an assignment to {path}", None)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr"):
        name = node.args[1] if len(node.args) > 1 else None
        if not isinstance(name, ast.Constant):
            return [(f"{node.func.id} with a computed name", None)]
        if node.func.id == "setattr":
            target = node.args[0]
            if isinstance(target, (ast.Name, ast.Attribute)) and (_path(target, aliases) or "").split(".")[0] in (
                "torch",
                "triton",
            ):
                return [(f"setattr on {ast.unparse(target)}", None)]
    return []


def _forbidden(path: str) -> bool:
    if path.split(".")[0] in ESCAPE_MODULES:
        return True
    return any(path == root or path.startswith(root + ".") for root in ESCAPE_TORCH)


def _path(node: ast.expr, aliases: dict[str, str]) -> str | None:
    """The dotted name that an attribute chain on an import stands for, or None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in aliases:
        return None
    return ".".join([aliases[node.id], *reversed(parts)])
