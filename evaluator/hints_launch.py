"""Hints for launches: the grid, the arguments, what a GPU has room for; and kernel functions called on the host."""

from __future__ import annotations

import ast
import re
from typing import Any

from evaluator.hints_file import entry_is_kernel
from evaluator.hints_names import SEPARATE
from evaluator.hints_scene import Scene, is_constexpr, is_jit, names_in

STAGES = 3  # what Triton takes where a launch doesn't say
PLAIN = re.compile(r"\*|[iu]\d+$|fp\d+$|constexpr$|tensordesc|\(")
OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg", "grid", "warmup", "launch_cooperative_grid", "launch_pdl"}
# what Triton says of a kernel, or a function for kernels, that is called as a plain function
ON_HOST = (
    r"outside of the scope of a kernel|_semantic|_builder|@triton\.jit|'(JITFunction|Autotuner|Heuristics)' object is"
)


def shared_memory(scene: Scene) -> str | None:
    """More of a resource than the target has: how much, and what leads to it."""
    required, limit = scene.error.get("required"), scene.error.get("limit")
    if scene.kind != "out_of_resources" or type(required) is not int or type(limit) is not int or required < 1:
        return None
    if "memory" not in str(scene.error.get("resource")):
        return None
    launch = scene.error.get("launch")
    given = launch.get("num_stages") if isinstance(launch, dict) else None
    stages = given if type(given) is int and given > 0 else STAGES
    blocks = [f"{name}={value}" for name, value in _blocks(scene).items()]
    from_what = f"{', '.join(blocks)} and num_stages={stages}" if blocks else f"the blocks and num_stages={stages}"
    if (fit := stages * limit // required) >= 1 and stages > 1 and _multiplies(scene):
        advice = f"tl.dot keeps num_stages tiles of both operands there: try num_stages={fit}, or halve a block size"
    else:
        advice = "halve a block size, or split the reduced dimension into a loop"
    return (
        f"a program needs {required} bytes of {scene.error.get('resource')} and has {limit}, from {from_what}: {advice}"
    )


def complex_argument(scene: Scene) -> str | None:
    """A complex tensor as an argument, or a complex dtype."""
    names = [name for name, kind in scene.signature.items() if "complex" in kind]
    if names:
        return f"`{names[0]}` is {scene.signature[names[0]].strip('*')}: {SEPARATE}"
    said = scene.cause in ("KeyError", "AttributeError", "TypeError") and re.search(r"complex\d+", scene.message)
    return SEPARATE if said else None


def odd_argument(scene: Scene) -> str | None:
    """An argument of a type that no kernel takes."""
    if scene.kind != "exception" or not _launched(scene):
        return None
    for name, kind in scene.signature.items():
        if not PLAIN.match(kind):
            also = ", as tl.float32 is, not torch.float32" if kind == "dtype" else ""
            return f"`{name}` is a {kind}: a kernel takes tensors, numbers, and tl.constexpr for the rest{also}"
    return None


def grid(scene: Scene) -> str | None:
    """A grid that is a number, or too large in its second or third axis."""
    said = re.search(r"grid ([yz]) is \d+, the limit is (\d+)", scene.message)
    if said:
        return f"only the first axis of a grid may exceed {said[2]}: put the largest number of programs there"
    call = _launched(scene)
    if call is None or scene.compiling or scene.cause != "TypeError":
        return None
    assert isinstance(call.func, ast.Subscript)
    index: ast.expr = call.func.slice
    given = scene.bindings.get(index.id, [index])[-1] if isinstance(index, ast.Name) else index
    size = given.body if isinstance(given, ast.Lambda) else given
    if isinstance(size, ast.Tuple) and re.search(r"not '?tuple'?", scene.message):
        return "the grid is one tuple of integers, and a block size is an argument: write kernel[grid](..., BLOCK=64)"
    if isinstance(size, (ast.Tuple, ast.List)) or not _is_number(size):
        return None
    shown = ast.unparse(size)
    return "the grid is a tuple of integers: " + (f"write ({shown},)" if len(shown) < 60 else "add a comma, (n,)")


def arguments(scene: Scene) -> str | None:
    """A launch that leaves out a parameter, or names one that the kernel doesn't have."""
    call, kernel = _launched(scene), scene.kernel
    if call is None or scene.compiling or scene.cause not in ("TypeError", "ValueError", "KeyError"):
        return None
    if re.search(r"[Cc]onflict|re-?define|multiple values", scene.message):
        return "an argument is given twice: what @triton.autotune or a keyword gives is not passed again"
    if kernel is None or any(isinstance(arg, ast.Starred) for arg in call.args) or None in _keywords(call):
        return None
    parameters = [*kernel.args.posonlyargs, *kernel.args.args, *kernel.args.kwonlyargs]
    optional = {p.arg for p in kernel.args.args[len(kernel.args.args) - len(kernel.args.defaults) :]}
    positional = {p.arg for p in parameters[: len(call.args)]}
    missing = [
        p for p in parameters if p.arg not in positional | optional | _keywords(call) and not _tuned(kernel, p.arg)
    ]
    if missing:
        fixed = [p.arg for p in missing if is_constexpr(p)]
        example = f", as {fixed[0]}=64" if fixed and fixed[0].isupper() else ""
        assert isinstance(call.func, ast.Subscript)
        if isinstance(call.func.slice, ast.Tuple) and {p.arg for p in missing} & set(names_in(call.func.slice)):
            example += "; what stands in [] is the grid alone"
        return f"the launch doesn't pass {', '.join(f'`{p.arg}`' for p in missing[:6])}{example}"
    unknown = [name for name in _keywords(call) if name not in {p.arg for p in parameters} | OPTIONS]
    return f"the kernel has no parameter `{unknown[0]}`" if unknown and "unrecognised" in scene.message else None


def second_axis(scene: Scene) -> str | None:
    """A launch `kernel[n, 1024]` whose second number is meant for a block size: 1024 programs do the same."""
    for call in ast.walk(scene.tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Subscript):
            continue
        name, sizes = call.func.value, call.func.slice
        known = scene.defined(name.id) if isinstance(name, ast.Name) else None
        if known is None or not is_jit(known) or not isinstance(sizes, ast.Tuple) or len(sizes.elts) != 2:
            continue
        axes = [n for n in ast.walk(known) if scene.tl_name(n) == "program_id" and isinstance(n, ast.Call)]
        asked = [scene.number(n.args[0] if n.args else n.keywords[0].value if n.keywords else None) for n in axes]
        if set(asked) <= {0} and not (isinstance(sizes.elts[1], ast.Constant) and sizes.elts[1].value == 1):
            return (
                f"`{known.name}[{ast.unparse(sizes)[:40]}]`: the second number of the grid counts programs along axis "
                "1, which this kernel never asks for"
            )
    return None


def on_the_host(scene: Scene) -> str | None:
    """A function of Triton that is called outside a kernel."""
    if scene.compiling or (scene.function is not None and is_jit(scene.function)):
        return None
    if not re.search(ON_HOST, scene.message):
        return None
    entry = scene.defined(scene.entry)
    if scene.error.get("line") is None:  # nothing in the file made the call
        return entry_is_kernel(scene.entry) if entry is not None and is_jit(entry) else None
    for call in (
        [scene.call] if scene.call else [n for n in ast.walk(scene.node or scene.tree) if isinstance(n, ast.Call)]
    ):
        name = scene.tl_name(call)
        if name == "cdiv":
            return "outside a kernel it is triton.cdiv, not tl.cdiv"
        if name:
            return f"tl.{name} works in a kernel only: use torch here, or decorate the function with @triton.jit"
        known = scene.defined(call.func.id) if isinstance(call.func, ast.Name) else None
        if known is not None and known is entry and is_jit(known):
            return entry_is_kernel(known.name)
        if known is not None and is_jit(known):
            return f"`{known.name}` is a kernel: launch it with a grid, {known.name}[(n,)](...)"
    return None


def _launched(scene: Scene) -> ast.Call | None:
    """The call `kernel[grid](...)` at the place."""
    around = [scene.node] if scene.call else list(ast.walk(scene.node)) if scene.node else []
    for node in around:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Subscript)
            and isinstance(node.func.value, ast.Name)
        ):
            known = scene.defined(node.func.value.id)
            if known is not None and is_jit(known):
                return node
    return None


