"""Hints for mistakes in the code around the launches: the entry's parameters, shapes taken for granted, lost names."""

from __future__ import annotations

import ast
import re

from evaluator.hints_scene import Definition, Scene, is_jit, names_in


def parameters(scene: Scene) -> str | None:
    """An entry that doesn't take what the task's signature says: the call itself fails, at no place in the file."""
    said = re.match(r"(?:\w+\.)?(\w+)\(\) (got an unexpected|got multiple|missing \d+ required|takes )", scene.message)
    if scene.compiling or scene.cause != "TypeError" or said is None or scene.error.get("line") is not None:
        return None
    function = scene.defined(said[1])
    if function is None:
        return None
    has = ast.unparse(function.args)
    return f"`{said[1]}` must take the parameters of the task's signature, by those names; it takes ({has[:150]})"


def starred(scene: Scene) -> str | None:
    """Sizes that come as one tuple where `*size` expects numbers."""
    function = scene.function
    if scene.compiling or scene.cause != "TypeError" or function is None or function.args.vararg is None:
        return None
    if not re.search(r"type tuple|is 'tuple'|not 'tuple'|'tuple' object", scene.message):
        return None
    name = function.args.vararg.arg
    return f"`*{name}` holds one tuple when the sizes come as one: take {name}[0] then"


def unpacked(scene: Scene) -> str | None:
    """`rows, cols = x.shape` for a tensor with another number of dimensions."""
    if scene.compiling or scene.cause != "ValueError" or "values to unpack" not in scene.message:
        return None
    statement = next((node for node in (scene.node, *scene.above) if isinstance(node, ast.Assign)), None)
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            shown = ast.unparse(node)[:40]
            return f"`{shown}` has another length in this call: handle any number of dimensions, as by reshape(-1, n)"
    return None


def lost_name(scene: Scene) -> str | None:
    """A name outside every kernel that only a kernel's parameters or the grid's dictionary have."""
    said = re.search(r"name '(\w+)' is not defined", scene.message)
    if scene.compiling or scene.cause != "NameError" or said is None or _in_kernel(scene):
        return None
    name = said[1]
    for kernel in (node for node in ast.walk(scene.tree) if isinstance(node, Definition) and is_jit(node)):
        if name in [argument.arg for argument in (*kernel.args.args, *kernel.args.kwonlyargs)]:
            grid = f'in a grid function it is meta["{name}"]'
            return f"`{name}` is a parameter of the kernel `{kernel.name}`: out here set it before the launch; {grid}"
    return None


def endless(scene: Scene) -> str | None:
    """A function that calls itself where it means the kernel, or an operator of torch, of the same name."""
    function = scene.function
    if scene.compiling or scene.cause != "RecursionError" or function is None:
        return None
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    if any(isinstance(call.func, ast.Name) and call.func.id == function.name for call in calls):
        return f"`{function.name}` calls itself: give the function that launches the kernel another name, and call that"
    return None


def block_pointer(scene: Scene) -> str | None:
    """Blocks among the shape, strides and offsets of a block pointer."""
    call = scene.call
    if not scene.compiling or call is None or scene.tl_name(call) not in ("make_block_ptr", "advance"):
        return None
    values = [*(keyword.value for keyword in call.keywords), *call.args[1:]]
    blocks = [name for value in values for name in names_in(value) if _is_block(scene, name)]
    if not blocks and "scalar" not in scene.message:
        return None
    seen = f"`{blocks[0]}` is a block: " if blocks else ""
    return f"{seen}shape, strides and offsets of tl.{scene.tl_name(call)} are numbers, the offsets of the block's start"


def _is_block(scene: Scene, name: str) -> bool:
    values = scene.bindings.get(name, [])
    return any(scene.tl_name(node) == "arange" for value in values for node in ast.walk(value))


def _in_kernel(scene: Scene) -> bool:
    return scene.function is not None and is_jit(scene.function)
