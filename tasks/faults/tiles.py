"""Mistakes in the grid and in loops over tiles."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tasks.faults.code import Code, Launch
from tasks.faults.fault import ADDRESSES, UNWRITTEN, VALUES, Fault
from tasks.faults.syntax import calls, constexprs, names, ordered
from tasks.outcomes import Reason, Status


def floor_grid(code: Code) -> str | None:
    """The first `triton.cdiv(a, b)` of a grid becomes `a // b`."""
    for launch in code.launches:
        for part in _grid(code, launch):
            for node in ast.walk(part):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "triton.cdiv" and len(node.args) == 2:
                    return code.edited([code.replace(node, _quotient(code, node))])
    return None


def cut_loop(code: Code) -> str | None:
    """A loop over tiles of a kernel ends before its last, partial tile."""
    for kernel in code.jits:
        tiles = {parameter.arg for parameter in constexprs(kernel)}
        for loop in ordered(kernel, ast.For):
            span = loop.iter
            if not isinstance(span, ast.Call) or not isinstance(span.func, (ast.Name, ast.Attribute)):
                continue
            if len(span.args) == 3 and isinstance(span.args[2], ast.Name) and span.args[2].id in tiles:
                step = span.args[2].id
                return code.edited([code.replace(span.args[1], f"{code.grouped(span.args[1])} // {step} * {step}")])
            for call in calls(span, "cdiv"):
                if len(call.args) == 2 and names(call.args[1]) & tiles:
                    return code.edited([code.replace(call, _quotient(code, call))])
    return None


def shorten_grid(code: Code) -> str | None:
    """The first grid loses its last program."""
    for launch in code.launches:
        for part in _grid(code, launch):
            return code.edited([code.replace(part, f"{code.grouped(part)} - 1")])
    return None


def plain_grid(code: Code) -> str | None:
    """A grid tuple of one becomes a bare integer."""
    for launch in code.launches:
        if isinstance(launch.grid, ast.Tuple) and len(launch.grid.elts) == 1:
            return code.edited([code.replace(launch.grid, code.segment(launch.grid.elts[0]))])
    return None


def _grid(code: Code, launch: Launch) -> Iterator[ast.expr]:
    grid = code.resolved(launch.grid, launch.host)
    grid = grid.body if isinstance(grid, ast.Lambda) else grid
    if isinstance(grid, ast.Tuple):
        yield from grid.elts


def _quotient(code: Code, call: ast.Call) -> str:
    return f"{code.grouped(call.args[0])} // {code.grouped(call.args[1])}"


def _kinds() -> Iterator[Fault]:
    missing = frozenset({Status.WRONG, Status.REJECTED, Status.RUNTIME_ERROR})
    reasons = VALUES | UNWRITTEN | ADDRESSES
    yield Fault(
        "floored_grid",
        "a grid rounded down: the last, partial tile has no program",
        missing,
        reasons,
        floor_grid,
    )
    yield Fault(
        "cut_loop",
        "a loop over tiles that skips the last, partial tile",
        frozenset({Status.WRONG, Status.RUNTIME_ERROR}),
        VALUES | ADDRESSES,
        cut_loop,
    )
    yield Fault("short_grid", "a grid that is one program short", missing, reasons, shorten_grid)
    yield Fault(
        "integer_grid",
        "a bare integer for a grid",
        frozenset({Status.RUNTIME_ERROR}),
        frozenset({Reason.EXCEPTION}),
        plain_grid,
    )


FAULTS = tuple(_kinds())
