"""Running a kernel on the CPU: Triton's interpreter with the parts replaced that are wrong, slow, or unobserved.

Replaced: bfloat16 arithmetic (the interpreter adds the raw bits) and rounding (its carry is lost), TF32 products
(inputs rounded to ten bits, as the tensor cores do, where the kernel doesn't ask for more), memory accesses
(see `memory`), libdevice functions that NumPy has. Kept apart from compilation: the interpreter works by
patching `triton.language`, so the patch is applied around each run and taken back.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from evaluator.worker import reductions
from evaluator.worker.library import EXTERN, erf, usable
from evaluator.worker.memory import Memory, poison


class NotInterpretable(Exception):
    """The kernel uses something that has no meaning on a CPU: inline assembly, a device library function."""


NARROW = (tl.bfloat16,)
MISSING = object()


def _np_dtype(dtype: Any) -> np.dtype:
    """Triton's table from its types to NumPy's, looked up instead of built anew at every operation."""
    if isinstance(dtype, tl.block_type):
        dtype = dtype.element_ty
    name = "pointer" if isinstance(dtype, tl.pointer_type) else dtype.name
    if name not in _NP_DTYPES:
        _NP_DTYPES[name] = _table_dtype(dtype)
    return _NP_DTYPES[name]


_NP_DTYPES: dict[str, np.dtype] = {}
_table_dtype = interpreter._get_np_dtype
interpreter._get_np_dtype = _np_dtype


class Builder(InterpreterBuilder):  # type: ignore[misc]
    """Triton's interpreter builder, observed and corrected."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: Any = None  # the Memory of the launch that runs
        # overflow asserts are a debugging aid that compiled kernels don't carry either
        self.options = interpreter.InterpreterOptions(sanitize_overflow=False)

    def create_masked_load(self, ptrs, mask, other, *rest, **more):  # type: ignore[no-untyped-def]
        mask = _mask(mask)
        dtype = _np_dtype(ptrs.get_element_ty())
        inside = self.memory.allow(ptrs.data, mask.data, dtype.itemsize, store=False)
        if inside is not mask.data:
            fill = np.zeros(ptrs.data.shape, dtype) if other is None else np.broadcast_to(other.data, ptrs.data.shape)
            byte = poison.byte or 0
            wild = np.full(dtype.itemsize, byte, np.uint8).view(dtype)[0] if dtype.kind != "b" else True
            other = TensorHandle(np.where(mask.data & ~inside, wild, fill).astype(dtype), ptrs.get_element_ty())
            mask = TensorHandle(inside, tl.int1)
        return super().create_masked_load(ptrs, mask, other, *rest, **more)

    def create_masked_store(self, ptrs, value, mask, *rest, **more):  # type: ignore[no-untyped-def]
        mask = _mask(mask)
        dtype = _np_dtype(ptrs.get_element_ty())
        inside = self.memory.allow(ptrs.data, mask.data, dtype.itemsize, store=True)
        return super().create_masked_store(ptrs, value, TensorHandle(inside, tl.int1), *rest, **more)

    def create_atomic_rmw(self, operation, ptr, val, mask, *rest):  # type: ignore[no-untyped-def]
        size = _np_dtype(ptr.get_element_ty()).itemsize
        inside = self.memory.allow(ptr.data, mask.data, size, store=True)
        inside = self.memory.allow(ptr.data, inside, size, store=False)
        return super().create_atomic_rmw(operation, ptr, val, TensorHandle(inside, tl.int1), *rest)

    def create_atomic_cas(self, ptr, cmp, val, *rest):  # type: ignore[no-untyped-def]
        every = np.ones_like(ptr.data, dtype=bool)
        if not self.memory.allow(ptr.data, every, val.data.dtype.itemsize, store=True).all():
            raise IndexError("atomic_cas outside every tensor of the launch")
        return super().create_atomic_cas(ptr, cmp, val, *rest)

    def create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):  # type: ignore[no-untyped-def]
        operands = [_widen(a), _widen(b)]
        if a.dtype.scalar == tl.float32 and str(input_precision).lower().rsplit(".", 1)[-1] == "tf32":
            operands = [TensorHandle(_tf32(x.data), tl.float32) for x in operands]
        return super().create_dot(*operands, d, input_precision, max_num_imprecise_acc)

    def cast_impl(self, src, dst_type):  # type: ignore[no-untyped-def]
        source, target = src.dtype.scalar, dst_type.scalar
        if source in NARROW:
            return src if target in NARROW else super().cast_impl(_widen(src), dst_type)
        if target in NARROW:
            return _narrowed(src.data.astype(np.float32))
        return super().cast_impl(src, dst_type)

    def create_fp_to_fp(self, src, dst_type, rounding_mode):  # type: ignore[no-untyped-def]
        if dst_type.scalar.primitive_bitwidth >= 16 and src.dtype.scalar.primitive_bitwidth >= 16:
            return self.cast_impl(src, dst_type)  # type: ignore[no-untyped-call]
        return super().create_fp_to_fp(src, dst_type, rounding_mode)

    def createerf(self, arg):  # type: ignore[no-untyped-def]
        return TensorHandle(erf(arg.data), arg.dtype.scalar)

    def create_clampf(self, arg, lo, hi, propagate_nans):  # type: ignore[no-untyped-def]
        dtype = arg.dtype.scalar
        arg, lo, hi = _widen(arg), _widen(lo), _widen(hi)
        clamped = TensorHandle(np.fmin(np.fmax(arg.data, lo.data), hi.data), arg.dtype.scalar)
        return _narrowed(clamped.data) if dtype in NARROW else clamped

    def create_extern_elementwise(self, lib_name, lib_path, symbol, args, ret_type, is_pure):  # type: ignore[no-untyped-def]
        name = symbol.removeprefix("__nv_").removeprefix("__ocml_").removesuffix("_f32").removesuffix("_f64")
        function = EXTERN.get(name) or EXTERN.get(name.removesuffix("f"))
        if function is None:
            raise NotInterpretable(f"device library function {symbol}")
        data = function(*(_widen(arg).data for arg in args))
        return TensorHandle(data.astype(_np_dtype(ret_type)), ret_type.scalar)

    def get_bf16(self, value):  # type: ignore[no-untyped-def]
        return _narrowed(np.array([value], dtype=np.float32))

    def create_print(self, *_):  # type: ignore[no-untyped-def]
        pass  # values that a kernel prints would leave it by another door

    def create_inline_asm(self, *_):  # type: ignore[no-untyped-def]
        raise NotInterpretable("inline assembly")


