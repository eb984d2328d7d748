"""What the stand-ins' launches did to memory, as the worker counted it; its report refuses nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

WORDS_MAX = 200
NUMBER_MAX = 2**60


@dataclass(frozen=True)
class Line:
    """The loads of one argument on one source line, over all launches: `count` loads by `programs` programs, the widest
    of `lanes` elements of `itemsize` bytes; `sector_bytes` of the 32-byte sectors that hold the `used_bytes`.
    `aligned` counts loads that one thread could take 16 bytes at a time of."""

    kernel: str
    argument: str
    line: int
    itemsize: int
    programs: int
    count: int
    lanes: int
    used_bytes: int
    sector_bytes: int
    aligned: int


@dataclass(frozen=True)
class Argument:
    """Bytes loaded through an argument, those of them that the same program had read before, bytes of its buffer."""

    read_bytes: int
    again_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class Usage:
    """`moved_bytes` are loaded or stored in all; `kernels` are those that a call launches, each as often as it does."""

    lines: tuple[Line, ...] = ()
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    moved_bytes: int = 0
    kernels: tuple[str, ...] = ()


def usage_of(headers: Iterable[Mapping[str, Any]]) -> Usage:
    """The answers to the stand-in calls, summed; `kernels` of the call with the most launches."""
    lines: dict[tuple[str, int, str], Line] = {}
    arguments: dict[str, Argument] = {}
    moved = 0
    kernels: tuple[str, ...] = ()
    for header in headers:
        for line in map(_line, _listed(header.get("lines"))):
            if line is not None:
                key = (line.kernel, line.line, line.argument)
                lines[key] = _sum(lines[key], line) if key in lines else line
        again = _mapped(header.get("again"))
        for name, pair in _mapped(header.get("reads")).items():
            known = arguments.get(name, Argument(0, 0, 0))
            read, size = (*map(_number, _listed(pair)), 0, 0)[:2]
            more = _number(again.get(name))
            arguments[name] = Argument(known.read_bytes + read, known.again_bytes + more, known.size_bytes + size)
        moved += _number(header.get("bytes_moved"))
        launched = tuple(str(name)[:WORDS_MAX] for name in _listed(header.get("kernels")))
        kernels = max(kernels, launched, key=len)
    return Usage(tuple(lines.values()), arguments, moved, kernels)


def _sum(one: Line, other: Line) -> Line:
    added = ("programs", "count", "used_bytes", "sector_bytes", "aligned")
    sums = {name: getattr(one, name) + getattr(other, name) for name in added}
    return replace(one, lanes=max(one.lanes, other.lanes), **sums)


def _line(row: Any) -> Line | None:
    if not isinstance(row, dict):
        return None
    numbers = {f.name: _number(row.get(f.name)) for f in fields(Line) if f.name not in ("kernel", "argument")}
    return Line(str(row.get("kernel"))[:WORDS_MAX], str(row.get("argument"))[:WORDS_MAX], **numbers)


def _mapped(value: Any) -> dict[str, Any]:
    return {str(k)[:WORDS_MAX]: v for k, v in value.items()} if isinstance(value, dict) else {}


def _listed(value: Any) -> list[Any]:
    return value[:1000] if isinstance(value, list) else []


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value < NUMBER_MAX else 0
