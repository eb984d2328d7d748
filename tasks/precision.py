"""A reference computed less precisely than it should be, for the negative controls."""

from __future__ import annotations

from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from tasks.calls import Observed, call, copied
from tasks.task import Case, Task

HALF = (torch.float16, torch.bfloat16)


def half_rounded(value: torch.Tensor) -> torch.Tensor:
    """Floating and complex elements rounded to float16 where its range allows; the same dtype."""
    if value.is_complex():
        return torch.complex(half_rounded(value.real), half_rounded(value.imag))
    if not value.is_floating_point():
        return value
    half = value.half().to(value.dtype)
    return torch.where(torch.isfinite(half), half, value)


def all_bfloat16(task: Task, case: Case, native: Observed) -> Observed | None:
    """The reference in float32 with every intermediate result rounded to bfloat16, in the dtypes of `native`.

    Operations are taken apart as far as PyTorch knows how (GELU into products and erf). None where the
    reference doesn't run so.
    """
    twin = Case(case.label, _widened(copied(case.args)), _widened(copied(case.kwargs)))
    try:
        with Bfloat16Intermediates():  # type: ignore[no-untyped-call]
            found = call(task, task.reference, twin)
    except (TypeError, ValueError, RuntimeError):
        return None
    dtypes = [getattr(value, "dtype", None) for _, value in native.leaves()]
    values = iter(dtypes)
    recast = tree_map(lambda t: _recast(t, next(values)), (found.returned, dict(found.mutated)))
    return Observed(*recast)


class Bfloat16Intermediates(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Rounds what each operation makes anew to bfloat16, kept in its own dtype."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        if func in decomposition_table:
            with self:
                result = decomposition_table[func](*args, **options)
        else:
            result = func(*args, **options)
        makes_views = any(value.alias_info is not None for value in func._schema.returns)
        return result if makes_views else tree_map(_rounded, result)


def _rounded(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.bfloat16().to(value.dtype)
    return value


def _widened(value: Any) -> Any:
    def wide(item: Any) -> Any:
        if isinstance(item, torch.Tensor) and item.dtype in HALF:
            return item.float()
        return torch.float32 if isinstance(item, torch.dtype) and item in HALF else item

    return tree_map(wide, value)


def _recast(value: Any, dtype: torch.dtype | None) -> Any:
    return value.to(dtype) if isinstance(value, torch.Tensor) and dtype is not None else value
