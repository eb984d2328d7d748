"""What a worker reports of its calls, as plain values of the right kind: nothing of it is taken as it comes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.records import NOT_TRIED, KernelBuild


def builds_said(header: Mapping[str, Any]) -> tuple[KernelBuild, ...]:
    """The compiled kernels, 200 at most."""
    rows = header.get("builds")
    return tuple(_build(row) for row in rows[:200] if isinstance(row, dict)) if isinstance(rows, list) else ()


def _build(row: Mapping[str, Any]) -> KernelBuild:
    code = row["code"] if isinstance(row.get("code"), dict) else {}
    dots, loads = code.get("dots"), code.get("load_bytes")
    taken = {name: _count(row.get(name)) for name in ("registers", "spill_bytes")}
    return KernelBuild(
        kernel=str(row.get("kernel"))[:200],
        target=str(row.get("target"))[:20],
        shared_bytes=_count(row.get("shared_bytes")),
        **{name: _count(code.get(name)) if known is None else known for name, known in taken.items()},
        num_warps=_count(row.get("num_warps")) or 0,
        num_stages=_count(row.get("num_stages")) or 0,
        compile_s=number(row.get("compile_s")),
        dots=tuple(str(kind)[:20] for kind in dots[:20]) if isinstance(dots, list) else None,
        tensor_cores=code.get("tensor_cores") if type(code.get("tensor_cores")) is bool else None,
        load_bytes={str(k)[:20]: v for k, v in loads.items() if _count(v)} if isinstance(loads, dict) else {},
    )


def targets_said(built: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What each target said: the first error that any child met, else ok. A launch that the first one refuses is not
    tried with the others: then their ok is `NOT_TRIED`."""
    said: dict[str, str] = {}
    for header in built:
        for name, outcome in _strings(header.get("targets")).items():
            said[name] = outcome if said.get(name, "ok") == "ok" else said[name]
    first = next(iter(said.values()), "ok")
    return {name: NOT_TRIED if outcome == "ok" != first else outcome for name, outcome in said.items()}


def strays_said(header: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Accesses outside of any tensor."""
    return [stray for stray in header.get("strays") or [] if isinstance(stray, dict)]


def stray_warnings(headers: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Loads outside of any tensor, which may be harmless, in words; five at most."""
    found = {
        f"kernel {stray.get('kernel')} line {stray.get('line')}: loads outside {stray.get('nearest')}"
        for header in headers
        for stray in header.get("strays") or []
        if isinstance(stray, dict) and not stray.get("store")
    }
    return tuple(sorted(found))[:5]


def summed(counts: Any) -> dict[str, int]:
    """Counts by name, over several reports."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update({str(k)[:100]: v for k, v in (count or {}).items() if type(v) is int})
    return dict(total)


def number(value: Any) -> float:
    """A finite number, else 0."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else 0.0


def _strings(value: Any) -> dict[str, str]:
    return {str(k)[:20]: str(v)[:300] for k, v in value.items()} if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if type(value) is int else None
