"""Hints for Python that a kernel can't contain: indexing, operators, control flow, values of the wrong kind."""

from __future__ import annotations

import ast
import re

from evaluator.hints_scene import Scene, names_in, operands

LOOPS = re.compile(r"range|\w+\.range|(\w+\.)?static_range")
TOGETHER = "combine conditions with & and |, each in parentheses"
CALLED = {
    "rand": "tl.rand(seed, offsets)",
    "randn": "tl.randn(seed, offsets)",
    "randint": "tl.randint(seed, offsets)",
    "where": "tl.where(condition, x, y)",
    "full": "tl.full(shape, value, dtype)",
    "store": "tl.store(pointer, value, mask=mask)",
}
CONSTRUCTS: dict[type[ast.AST], str] = {
    ast.Break: "a kernel has no `break`: go on with a mask that is false",
    ast.Continue: "a kernel has no `continue`: go on with a mask that is false",
    ast.ListComp: "a kernel has no lists: use a block, tl.arange and tl.where",
    ast.List: "a kernel has no lists: use a block, tl.arange and tl.where",
    ast.Dict: "a kernel has no dictionaries: pass each value as an argument",
    ast.Lambda: "a kernel has no lambda: write a function with @triton.jit",
    ast.FunctionDef: "a kernel has no inner functions: define it at the top of the file with @triton.jit",
    ast.Try: "a kernel has no exceptions: check arguments before the launch",
    ast.Raise: "a kernel has no exceptions: check arguments before the launch",
    ast.Return: "a kernel can't return from inside a loop: mask the stores",
}


def subscript(scene: Scene) -> str | None:
    """Indexing by numbers, blocks or slices, and assignment to an element."""
    node = scene.node
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    for target in targets if scene.compiling else []:
        if not isinstance(target, ast.Subscript) or isinstance(target.value, ast.Attribute):
            continue
        if not _adds_axes(target.slice):
            return _indexed(scene, target, stored=target is not node or isinstance(target.ctx, ast.Store))
    return None


def _indexed(scene: Scene, target: ast.Subscript, *, stored: bool) -> str:
    name, kind = ast.unparse(target.value)[:40], scene.type_of(ast.unparse(target.value))
    index = "offsets" if isinstance(target.slice, (ast.Slice, ast.Tuple)) else ast.unparse(target.slice)[:30]
    if kind.startswith("*"):
        how = f"tl.store({name} + {index}, value)" if stored else f"tl.load({name} + {index})"
        return f"a kernel can't index `{name}`, a pointer: write {how}"
    if kind:
        return f"a kernel can't index `{name}` ({kind}): pass each number as an argument of its own"
    if stored:
        return f"a kernel can't assign to elements of `{name}`: write {name} = tl.where(lanes == i, value, {name})"
    lane = f"take one lane with tl.sum(tl.where(lanes == i, {name}, 0))"
    if name in scene.bindings:
        return f"a kernel can't index the block `{name}`: {lane}, or load what you need from memory"
    return f"a kernel can't index `{name}`: of a pointer tl.load({name} + {index}), of a block {lane}"


def operator(scene: Scene) -> str | None:
    """Operators between what doesn't fit: pointers used as numbers, powers, `and` on blocks, strings."""
    node = scene.node
    if not scene.compiling or not isinstance(node, (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.AugAssign)):
        return None
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return f"a kernel can't chain comparisons: {TOGETHER}"
    if isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return f"`and`, `or` and `not` are for scalars: {TOGETHER}"
    if isinstance(node, ast.Compare) and any(isinstance(getattr(c, "value", 0), str) for c in node.comparators):
        return f"a kernel compares strings only of constexprs: declare `{ast.unparse(node.left)[:40]}: tl.constexpr`"
    op = getattr(node, "op", None)
    if isinstance(op, ast.Pow):
        return "a value in a kernel has no `**`: use x * x, or tl.exp2(y * tl.log2(x)) for x > 0"
    if isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)) and "None" not in scene.message:
        return "& | ^ need integers or conditions, and bind tighter than < and ==: put each comparison in parentheses"
    return _mistyped(scene, operands(node), op)


