"""Hints for names: functions that Triton lacks, attributes that a kernel's values lack, host code inside a kernel."""

from __future__ import annotations

import ast
import difflib
import re

from evaluator.hints_file import KNOWN, NEEDS, stands_alone
from evaluator.hints_scene import LANGUAGE, Scene, is_jit, names_in

LIBDEVICE = "with `from triton.language.extra import libdevice`"
SEPARATE = "Triton has no complex numbers: keep real and imaginary parts apart (torch.view_as_real gives both)"
POWER = "tl.exp2(y * tl.log2(x)) for x > 0, or x * x for a square"
INSTEAD = {
    "tanh": f"write 2 * tl.sigmoid(2 * x) - 1, or libdevice.tanh(x) {LIBDEVICE}",
    "round": f"use tl.floor(x + 0.5), or to even libdevice.rint(x) {LIBDEVICE}",
    "trunc": "use tl.where(x < 0, tl.ceil(x), tl.floor(x))",
    "pow": f"use {POWER}", "power": f"use {POWER}",
    "mean": "use tl.sum(x, axis) divided by the number of valid elements",
    "var": "use tl.sum of the squared differences from the mean, divided by the number of valid elements",
    "std": "use tl.sqrt of the variance, which is a tl.sum of squared differences, divided",
    "norm": "use tl.sqrt(tl.sum(x * x, axis))",
    "prod": "use tl.reduce(x, axis, combine) with a @triton.jit function that multiplies",
    "any": "use tl.max(x.to(tl.int32), axis)",
    "all": "use tl.min(x.to(tl.int32), axis)",
    "amax": "use tl.max(x, axis)", "amin": "use tl.min(x, axis)",
    "arg_max": "use tl.argmax(x, axis)", "arg_min": "use tl.argmin(x, axis)",
    "reduce_sum": "use tl.sum(x, axis)", "reduce_max": "use tl.max(x, axis)",
    "relu": "use tl.maximum(x, 0.0)",
    "gelu": "write it: 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))",
    "silu": "use x * tl.sigmoid(x)",
    "log_softmax": "use x - m - tl.log(tl.sum(tl.exp(x - m), axis)) with m = tl.max(x, axis)",
    "clip": "use tl.minimum(tl.maximum(x, low), high)",
    "fmax": "use tl.maximum(a, b)", "fmin": "use tl.minimum(a, b)",
    "select": "use tl.where(condition, a, b)",
    "sign": "use tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, 0.0))",
    "float": "cast with x.to(tl.float32)", "int": "cast with x.to(tl.int32)",
    "bitcast": "use x.to(dtype, bitcast=True)",
    "inf": "use float('inf')", "nan": "use float('nan')",
    "isnan": "use x != x",
    "isinf": "use tl.abs(x) == float('inf')",
    "log1p": f"use tl.log(1 + x), or for small x libdevice.log1p(x) {LIBDEVICE}",
    "expm1": f"use tl.exp(x) - 1, or for small x libdevice.expm1(x) {LIBDEVICE}",
    "erfc": "use 1 - tl.erf(x)",
    "sqrtf": "use tl.sqrt(x)", "expf": "use tl.exp(x)", "logf": "use tl.log(x)", "powf": f"use {POWER}",
    "rcp": "use 1.0 / x",
    "pi": "write the number, 3.141592653589793",
    "matmul": "use tl.dot(a, b) on 2-D tiles", "mm": "use tl.dot(a, b) on 2-D tiles",
    "bmm": "use tl.dot(a, b) on 2-D tiles, one batch a program",
    "mv": "use tl.sum(a * x[None, :], axis=1)",
    "outer": "use a[:, None] * b[None, :]",
    "transpose": "use tl.trans(x)",
    "concatenate": "store the parts one by one", "stack": "store the parts one by one",
    "ones": "use tl.full(shape, 1, dtype)",
    "ones_like": "use tl.full(x.shape, 1, x.dtype)", "full_like": "use tl.full(x.shape, value, x.dtype)",
    "empty": "use tl.zeros(shape, dtype)", "empty_like": "use tl.zeros_like(x)",
    "eye": "compare two aranges: (i[:, None] == i[None, :]).to(tl.float32)",
    "tril": "mask it: tl.where(i[:, None] >= j[None, :], x, 0)",
    "triu": "mask it: tl.where(i[:, None] <= j[None, :], x, 0)",
    "diag": "mask it: tl.where(i[:, None] == j[None, :], x, 0)",
    "logical_and": "use a & b", "logical_or": "use a | b", "logical_not": "use x == 0",
    "bitwise_and": "use a & b", "bitwise_or": "use a | b", "bitwise_xor": "use a ^ b",
    "mod": "use a % b", "fmod": f"use libdevice.fmod(a, b) {LIBDEVICE}", "divmod": "use a // b and a % b",
    "libdevice": "import it: from triton.language.extra import libdevice",
    "block_dim": "pass the block size as a tl.constexpr",
    "blockdim_x": "pass the block size as a tl.constexpr", "blockDim": "pass the block size as a tl.constexpr",
    "thread_id": "a program works on a whole block: use tl.arange(0, BLOCK)",
    "complex": SEPARATE, "complex64": SEPARATE, "complex128": SEPARATE, "conj": SEPARATE, "real": SEPARATE,
    "imag": SEPARATE,
}  # fmt: skip
"""What to write for what triton.language lacks in every version from 3.6 on."""
NEAR = (
    "abs", "add", "arange", "argmax", "argmin", "associative_scan", "atomic_add", "atomic_cas", "atomic_max",
    "atomic_min", "broadcast_to", "cast", "cat", "cdiv", "ceil", "clamp", "constexpr", "cos", "cumprod", "cumsum",
    "device_print", "dot", "erf", "exp", "exp2", "expand_dims", "fdiv", "flip", "floor", "fma", "full", "gather",
    "histogram", "join", "load", "log", "log2", "make_block_ptr", "max", "maximum", "min", "minimum", "num_programs",
    "permute", "program_id", "rand", "randint", "randn", "range", "reduce", "reshape", "rsqrt", "sigmoid", "sin",
    "softmax", "sort", "split", "sqrt", "static_assert", "static_range", "store", "sum", "topk", "trans", "umulhi",
    "view", "where", "xor_sum", "zeros", "zeros_like", "bfloat16", "float16", "float32", "float64", "int1", "int8",
    "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip
DEVICE = (
    "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh", "cbrt", "log10", "lgamma",
    "erfinv", "hypot",
)  # fmt: skip
INSTEAD |= {name: f"use libdevice.{name} {LIBDEVICE}" for name in DEVICE}
HOST = ("torch", "math", "numpy", "scipy", "random")
BUILTINS = {
    "float": "cast with x.to(tl.float32)",
    "int": "cast with x.to(tl.int32)",
    "bool": "compare: x != 0",
    "round": INSTEAD["round"],
    "pow": INSTEAD["pow"],
    "sum": "use tl.sum(x, axis)",
    "any": INSTEAD["any"],
    "all": INSTEAD["all"],
    "divmod": INSTEAD["divmod"],
    "len": "pass the length as a tl.constexpr",
    "list": "there are no lists of run-time values: use a block, tl.zeros",
    "zip": "loop over range()",
    "enumerate": "loop over range()",
    "sorted": "use tl.sort(x)",
}
IMPORTS = {
    "torch": "import torch",
    "triton": "import triton",
    "tl": "import triton.language as tl",
    "math": "import math",
}
SIZES = {"shape", "size", "stride", "strides", "numel", "dim", "ndim"}


def missing_function(scene: Scene) -> str | None:
    """`tl.tanh`, `tl.math.pow`, `from triton.language.math import pow`."""
    name = ""
    if isinstance(scene.node, ast.Attribute) and scene.cause in ("AttributeError", "CompilationError"):
        path = scene.dotted(scene.node)
        name = scene.node.attr if path.startswith(LANGUAGE) else ""
    if not name and (said := re.search(r"module 'triton\.language[\w.]*' has no attribute '(\w+)'", scene.message)):
        name = said[1]
    if not name and (said := re.search(r"cannot import name '(\w+)' from 'triton\.language", scene.message)):
        name = said[1]
    if not name and (said := re.search(r"No module named 'triton\.language\.(?:\w+\.)*(\w+)'", scene.message)):
        name = said[1]
    if not name:
        return None
    advice = INSTEAD.get(name)
    if advice is None and (near := difflib.get_close_matches(name, NEAR, 1, 0.7)):
        advice = f"did you mean tl.{near[0]}?"
    return f"triton.language has no `{name}`" + (f": {advice}" if advice else "")


def missing_module(scene: Scene) -> str | None:
    """An import of a package that isn't there, or of a name that only `typing` has."""
    if scene.cause in ("ModuleNotFoundError", "ImportError"):
        if said := re.search(r"cannot import name '(\w+)' from '([\w.]+)'", scene.message):
            return f"{said[2]} has no `{said[1]}`: leave the import out"
        if (said := re.search(r"No module named '([\w.]+)'", scene.message)) and said[1].split(".")[0] not in KNOWN:
            return stands_alone(said[1])
        if said and "." in said[1]:
            return f"there is no `{said[1]}` here: write what you need of it as kernels of this file"
        return NEEDS
    said = re.search(r"name '(\w+)' is not defined", scene.message) if scene.cause == "NameError" else None
    if said and said[1] in ("Optional", "Union", "Tuple", "List", "Any", "Callable", "Sequence", "Dict"):
        return f"import it: from typing import {said[1]}"
    if said and said[1] == "Tensor":
        return "write torch.Tensor"
    if said and said[1] in IMPORTS and not scene.compiling:
        return f"import it: {IMPORTS[said[1]]}"
    return None


def host_function(scene: Scene) -> str | None:
    """Calls of torch, math, numpy, Python's builtins and undecorated functions inside a kernel."""
    call = scene.call
    if not scene.compiling or call is None:
        return None
    path = scene.dotted(call.func)
    if path.split(".")[0] in HOST:
        name = path.rsplit(".", 1)[-1]
        advice = f"use tl.{name}" if name in NEAR else INSTEAD.get(name, "compute it before the launch and pass it")
        return f"`{ast.unparse(call.func)}` runs on the host, not in a kernel: {advice}"
    if not isinstance(call.func, ast.Name):
        return None
    name, known = call.func.id, scene.defined(call.func.id)
    if known is not None and not is_jit(known):
        return f"`{name}` is called in a kernel: decorate it with @triton.jit"
    if known is None and name in BUILTINS:
        return f"Python's {name}() doesn't work on values of a kernel: {BUILTINS[name]}"
    return None


def missing_attribute(scene: Scene) -> str | None:
    """What a tensor of torch has and a value or pointer in a kernel has not."""
    if not scene.compiling:
        return None
    node = scene.node
    unpacks = isinstance(node, ast.Assign) and any(isinstance(target, ast.Tuple) for target in node.targets)
    if isinstance(node, ast.Assign) and unpacks and isinstance(node.value, ast.Name):
        return f"`{node.value.id}` can't be unpacked in a kernel: pass each number as an argument of its own"
    held = node.value if isinstance(node, ast.Subscript) or (isinstance(node, ast.Assign) and unpacks) else node
    held = held.func if isinstance(held, ast.Call) else held
    if isinstance(held, ast.Attribute) and held.attr in SIZES and not scene.dotted(held):
        name = ast.unparse(held.value)[:40]
        return f"`{name}` has no .{held.attr} in a kernel, where a tensor is a bare pointer: pass its sizes and strides"
    if isinstance(node, ast.Attribute) and scene.cause == "AttributeError" and not scene.dotted(node):
        name = node.attr
        advice = {"clone": "a value is never changed in place, so just assign it", "conj": SEPARATE}.get(name)
        advice = advice or (f"use tl.{name}(x)" if name in NEAR else INSTEAD.get(name, ""))
        return f"a value in a kernel has no .{name}" + (f": {advice}" if advice else "; it has .to, .shape and .dtype")
    return None


def undefined_name(scene: Scene) -> str | None:
    """A name that the kernel doesn't have: a global, one that only a branch defines, or none at all."""
    if not scene.compiling or not isinstance(scene.node, ast.Name) or scene.cause != "NameError":
        return None
    name, function = scene.node.id, scene.function
    known = scene.defined(name)
    if known is not None and not is_jit(known):
        return f"`{name}` is called in a kernel: decorate it with @triton.jit"
    if scene.above and isinstance(scene.above[0], ast.arg):
        return f"parameters of a kernel are annotated tl.constexpr or not at all: leave out `{name}`"
    if function and any(n.id == name and isinstance(n.ctx, ast.Store) for n in _names(function)):
        return f"`{name}` has no value here: give it one before the `if` or the loop that sets it"
    if any(name in names_in(t) for n in scene.tree.body if isinstance(n, ast.Assign) for t in n.targets):
        return f"a kernel reads only globals that are tl.constexpr: pass `{name}` as an argument"
    where = f"`{function.name}` defines no `{name}`" if function else f"`{name}` isn't defined"
    return f"{where}: make it a parameter (`{name}: tl.constexpr` for a block size) and pass it"


def _names(node: ast.AST) -> list[ast.Name]:
    return [found for found in ast.walk(node) if isinstance(found, ast.Name)]
