"""What can be said of a source without running it: whether it is Python, and whether it reaches for a way out.

The escape list is a gate: a candidate that threads, forks, patches hooks or leaves torch for NumPy could make what the
worker reports untrue. It works on the syntax tree, never on text. An import that is never used is only a warning.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from evaluator.imports import dotted, imported_names
from tasks.outcomes import Reason
from tasks.parsing import parse

# what a kernel file may import; everything else is refused once it is used
MODULES = {
    "__future__", "abc", "argparse", "collections", "contextlib", "copy", "dataclasses", "decimal", "enum", "fractions",
    "functools", "itertools", "logging", "math", "numbers", "operator", "packaging", "random", "re", "string",
    "textwrap", "time", "torch", "triton", "typing", "typing_extensions", "warnings",
}  # fmt: skip
# parts of torch and triton that share a name with a module of Python's own
NAMESAKES = {
    "abc", "array", "ast", "code", "copy", "io", "math", "operator", "random", "select", "signal", "string", "time",
    "trace", "types", "typing",
}  # fmt: skip
ESCAPE_NAMES = {"__import__", "breakpoint", "compile", "delattr", "eval", "exec", "globals", "open", "vars"}
ESCAPE_PARTS = {
    "_C", "_dynamo", "_inductor", "_ops", "_python_dispatch", "_subclasses", "numpy", "scipy", "cupy", "__future__",
}  # fmt: skip
ESCAPE_PATHS = {
    "torch.compile", "torch.jit", "torch.library", "torch.ops", "torch.overrides", "torch.utils.cpp_extension",
    "torch.utils.dlpack", "torch.utils.data", "torch.multiprocessing", "torch.distributed", "torch.hub", "torch.load",
    "torch.save", "torch.serialization", "torch.from_file", "torch.autograd.graph", "torch.set_num_threads",
    "torch.set_num_interop_threads",
    "triton.compiler", "triton.runtime.driver.set_active", "triton.runtime.interpreter", "triton.runtime.jit",
    "triton.knobs", "triton.constexpr_function", "logging.FileHandler", "logging.handlers",
}  # fmt: skip
HARMLESS_DUNDERS = {
    "__init__", "__name__", "__call__", "__doc__", "__version__", "__all__", "__annotations__", "__file__", "__len__",
    "__repr__", "__post_init__", "__iter__", "__getitem__", "__enter__", "__exit__", "__main__", "__future__",
}  # fmt: skip
# boilerplate round many kernels: computing a path reads nothing, and a worker's sys.path and environment are its own
HARMLESS_CHAINS = {
    "os.path.abspath", "os.path.basename", "os.path.dirname", "os.path.join", "os.path.realpath",
    "os.environ.get",
    "os.environ", "os.environ.setdefault", "os.getenv", "sys.path.append", "sys.path.insert", "sys.exit",
    "types.SimpleNamespace",
}  # fmt: skip

# NumPy may compute sizes; what goes to it from a tensor is seen at run time
NUMPY_CLOSED = {
    "_core", "char", "compat", "core", "ctypeslib", "f2py", "from_dlpack", "frombuffer", "fromfile", "genfromtxt",
    "lib", "load", "loadtxt", "memmap", "ndarray", "save", "savetxt", "savez", "savez_compressed", "testing",
}  # fmt: skip
# attributes that lead out whatever they are called on: files in memory, and modules that a name need not show
CLOSED_ATTRIBUTES = {
    "from_file", "_write_file", "_new_with_file", "_new_shared", "share_memory_", "tofile", "fromfile", "torch",
    "_C", "_dynamo", "_inductor", "_python_dispatch", "_subclasses", "overrides", "cpp_extension", "sys", "os",
    "builtins", "ctypes", "gc", "importlib", "inspect", "modules", "subprocess", "threading", "_thread", "pickle",
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "_disable_current_modes", "_DisableTorchDispatch",
}  # fmt: skip
# imports that are judged by their use
BY_USE = ("os", "sys", "types", "numpy")
# exception types, and settings of the worker's own process
OPEN_PATHS = ("triton.compiler.errors", "triton.compiler.CompilationError", "torch.backends")

Aliases = Mapping[str, str]
Escape = tuple[str, str | None]  # what it is, and the name that an import binds


AUTOTUNE = "triton.runtime.autotuner.autotune"
TUNER = (
    "the first configuration of a tuner that compiles is judged in every case, and the others only in the timed cases "
    "where one of them wins"
)


@dataclass(frozen=True)
class StaticFinding:
    """The first thing that refuses a source (`reason`), with its line, or None; and warnings."""

    reason: Reason | None
    message: str
    line: int | None
    warnings: tuple[str, ...] = ()


def inspect_source(source: str, entries: Collection[str] = ()) -> StaticFinding:
    """Parses `source` and looks for escapes. Never runs it. An import that binds one of `entries` counts as used."""
    try:
        tree = parse(source)
    except SyntaxError as error:
        return StaticFinding(Reason.SYNTAX_ERROR, f"{type(error).__name__}: {error.msg}", error.lineno)
    except (ValueError, RecursionError, MemoryError) as error:
        return StaticFinding(Reason.SYNTAX_ERROR, f"not a Python source: {error}", None)
    nodes = list(ast.walk(tree))
    aliases = _aliases(nodes)
    local = _local_names(nodes)
    used = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in local} | set(entries)
    harmless = _harmless_nodes(nodes, aliases) | local
    warnings = [
        f"line {node.lineno}: {TUNER}"
        for node in nodes
        if isinstance(node, ast.Call) and dotted(node.func, aliases) in ("triton.autotune", AUTOTUNE)
    ]
    for node in nodes:
        if id(node) in harmless:
            continue
        for what, name in _escapes(node, aliases):
            line = getattr(node, "lineno", None)
            if name is not None and name not in used:
                warnings.append(f"line {line}: imports {what} and never uses it")
                continue
            return StaticFinding(Reason.ESCAPE, f"uses {what}", line)
    return StaticFinding(None, "", None, tuple(warnings))


def _aliases(nodes: list[ast.AST]) -> dict[str, str]:
    """What each name stands for: `import torch._C as c` gives {"c": "torch._C"}, `T = torch.Tensor` the like."""
    names = imported_names(nodes)
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            path = dotted(node.value, names)
            if path:
                names.setdefault(node.targets[0].id, path)
    return names


def _local_names(nodes: list[ast.AST]) -> set[int]:
    """Ids of the names in a function's body that its own parameters and assignments bind: `open = x.is_contiguous()`
    has nothing to do with the builtin. Classes inside are left out, where a name is looked up further out."""
    found: set[int] = set()
    for node in nodes:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
        body = _own_body(node)
        elsewhere = {name for part in body if isinstance(part, (ast.Global, ast.Nonlocal)) for name in part.names}
        imports = [part for part in body if isinstance(part, (ast.Import, ast.ImportFrom))]
        elsewhere |= {alias.asname or alias.name.split(".")[0] for part in imports for alias in part.names}
        bound = {arg.arg for arg in given if arg} | {p.id for p in body if isinstance(p, ast.Name) and _stores(p)}
        found |= {id(p) for p in body if isinstance(p, ast.Name) and p.id in bound - elsewhere}
    return found


def _own_body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.AST]:
    """The nodes of a function's own scope: no defaults, decorators, inner functions, classes or comprehensions."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp)
    found: list[ast.AST] = []
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop()
        found.append(node)
        if not isinstance(node, (*inner, ast.GeneratorExp)):
            left += ast.iter_child_nodes(node)
    return found


