"""An exception in plain values: what was raised, where in the candidate's own file, and how its kernel was launched."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.runtime.errors import OutOfResources, PTXASError
from triton.tools.tensor_descriptor import TensorDescriptor

from evaluator.worker.simulator import NotInterpretable

TEXT_MAX = 20_000
COMPILE_FAILURES = (CompilationError, OutOfResources, PTXASError)
# what an autotuner takes for a configuration that isn't there, and goes on from
DROPPED_BY_TUNERS = (OutOfResources, CompileTimeAssertionFailure, PTXASError)
LAUNCH = "kernelmend_launch"  # the attribute of an exception that holds the facts of its launch
NARROWED = {"float": "fp", "bfloat": "bf", "uint": "u", "int": "i"}


def described(error: BaseException, filename: str) -> dict[str, Any]:
    """Its kind, type, message and cause, the last place in the candidate's file, and the launch that it came out of."""
    kind = (
        "not_interpretable" if isinstance(error, NotInterpretable)
        else "out_of_resources" if isinstance(error, OutOfResources)
        else "compilation" if isinstance(error, COMPILE_FAILURES)
        else "exception"
    )  # fmt: skip
    chain = [error]
    while (cause := chain[-1].__cause__) and len(chain) < 8:
        chain.append(cause)
    # a mistake in a helper surfaces as one CompilationError per caller: the innermost one says what, and the
    # innermost one in the candidate's own file says where
    told = [e for e in chain if isinstance(e, CompilationError)] or chain[:1]
    places = [place for e in reversed(told) if (place := _place(e, filename))]
    own = [place for place in places if place["line"] is not None]
    # the compiler hides what it met behind `from None`, and Python keeps it all the same
    root = (chain[-1].__context__ if isinstance(chain[-1], CompilationError) else None) or chain[-1]
    return {
        "kind": kind,
        "type": type(error).__name__,
        "message": _message(told[-1]) or f"{type(root).__name__}: {_message(root)}",
        "cause": type(root).__name__,
        "launch": next((e.__dict__[LAUNCH] for e in chain if LAUNCH in e.__dict__), None),
        **_resource(error),
        **next(iter(own or places), {}),
    }


def launch_facts(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What a launch specialises its kernel on: types and constexprs by argument, num_warps and num_stages."""
    values = {**dict(zip((param.name for param in function.params), args, strict=False)), **kwargs}
    values = {p.name: values.get(p.name, p.default) for p in function.params if p.name in values or p.has_default}
    fixed = {p.name for p in function.params if p.is_constexpr}
    return {
        "kernel": function.__name__,
        "signature": {n: "constexpr" if n in fixed or v is None else _type_of(v) for n, v in values.items()},
        "constexprs": {n: _plain(v) for n, v in values.items() if n in fixed or v is None},
        **{name: kwargs[name] for name in ("num_warps", "num_stages") if type(kwargs.get(name)) is int},
    }


def _type_of(value: Any) -> str:
    """The type in Triton's spelling: *fp32, i32, u1."""
    if isinstance(value, TensorDescriptor):
        return f"tensordesc<{_type_of(value.base)[1:]}>"
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, torch.dtype):
        return "*" + _dtype(str(dtype).removeprefix("torch."))
    if isinstance(value, bool):
        return "u1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
    if isinstance(value, tuple):
        return f"({', '.join(map(_type_of, value[:8]))})"
    return "fp32" if isinstance(value, float) else type(value).__name__[:60]


def _dtype(name: str) -> str:
    if name == "bool":
        return "i1"
    stem = name.rstrip("0123456789")
    return NARROWED[stem] + name[len(stem) :] if stem in NARROWED else name


def _plain(value: Any) -> Any:
    if value is None or type(value) is bool or (type(value) is int and abs(value) < 2**63):
        return value
    if type(value) is str or type(value) is float or isinstance(value, torch.dtype):
        return str(value)[:60]
    name = getattr(value, "name", None)  # a dtype of triton.language
    return name[:60] if type(name) is str else type(value).__name__[:60]


def _resource(error: BaseException) -> dict[str, Any]:
    if not isinstance(error, OutOfResources):
        return {}
    return {"resource": str(error.name), "required": int(error.required), "limit": int(error.limit)}


def _place(error: BaseException, filename: str) -> dict[str, Any]:
    if isinstance(error, CompilationError) and error.src and hasattr(error.node, "lineno"):
        node, lines = error.node, error.src.split("\n")
        text = lines[node.lineno - 1] if 0 < node.lineno <= len(lines) else ""
        start, indent = _start(error.src, filename)
        first, last = (start + n if start else None for n in (node.lineno, node.end_lineno or node.lineno))
        return {
            "line": first,
            "column": node.col_offset + indent,
            "end_line": last,
            "end_column": (node.end_col_offset or node.col_offset) + indent,
            "text": text[:300],
        }
    spots = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == filename]
    if not spots:
        return {}
    spot = spots[-1]
    return {
        "line": spot.lineno,
        "column": spot.colno,
        "end_line": spot.end_lineno,
        "end_column": spot.end_colno,
        "text": (spot.line or "")[:300],
        "function": spot.name,
    }


@lru_cache(maxsize=64)
def _start(source: str, filename: str) -> tuple[int | None, int]:
    """Lines before the dedented function `source` in the file (None when it isn't there), and its indentation."""
    rows = Path(filename).read_text(encoding="utf-8").split("\n")
    wanted = [row.strip() for row in source.rstrip().split("\n")]
    for at in range(len(rows) - len(wanted) + 1):
        if rows[at].strip() == wanted[0] and [row.strip() for row in rows[at : at + len(wanted)]] == wanted:
            return at, len(rows[at]) - len(rows[at].lstrip())
    return None, 0


def _message(error: BaseException) -> str:
    if isinstance(error, CompilationError):
        text = error.error_message or ""
    elif isinstance(error, SystemExit):
        text = f"the candidate called sys.exit({error.code!r})"
    else:
        text = str(error)
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX // 2] + "\n...\n" + text[-TEXT_MAX // 2 :]
