"""Hints for what the compiler refuses in calls of triton.language: shapes, memory accesses, products, reductions."""

from __future__ import annotations

import ast
import re

from evaluator.hints_scene import Scene, names_in, operands

SHAPED = {"arange", "zeros", "full", "reshape", "view", "broadcast_to", "make_block_ptr"}
ACCESSES = {
    "load", "store", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg", "atomic_and", "atomic_or",
    "atomic_xor",
}  # fmt: skip
BASED = {"make_block_ptr", "make_tensor_descriptor"}
ADDRESSED = BASED | {"advance", "multiple_of", "max_contiguous", "max_constancy", "where"}
REDUCTIONS = {"sum", "max", "min", "argmax", "argmin", "reduce", "xor_sum", "cumsum", "cumprod", "sort", "softmax"}
FLOATS = {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "erf", "sigmoid", "floor", "ceil"}
RUN_TIME = {"load", "program_id", "num_programs", "arange"}
DOT_MIN = 16
SCALAR = re.compile(r"axis < 0|scalar|has no attribute|0-d")
NUMEL_MAX = 2**20


def block_size(scene: Scene) -> str | None:
    """A length that is no power of two, or a block with too many elements."""
    if re.search(r"exceeds.*(numel|number of elements)|numel.*exceed", scene.message):
        return f"a block holds at most {NUMEL_MAX} elements: take smaller block sizes and loop over them"
    call = scene.call
    name = scene.tl_name(call)
    sizes: list[tuple[ast.expr, int | None]] = []
    if call is not None and name == "arange" and len(call.args) == 2:
        low, high = (scene.number(arg) for arg in call.args)
        sizes = [(call.args[1], None if low is None or high is None else high - low)]
    elif call is not None and name in SHAPED:
        sizes = [(side, scene.number(side)) for side in _sides(call)]
    wrong = [(side, size) for side, size in sizes if size is not None and (size <= 0 or size & (size - 1))]
    if scene.compiling and wrong:
        side, size = wrong[0]
        assert size is not None
        shown = ast.unparse(side)[:40]
        said = f"{size} is" if shown == str(size) else f"`{shown}` is {size},"
        return f"{said} no power of two: pass triton.next_power_of_2(n) and mask the lanes beyond n"
    if re.search(r"power of (2|two)", scene.message):
        return (
            "every side of a block must be a power of two: pass triton.next_power_of_2(n) and mask the lanes beyond n"
        )
    return None


def missing_constexpr(scene: Scene) -> str | None:
    """A shape from a value that only a run knows, or a shape that is no tuple."""
    call = scene.call
    if not scene.compiling or call is None or scene.tl_name(call) not in SHAPED - {"make_block_ptr"}:
        return None
    sides = call.args if scene.tl_name(call) == "arange" else _sides(call)
    for name in [name for side in sides for name in scene.runtime_names(side)]:
        if name in scene.signature and name not in scene.bindings:
            return f"a shape must be known to the compiler: declare `{name}: tl.constexpr`"
        return f"`{name}` is known at run time only: make the shape a `BLOCK: tl.constexpr` and mask what is beyond it"
    if any(isinstance(n, ast.Call) and scene.tl_name(n) for side in sides for n in ast.walk(side)):
        return "a shape must be known to the compiler: pass it as a tl.constexpr"
    if scene.tl_name(call) in ("zeros", "full") and call.args and scene.number(call.args[0]) is not None:
        return f"the shape is a tuple: write ({ast.unparse(call.args[0])},)"
    if scene.tl_name(call) == "zeros" and call.args and scene.dotted(call.args[0]):
        return "the shape comes first: tl.zeros((BLOCK,), dtype=tl.float32)"
    return None