def _harmless_nodes(nodes: list[ast.AST], aliases: Aliases) -> set[int]:
    """Ids of the nodes inside allowed chains, and of those that run only as a program, which a candidate never is."""
    found: set[int] = set()
    renamed = any(map(_may_rename_the_module, nodes))
    for node in nodes:
        if isinstance(node, ast.Attribute) and (dotted(node, aliases) in HARMLESS_CHAINS or _names_a_class(node)):
            found |= {id(part) for part in ast.walk(node)}
        if isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'" and not renamed:
            found |= {id(part) for statement in node.body for part in ast.walk(statement)}
    return found


def _may_rename_the_module(node: ast.AST) -> bool:
    """Whether a node binds `__name__`, in whatever way: an assignment, an import, a pattern, a definition."""
    if isinstance(node, (ast.Attribute, ast.Constant)) or (isinstance(node, ast.Name) and not _stores(node)):
        return False
    values = [value for _, value in ast.iter_fields(node)]
    return "__name__" in [*values, *(item for value in values if isinstance(value, list) for item in value)]


def _stores(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, (ast.Store, ast.Del))


def _names_a_class(node: ast.Attribute) -> bool:
    """`x.__class__.__name__` of a plain name, as messages have it."""
    inner = node.value
    return (
        node.attr == "__name__"
        and isinstance(inner, ast.Attribute)
        and inner.attr == "__class__"
        and isinstance(inner.value, ast.Name)
    )