def _keywords(call: ast.Call) -> set[str | None]:
    return {keyword.arg for keyword in call.keywords}


def _tuned(kernel: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Whether a decorator, @triton.autotune or @triton.heuristics, gives the parameter."""
    constants = (n for decorator in kernel.decorator_list for n in ast.walk(decorator) if isinstance(n, ast.Constant))
    named = any(constant.value == name for constant in constants)
    return named or any(isinstance(d, ast.Call) and names_in(d)[1:] for d in kernel.decorator_list)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rsplit(".", 1)[-1] in (
            "cdiv",
            "int",
            "numel",
            "len",
            "size",
            "next_power_of_2",
            "max",
            "min",
        )
    return isinstance(node, (ast.BinOp, ast.Subscript, ast.Name)) or (
        isinstance(node, ast.Constant) and type(node.value) is int
    )


def _blocks(scene: Scene) -> dict[str, Any]:
    """Constexprs that are sides of blocks in the kernel, with their values where those are told."""
    kernel = scene.kernel
    if kernel is None:
        return {}
    sides = [
        n for call in ast.walk(kernel) if scene.tl_name(call) in ("arange", "zeros", "full") for n in names_in(call)
    ]
    return {name: value for name, value in scene.constexprs.items() if name in sides and type(value) is int}


def _multiplies(scene: Scene) -> bool:
    return any(scene.tl_name(node) == "dot" for node in ast.walk(scene.kernel or scene.tree))