def pointer(scene: Scene) -> str | None:
    """tl.load and tl.store on what is no pointer, or with a block where one address is given."""
    call = scene.call
    if not scene.compiling or call is None or scene.tl_name(call) not in ACCESSES | BASED:
        return None
    address = (
        call.args[0] if call.args else next((k.value for k in call.keywords if k.arg in ("pointer", "base")), None)
    )
    if address is None or "argument to have shape" in scene.message:
        return None
    names = names_in(address)
    reached = names + [n for name in names for value in scene.bindings.get(name, []) for n in names_in(value)]
    types = {name: scene.type_of(name) for name in reached if scene.type_of(name)}
    for name in reached if not any(kind.startswith(("*", "tensordesc", "(")) for kind in types.values()) else ():
        if name not in types:
            continue
        if scene.constexprs.get(name, ...) is None:
            return f"`{name}` is None in this call: pass a flag that is tl.constexpr and load only under `if FLAG:`"
        if types[name] in ("i64", "u64", "i32") and _looks_like_pointer(name, address):
            return f"`{name}` came as a number ({types[name]}): pass the tensor itself, not .data_ptr()"
        if types[name].startswith("fp"):
            return f"`{name}` is a number ({types[name]}), no pointer: use it as it is"
    for name in names:
        if any(scene.tl_name(value) == "load" for value in scene.bindings.get(name, [])):
            return f"`{name}` is a loaded value, not a pointer: add the offsets to the pointer argument"
    if re.search(r"[Pp]ointer argument is not a block", scene.message):
        return "the pointer is one address, the mask or value a block: add offsets of tl.arange to the pointer"
    if re.search(r"ptr type|pointer", scene.message):
        return f"`{ast.unparse(address)[:60]}` is no pointer: start from a tensor that is an argument, and add offsets"
    return None


def mask(scene: Scene) -> str | None:
    """A mask that is a number and no condition, which passes behind the parser refuse without saying where."""
    if not re.search(r"during parsing|PassManager|mask has unsupported", scene.message):
        return None
    for call in ast.walk(scene.kernel or scene.function or scene.tree):
        name = scene.tl_name(call)
        if name not in ("load", "store") or not isinstance(call, ast.Call):
            continue
        given = [k.value for k in call.keywords if k.arg == "mask"] or call.args[1 if name == "load" else 2 :][:1]
        if given and _is_number(scene, given[0], 0):
            shown = ast.unparse(given[0])[:60]
            return f"the mask of tl.{name} is a number, not a condition: compare (`{shown} != 0`), and combine with &"
    return None


def _is_number(scene: Scene, node: ast.expr, depth: int) -> bool:
    """Whether a value surely is one that a comparison has not made."""
    if isinstance(node, ast.Constant):
        return type(node.value) is not bool
    if isinstance(node, ast.Subscript):
        return _is_number(scene, node.value, depth)
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            return True
        return any(_is_number(scene, side, depth) for side in (node.left, node.right))
    if isinstance(node, ast.Name):
        kind, values = scene.signature.get(node.id, ""), scene.bindings.get(node.id, [])
        if values:
            return depth < 8 and _is_number(scene, values[-1], depth + 1)
        return bool(re.match(r"[iu](?:8|16|32|64)$|fp|bf", kind))
    return scene.tl_name(node) in RUN_TIME


def dot(scene: Scene) -> str | None:
    """Operands of a product that are too small, of different types, or not 2-D."""
    if isinstance(scene.node, ast.BinOp) and isinstance(scene.node.op, ast.MatMult):
        return "a kernel has no `@`: use tl.dot(a, b)"
    if not scene.compiling or scene.tl_name(scene.call) != "dot":
        return None
    if re.search(r"dtype|type", scene.message) and not re.search(r"shape|rank|>=", scene.message):
        return "both operands of tl.dot need one dtype, and acc one that fits: cast with .to()"
    if re.search(r"rank|dimension.*[23]D|[23]-?D", scene.message):
        return "tl.dot takes two 2-D tiles: for a product with a vector use tl.sum(a * x[None, :], axis=1)"
    if "compatible" in scene.message:
        return "tl.dot takes (M, K) and (K, N): check the [:, None] and [None, :] of the offsets, or use tl.trans"
    lengths = (node for node in ast.walk(scene.function or scene.tree) if scene.tl_name(node) == "arange")
    used = {name for node in lengths for name in names_in(node)}
    values = {name: n for name, n in scene.constexprs.items() if name in used and type(n) is int}
    small = [f"{name} is {n}" for name, n in values.items() if n < DOT_MIN]
    seen = f" ({', '.join(small[:3])})" if small else ""
    if small or re.search(r">=|at least|small", scene.message):
        least = f"at least {DOT_MIN}, for 8-bit types 32"
        return f"the inner dimension of tl.dot must be {least}{seen}: enlarge that block and mask the rest"
    return None