def _escapes(node: ast.AST, aliases: Aliases) -> Iterator[Escape]:
    """Each way out that this node is."""
    match node:
        case ast.Import():
            for item in node.names:
                if item.name not in BY_USE and _forbidden(item.name):
                    yield item.name, item.asname or item.name.split(".")[0]
        case ast.ImportFrom():
            for item in node.names:
                path = f"{node.module or ''}.{item.name}"
                if node.level or (item.name == "*" and _root(path) not in ("torch", "triton", "math", "typing")):
                    yield f"from {'.' * node.level}{node.module or ''} import {item.name}", None
                elif _forbidden(path):
                    yield path, item.asname or item.name
        case ast.Name():
            path = aliases.get(node.id, "")
            led_out = _root(path) in ("os", "sys", "types") and path not in HARMLESS_CHAINS
            if node.id in ESCAPE_NAMES or led_out:
                yield path or node.id, None
        case ast.Attribute():
            yield from _attribute_escapes(node, aliases)
        case ast.Call(func=ast.Name(id="getattr" | "setattr" as verb)):
            yield from _access_escapes(node, verb, aliases)


def _attribute_escapes(node: ast.Attribute, aliases: Aliases) -> Iterator[Escape]:
    path = dotted(node, aliases)
    if path and _forbidden(path):
        yield path, None
    if node.attr.startswith("__") and node.attr.endswith("__") and node.attr not in HARMLESS_DUNDERS:
        yield f"the attribute {node.attr}", None
    if node.attr in CLOSED_ATTRIBUTES:
        yield f"the attribute {node.attr}", None
    if _stores(node) and path and not _open(path):
        yield f"an assignment to {path}", None


def _access_escapes(node: ast.Call, verb: str, aliases: Aliases) -> Iterator[Escape]:
    name = node.args[1] if len(node.args) > 1 else None
    if not isinstance(name, ast.Constant):
        yield f"{verb} with a computed name", None
        return
    target = dotted(node.args[0], aliases)
    if target and (verb == "setattr" or _forbidden(f"{target}.{name.value!s}")):
        yield f"{verb} of {name.value!r} on {target}", None
    if name.value in CLOSED_ATTRIBUTES:
        yield f"the attribute {name.value}", None
    if isinstance(name.value, str) and name.value.startswith("__") and name.value not in HARMLESS_DUNDERS:
        yield f"the attribute {name.value}", None


def _root(path: str) -> str:
    return path.split(".")[0]


def _forbidden(path: str) -> bool:
    """Whether a dotted name on an import leads out: not from an allowed module, by way of another module of Python's,
    or into a part of torch or Triton that is closed."""
    root, *parts = path.split(".")
    if root == "numpy":
        return len(parts) > 2 or any(part in NUMPY_CLOSED or part in sys.stdlib_module_names for part in parts)
    if root not in MODULES:
        return path not in BY_USE and path not in HARMLESS_CHAINS
    if _open(path):
        return False
    if root in ("torch", "triton") and any(part in ESCAPE_PARTS for part in parts):
        return True
    if parts == [root]:  # random.random: a function named as its module
        return False
    own = sys.stdlib_module_names - (NAMESAKES if root in ("torch", "triton") else {"abc"})
    if any(part in own or (part.startswith("_") and root not in ("torch", "triton")) for part in parts):
        return True
    return any(path == closed or path.startswith(closed + ".") for closed in ESCAPE_PATHS)


def _open(path: str) -> bool:
    return any(path == name or path.startswith(name + ".") for name in OPEN_PATHS)
