"""What a kernel calls by name besides Triton's own functions: the device library, by what NumPy has in its place."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.language.extra.cuda import libdevice
from triton.runtime import interpreter

from evaluator.worker.guard import unwatched


def erf(data: np.ndarray) -> np.ndarray:
    """NumPy has no error function."""
    with unwatched():
        values: np.ndarray = torch.erf(torch.from_numpy(np.ascontiguousarray(data))).numpy()
    return values


EXTERN: dict[str, Callable[..., Any]] = {
    "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "log1p": np.log1p, "expm1": np.expm1, "log10": np.log10, "exp10": lambda x: 10**x, "pow": np.power,
    "rint": np.rint, "nearbyint": np.rint, "trunc": np.trunc, "hypot": np.hypot, "cbrt": np.cbrt,
    "copysign": np.copysign, "fmod": np.fmod, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin,
    "cos": np.cos, "floor": np.floor, "ceil": np.ceil, "fabs": np.abs, "fmax": np.fmax, "fmin": np.fmin,
    "erf": erf, "rsqrt": lambda x: 1 / np.sqrt(x), "exp2": np.exp2, "log2": np.log2,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}  # fmt: skip
LIBDEVICE = {f"triton.language.extra.{place}libdevice" for place in ("", "cuda.", "hip.")}


def usable(value: Any) -> Any:
    """libdevice, one function of it, or a constant, as the interpreter can use it; any other value as it is.

    The compiler puts the target's function in the place of the general one, and hands it its semantic.
    """
    if isinstance(value, tl.constexpr):
        return value.value  # on the left of an operator it would not know the interpreter's tensors
    if isinstance(value, types.ModuleType) and value.__name__ in LIBDEVICE:
        return types.SimpleNamespace(**{name: usable(one) for name, one in vars(libdevice).items()})
    if isinstance(value, types.FunctionType) and value.__module__ in LIBDEVICE:
        function = getattr(libdevice, value.__name__)
        return functools.partial(function, _semantic=interpreter.interpreter_semantic)
    return value