def reduction(scene: Scene) -> str | None:
    """Reductions of scalars, over an axis that isn't there, or meant element by element."""
    call = scene.call
    name = scene.tl_name(call)
    if not scene.compiling or call is None or name not in REDUCTIONS:
        return None
    axis = call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "axis"), None)
    if name in ("max", "min") and len(call.args) > 1:
        number = scene.number(axis)
        first = scene.number(call.args[0])
        named = isinstance(axis, ast.Name) and not scene.runtime_names(axis)
        if first is not None or (number is None and not named) or (named and SCALAR.search(scene.message)):
            return f"tl.{name} reduces one block over an axis: of two values use tl.{name}imum(a, b)"
    if isinstance(axis, (ast.Tuple, ast.List)):
        return f"tl.{name} takes one axis: reduce several one after another"
    if isinstance(axis, ast.Name) and scene.runtime_names(axis):
        return f"the axis must be known to the compiler: declare `{axis.id}: tl.constexpr`"
    if SCALAR.search(scene.message):
        return f"tl.{name} got a scalar: what it reduces must be a block, loaded at offsets of tl.arange"
    return f"the axis of tl.{name} isn't one of its argument: a 1-D block has axis 0 only"


def program_axis(scene: Scene) -> str | None:
    """A fourth axis of the grid."""
    call = scene.call
    if call is None or scene.tl_name(call) not in ("program_id", "num_programs"):
        return None
    axis = scene.number(call.args[0] if call.args else call.keywords[0].value if call.keywords else None)
    if axis is not None and 0 <= axis <= 2:
        return None
    return "a grid has the axes 0, 1 and 2 only: fold two into one, and take them apart with // and %"


def _sides(call: ast.Call) -> list[ast.expr]:
    """What a call gives as a shape, side by side."""
    shapes = [k.value for k in call.keywords if k.arg in ("shape", "block_shape")]
    if not shapes and call.args:
        shapes = call.args[1:] if _takes_value(call) else call.args[:1]
    return [side for s in shapes for side in (s.elts if isinstance(s, (ast.Tuple, ast.List)) else [s])]


def _takes_value(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("reshape", "view", "broadcast_to")


def _looks_like_pointer(name: str, address: ast.expr) -> bool:
    """Whether the name stands where an address begins: leftmost."""
    while isinstance(address, ast.BinOp):
        address = address.left
    return (isinstance(address, ast.Name) and address.id == name) or name.lower().endswith(("ptr", "pointer"))


def cast(scene: Scene) -> str | None:
    """A pointer that is cast, or the bits of a value read by `.view(dtype)`."""
    call = scene.call
    if not scene.compiling or call is None or not isinstance(call.func, ast.Attribute) or scene.tl_name(call):
        return None
    name, how = ast.unparse(call.func.value)[:40], call.func.attr
    if how == "to" and (scene.type_of(name).startswith("*") or "cast pointer" in scene.message):
        return f"`{name}` is a pointer: load first, tl.load({name} + offsets), and cast what is loaded"
    if how == "view" and call.args and scene.dotted(call.args[0]).startswith("triton.language."):
        dtype = ast.unparse(call.args[0])
        return f"the bits of a value as another type are {name}.to({dtype}, bitcast=True); .view takes a shape"
    return None


def wrong_operand(scene: Scene) -> str | None:
    """A pointer where a function takes values, integers where it takes floats, a dtype that is called."""
    call = scene.call
    name = scene.tl_name(call)
    if not scene.compiling or call is None or not name:
        return None
    if re.fullmatch(r"u?int\d+|b?float\d+", name):
        return f"tl.{name} is a type, not a function: write the number itself, or cast with x.to(tl.{name})"
    types = {n: scene.type_of(n) for arg in call.args for n in operands(arg)}
    pointers = [n for n, kind in types.items() if kind.startswith("*")]
    if pointers and name not in ADDRESSED | ACCESSES:
        return f"`{pointers[0]}` is a pointer ({types[pointers[0]]}): tl.load it, or pass a plain number"
    floats = [n for n, kind in types.items() if kind.startswith("fp")]
    if name == "cdiv" and floats:
        return f"`{floats[0]}` is {types[floats[0]]}, and tl.cdiv needs integers: pass an int"
    if name in FLOATS and scene.cause == "ValueError":
        return f"tl.{name} takes float32 or float64: cast with x.to(tl.float32)"
    return None
