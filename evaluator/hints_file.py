"""Hints for a file as a whole: it can't be parsed, reaches outside, lacks its entry, or runs code when it is loaded."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Mapping
from typing import Any

from evaluator.hints_scene import Definition, Scene, is_jit
from tasks.parsing import parse

NEEDS = "a kernel file imports torch, triton, triton.language and math, and needs nothing else"
KNOWN = {*sys.stdlib_module_names, "torch", "triton", "numpy", "scipy", "cupy"}
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
AFFIXES = {"triton", "wrapper", "linalg", "torch", "fused", "fn", "func", "function", "forward", "impl", "op", ""}
SIZES = "compute sizes with Python numbers (math.prod(x.shape)): a sum or product of torch's is refused"


def syntax(message: str, line: int | None, source: str) -> str | None:
    """What a source that is no Python lacks: its end, a body, line breaks, the fence taken away."""
    if "```" in source:
        return "the source holds a Markdown fence; it must be the code alone"
    rows = source.rstrip().split("\n")
    at = rows[line - 1] if line is not None and 0 < line <= len(rows) else ""
    if re.search(r"\S.*@triton\.", at):
        return "line breaks were lost: a decorator stands on a line of its own, and so does each statement"
    if "was never closed" in message or "unterminated triple" in message:
        later = [row for row in rows[line or 0 :] if row.strip()]
        inside = all(len(row) - len(row.lstrip()) > len(at) - len(at.lstrip()) for row in later)
        return "the file breaks off at its last line: shorten it" if inside or "triple" in message else None
    said = re.search(r"expected an indented block after (.+) on line (\d+)", message)
    if said is None:
        return None
    head = rows[min(int(said[2]), len(rows)) - 1]
    body = [row for row in rows[int(said[2]) :] if row.strip()]
    name = re.search(r"(?:def|class)\s+(\w+)", head)
    if name and body:
        return f"`{name[1]}` has no body: write its code"
    return None if body else "the file breaks off at its last line: shorten it"


def escape(message: str) -> str | None:
    """What to do in place of what the escape list refuses, by its kind."""
    what = message.removeprefix("uses ")
    if said := re.match(r"from (\.+[\w.]*) import", what):
        return f"this file stands alone: there is no module `{said[1]}` beside it"
    if said := re.match(r"an assignment to ([\w.]+)$|setattr of '(\w+)' on ([\w.]+)$", what):
        root, name = (said[1] or said[3]).split(".")[0], said[2] or said[1].rsplit(".", 1)[-1]
        return f"define `{name}` as a plain function and leave {root}'s own alone: it is called by its name"
    if re.match(r"the attribute |(get|set)attr ", what):
        return "call functions by name; reach for no Python internals"
    if not re.match(r"[\w.]+$", what):
        return None
    root = what.split(".")[0]
    return stands_alone(root) if root not in KNOWN and not hasattr(builtins, root) else NEEDS


def stands_alone(module: str) -> str:
    """For an import of a package that isn't there."""
    return f"this file stands alone: there is no module `{module}` beside it, only torch, triton and Python's own math"


def no_entry(entry: str, defined: list[str], source: str) -> str:
    """Why the file has no function of the entry's name, as far as the source tells."""
    scene = _scene(source)
    known = scene.defined(entry)
    if known is not None and is_jit(known):
        return entry_is_kernel(entry)
    must = f"the file must define {entry}"
    if defined:
        near = next((name for name in defined if _stem(name) == _stem(entry)), None)
        return f"{must}; it defines {', '.join(defined)}" + (f": rename `{near}` to `{entry}`" if near else "")
    kernels = [node.name for node in scene.tree.body if isinstance(node, Definition) and is_jit(node)]
    if kernels:
        shown = ", ".join(f"`{name}`" for name in kernels[:5])
        return f"{must}; it defines no plain function, only kernels ({shown}): add the one that launches them"
    classes = [node.name for node in scene.tree.body if isinstance(node, ast.ClassDef)]
    return f"{must}; it defines {', '.join(classes) or 'nothing'}" + (", no function" if classes else "")


def entry_is_kernel(entry: str) -> str:
    """For an entry that `@triton.jit` or `@triton.autotune` decorates."""
    return (
        f"the entry `{entry}` is a kernel, not a function that can be called: make it a plain function that allocates "
        "the output and launches one"
    )


def on_import(error: Mapping[str, Any], source: str) -> str | None:
    """For an error that code outside the functions led to: an example at the end of the file, mostly."""
    scene = _scene(source)
    line, launch = error.get("line"), error.get("launch")
    kernel = launch.get("kernel") if isinstance(launch, Mapping) else None
    met = {str(name) for name in (error.get("function"), kernel) if name} - {"<module>"}
    functions = [node for node in scene.tree.body if isinstance(node, Definition)]
    for node in scene.tree.body:
        early = not any(function.lineno < node.lineno for function in functions)
        if early or isinstance(node, (*_DEFINES, ast.Import, ast.ImportFrom)):
            continue
        itself = type(line) is int and node.lineno <= line <= (node.end_lineno or node.lineno)
        if itself or met & _reached(node, functions):
            where = "" if itself else f", as line {node.lineno} does"
            return f"code outside functions runs on import{where}: leave the example out"
    return None


def sizes_by_torch(refused: str, source: str) -> str | None:
    """Where the only operations that are refused are those that a product or sum of sizes takes."""
    operations = set(re.findall(r"torch (\w+) x\d+", refused))
    if not operations or operations - {"prod", "sum", "_local_scalar_dense"}:
        return None
    for node in ast.walk(_scene(source).tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".prod", ".sum")):
            text = ast.unparse(node)
            if re.search(r"torch\.(tensor|as_tensor)\(", text) and re.search(r"shape|size", text):
                return SIZES
    return None


def masked(source: str, line: Any) -> bool:
    """Whether the loads and stores at a line have masks."""
    found = []
    for node in ast.walk(_scene(source).tree):
        if isinstance(node, ast.Call) and type(line) is int and node.lineno <= line <= (node.end_lineno or 0):
            name = ast.unparse(node.func).rsplit(".", 1)[-1]
            if name in ("load", "store") or name.startswith("atomic_"):
                most = 1 if name == "load" else 2
                found.append(len(node.args) > most or any(keyword.arg == "mask" for keyword in node.keywords))
    return bool(found) and all(found)


def _reached(node: ast.AST, functions: list[Any]) -> set[str]:
    """Names of the file's functions that a statement may come to call, by the names that stand in them."""
    bodies = {function.name: function for function in functions}
    found: set[str] = set()
    waiting = [node]
    while waiting:
        names = {n.id for n in ast.walk(waiting.pop()) if isinstance(n, ast.Name)} & (bodies.keys() - found)
        found |= names
        waiting += [bodies[name] for name in names]
    return found


def _stem(name: str) -> str:
    """A function's name without what is put round the name of an operator."""
    return "_".join(part for part in name.lower().split("_") if part not in AFFIXES)


def _scene(source: str) -> Scene:
    try:
        return Scene("", "", "", {}, parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Scene("", "", "", {})