def _mistyped(scene: Scene, names: list[str], op: ast.operator | None) -> str | None:
    """Pointers and floats where an operator needs something else."""
    types = {name: scene.type_of(name) for name in names}
    pointers = [name for name, kind in types.items() if kind.startswith("*")]
    if pointers and (len(pointers) > 1 or not isinstance(op, (ast.Add, ast.Sub))):
        return f"`{pointers[-1]}` is a pointer ({types[pointers[-1]]}): tl.load it, or pass a plain number"
    floats = [name for name, kind in types.items() if kind.startswith("fp")]
    if isinstance(op, (ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift)) and floats:
        return f"`{floats[0]}` is {types[floats[0]]}, and this needs integers: pass an int"
    if "pointer" in scene.message:
        return "an address is a pointer plus integers: load values before computing with them"
    return None


def construct(scene: Scene) -> str | None:
    """Python that a kernel can't contain, and values whose type changes in a loop or a branch."""
    node = scene.node
    if not scene.compiling or node is None:
        return None
    if isinstance(node, (ast.For, ast.While, ast.If, ast.IfExp)) and "type" in scene.message:
        stored = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        name = next((n for n in stored if re.search(rf"\b{n}\b", scene.message)), None)
        if name and isinstance(node, (ast.For, ast.While)):
            return (
                f"`{name}` changes its type in the loop: start it with that dtype and shape, or cast it back with .to()"
            )
        if name or isinstance(node, ast.IfExp):
            what = f"`{name}`" if name else "it"
            return f"both branches must give {what} one dtype and shape: cast with .to(), or use tl.where"
    if isinstance(node, (ast.For, ast.While, ast.If)) and "return" in scene.message:
        return CONSTRUCTS[ast.Return]
    if isinstance(node, ast.For):
        if not isinstance(node.iter, ast.Call) or not LOOPS.fullmatch(ast.unparse(node.iter.func)):
            return "a kernel loops over range(), tl.range() or tl.static_range() only"
        wrong = [
            f"`{n}` is {scene.type_of(n)}" for n in names_in(node.iter) if scene.type_of(n).startswith(("*", "fp"))
        ]
        return "the bounds of a loop are integers, one each" + (f", and {wrong[0]}" if wrong else "")
    if isinstance(node, (ast.If, ast.While)) and re.search(r"ambiguous|more than one|conditionals", scene.message):
        return "the condition of `if` and `while` is a scalar: for a block use tl.where or a mask"
    return next((told for kind, told in CONSTRUCTS.items() if isinstance(node, kind)), None)


def keyword(scene: Scene) -> str | None:
    """Parameters that a function of triton.language doesn't have, or that are left out."""
    said = re.search(r"unexpected keyword argument '(\w+)'", scene.message)
    name = scene.tl_name(scene.node.iter if isinstance(scene.node, ast.For) else scene.call)
    if name in CALLED and re.search(r"missing .*argument|multiple values", scene.message):
        return f"write {CALLED[name]}"
    if not said or not name:
        return None
    advice = {
        "keepdim": "it is called keep_dims",
        "keepdims": "it is called keep_dims",
        "dim": "it is called axis",
        "dtype": "cast its result with .to(dtype)",
        "shape": "add a block of offsets to the pointer instead",
    }.get(said[1], "leave it out")
    return f"tl.{name} has no parameter {said[1]}: {advice}"


def none_argument(scene: Scene) -> str | None:
    """A value that is None in this call."""
    if not scene.compiling or scene.node is None or "None" not in scene.message:
        return None
    for name in names_in(scene.node):
        if scene.type_of(name) == "constexpr" and scene.constexprs.get(name, ...) is None:
            return f"`{name}` is None in this call: pass a flag that is tl.constexpr and use it only under `if FLAG:`"
    return None


def foreign_dtype(scene: Scene) -> str | None:
    """A dtype of torch where one of Triton is needed."""
    for name in names_in(scene.node) if scene.compiling and scene.node is not None else ():
        value = str(scene.constexprs.get(name))
        if value.startswith("torch."):
            return f"`{name}` is {value}: pass Triton's, as tl.float32"
    return None


def _adds_axes(index: ast.expr) -> bool:
    """Whether an index is only None, `:` and ..., which a kernel has."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(
        (isinstance(p, ast.Constant) and (p.value is None or p.value is ...))
        or (isinstance(p, ast.Slice) and p.lower is None and p.upper is None and p.step is None)
        for p in parts
    )