def _mask(mask: Any) -> TensorHandle:
    """Block pointers come with bare arrays."""
    return mask if isinstance(mask, TensorHandle) else TensorHandle(mask, tl.int1)


def _widen(handle: TensorHandle) -> TensorHandle:
    if handle.dtype.scalar not in NARROW:
        return handle
    return TensorHandle((handle.data.astype(np.uint32) << 16).view(np.float32), tl.float32)


def _narrowed(data: np.ndarray) -> TensorHandle:
    """float32 to bfloat16 bits, to nearest even."""
    bits = np.ascontiguousarray(data, dtype=np.float32).view(np.uint32)
    rounded = (bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16
    rounded = np.where(np.isnan(data), np.uint32(0x7FC0), rounded)
    return TensorHandle(rounded.astype(np.uint16), tl.bfloat16)


def _tf32(data: np.ndarray) -> np.ndarray:
    """Rounds float32 to ten fraction bits, ties away from zero, as `cvt.rna.tf32.f32` does."""
    bits = np.ascontiguousarray(data, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(data), rounded, bits).astype(np.uint32).view(np.float32)


# a GPU's `max` and `min` give the other operand for NaN, unless a kernel asks for NaN to win
DROP_NAN = {"create_maxnumf": np.fmax, "create_minnumf": np.fmin}


def _widened(name: str, compares: bool) -> Callable[..., TensorHandle]:
    base = getattr(InterpreterBuilder, name)
    if name in DROP_NAN:

        def base(self: Builder, one: TensorHandle, other: TensorHandle) -> TensorHandle:
            return self.binary_op(one, other, DROP_NAN[name])

    def operation(self: Builder, *args: Any) -> TensorHandle:
        narrow = any(isinstance(arg, TensorHandle) and arg.dtype.scalar in NARROW for arg in args)
        if narrow:
            args = tuple(_widen(arg) if isinstance(arg, TensorHandle) else arg for arg in args)
        result: TensorHandle = base(self, *args)
        if compares:  # the interpreter leaves the operands' type on it, which a scalar condition takes into its block
            return TensorHandle(result.data, tl.int1)
        return _narrowed(result.data) if narrow else result

    return operation


for _name in vars(InterpreterBuilder):
    if _name.startswith(("create_fcmp", "create_icmp")):
        setattr(Builder, _name, _widened(_name, compares=True))
    elif _name in {
        "create_fadd", "create_fsub", "create_fmul", "create_fdiv", "create_frem", "create_fma", "create_minimumf",
        "create_minnumf", "create_maximumf", "create_maxnumf", "create_precise_divf", "create_floor", "create_ceil",
    }:  # fmt: skip
        setattr(Builder, _name, _widened(_name, compares=False))


# what the rewriter of this version of Triton puts into a kernel: `interpreter_semantic`, from 3.9 on another one
_CALLED = {n: v for n, v in vars(interpreter).items() if n in ("interpreter_semantic", "_InterpreterComparison")}


class _Rewriter(interpreter.FunctionRewriter):  # type: ignore[misc]
    """Rewrites a kernel for the interpreter, in a copy of its globals: the interpreter's own stay out of a candidate's
    reach."""

    def _compile_and_exec(self, tree: ast.Module) -> Callable[..., Any]:
        namespace = _scope(self.fn)
        local: dict[str, Any] = {}
        exec(compile(tree, filename=self.filename, mode="exec", dont_inherit=True), namespace, local)
        function: Callable[..., Any] = local[self.fn.__name__]
        return function


def _scope(function: Callable[..., Any]) -> dict[str, Any]:
    """The names that a kernel sees now, and the interpreter's."""
    names = dict(function.__globals__)
    if function.__closure__:
        cells = zip(function.__code__.co_freevars, function.__closure__, strict=True)
        names |= {name: cell.cell_contents for name, cell in cells}
    names = {name: usable(value) for name, value in names.items()}
    return {"range": _range, "min": _least, "max": _largest, **names, **_CALLED}


def _range(*bounds: Any, **_: Any) -> Iterator[Any]:
    """Python's `range` in a kernel, and `tl.range`: to the compiler a loop's variable is a tensor."""
    for i in range(*(int(_plain(bound)) for bound in bounds if bound is not None)):
        yield interpreter.interpreter_semantic.to_tensor(i)


def _least(*values: Any, **options: Any) -> Any:
    """Python's `min` in a kernel: element by element where one is a tensor, as the compiler has it."""
    return tl.core.builtin_min(*values, **options) if _any_tensor(values) else min(*map(_plain, values))


def _largest(*values: Any, **options: Any) -> Any:
    """Python's `max` in a kernel."""
    return tl.core.builtin_max(*values, **options) if _any_tensor(values) else max(*map(_plain, values))


def _any_tensor(values: Sequence[Any]) -> bool:
    return any(isinstance(value, tl.tensor) for value in values)


def _index(value: Any) -> int:
    """A scalar as Python's integer; Triton 3.6 has it with a NumPy before 2.4 only."""
    return int(value.handle.data.item())


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


class Simulator:
    """Runs kernels one program after another, with `triton.language` patched only while one runs."""

    def __init__(self) -> None:
        self.builder = Builder()
        reductions.install()
        interpreter.interpreter_builder = self.builder
        interpreter.interpreter_semantic.builder = self.builder
        self.running = False
        self._rewritten: dict[Any, Callable[..., Any]] = {}
        self._patches = _patches()

    def rewritten(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as the interpreter needs it, made once; it sees its globals as they are now."""
        if function not in self._rewritten:
            self._rewritten[function] = _Rewriter(function).rewrite_ast()
        else:
            self._rewritten[function].__globals__.update(_scope(function))
        return self._rewritten[function]

    def run(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        constexprs: set[str],
        grid: tuple[int, int, int],
        memory: Memory,
    ) -> None:
        """Runs `function` for every program of `grid`; whatever it raises comes out as it is."""
        body = self.rewritten(function)
        self.builder.memory = memory
        self.builder.set_grid_dim(*grid)
        self._switch(on=True)
        try:
            values = {k: v if k in constexprs else _converted(v) for k, v in arguments.items()}
            with np.errstate(all="ignore"):
                for x in range(grid[0]):
                    for y in range(grid[1]):
                        for z in range(grid[2]):
                            self.builder.set_grid_idx(x, y, z)
                            memory.accesses.begin_program()
                            body(**values)
        finally:
            self._switch(on=False)
            self.builder.memory = None

    def _switch(self, *, on: bool) -> None:
        self.running = on
        for owner, name, plain, patched in self._patches:
            value = patched if on else plain
            if value is not MISSING:
                setattr(owner, name, value)
            elif name in vars(owner):
                delattr(owner, name)


def _converted(value: Any) -> Any:
    # a Python bool is a one-bit run-time argument; the interpreter would give it four bytes
    if isinstance(value, bool):
        return tl.tensor(TensorHandle(np.array([value]), tl.int1), tl.int1)
    return interpreter._implicit_cvt(value)


def _patches() -> list[tuple[Any, str, Any, Any]]:
    """Every attribute that the interpreter patches, with its plain and its patched value."""

    probe = types.FunctionType((lambda: None).__code__, {"tl": tl, "core": tl.core})
    scope = interpreter._patch_lang(probe)
    touched = [(owner, name) for owner, name, _ in scope._changes]
    patched = {(id(owner), name): vars(owner).get(name, MISSING) for owner, name in touched}
    scope.restore()
    owners = {(id(owner), name): owner for owner, name in touched}
    patched |= {key: _range for key in patched if key[1] == "range"}
    patched |= {key: _index for key in patched if key[1] == "__index__"}
    return [(owner, key[1], vars(owner).get(key[1], MISSING), patched[key]) for key, owner in owners.items()]
