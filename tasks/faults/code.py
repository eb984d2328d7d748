"""A kernel's source as text and syntax tree together, so that an edit leaves everything else as it was written."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tasks.faults.syntax import Function, is_jit, names, ordered, parameters, target_names
from tasks.parsing import parse


@dataclass(frozen=True)
class Edit:
    """Bytes `start` to `end` of the UTF-8 text become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Launch:
    """`kernel[grid](...)` inside `host`."""

    call: ast.Call
    kernel: Function
    host: Function
    grid: ast.expr

    def argument(self, name: str) -> ast.expr | None:
        """What the launch passes for the kernel's parameter `name`; None when that can't be told."""
        for keyword in self.call.keywords:
            if keyword.arg == name:
                return keyword.value
        position = parameters(self.kernel).index(name)
        starred = any(isinstance(argument, ast.Starred) for argument in self.call.args)
        return None if starred or position >= len(self.call.args) else self.call.args[position]


class Code:
    """Parsed source. Raises SyntaxError when it is not Python.

    `jits` are the functions under `@triton.jit`, `launches` the places where one is launched from a host
    function, `kernels` those launched, `entry` the last host function that no other one calls.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = parse(text)
        self._bytes = text.encode()
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        functions = [node for node in self.tree.body if isinstance(node, Function)]
        self.jits = [function for function in functions if is_jit(function)]
        self.hosts = [function for function in functions if not is_jit(function)]
        self.entry = self._find_entry()
        self.launches = list(self._find_launches())
        self.kernels = [jit for jit in self.jits if any(launch.kernel is jit for launch in self.launches)]

    def segment(self, node: ast.AST) -> str:
        """The text of `node`, as written."""
        start, end = self.span(node)
        return self._bytes[start:end].decode()

    def grouped(self, node: ast.expr) -> str:
        """The text of `node`, in parentheses unless it holds together by itself."""
        text = self.segment(node)
        alone = isinstance(node, (ast.Name, ast.Call, ast.Constant, ast.Attribute, ast.Subscript))
        return text if alone else f"({text})"

    def span(self, node: ast.AST) -> tuple[int, int]:
        """First byte of `node`, and the one after its last."""
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        end_line, end_column = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        return self._starts[line - 1] + column, self._starts[end_line - 1] + end_column

    def replace(self, node: ast.AST, text: str) -> Edit:
        return Edit(*self.span(node), text)

    def before(self, statement: ast.stmt, line: str) -> Edit:
        """`line` as a statement of its own ahead of `statement`, at its indentation."""
        start = self.span(statement)[0]
        return Edit(start, start, f"{line}\n{' ' * statement.col_offset}")

    def without_line(self, statement: ast.stmt) -> Edit:
        """`statement` and its line end removed; it must not be alone in its block."""
        start, end = self.span(statement)
        return Edit(start - statement.col_offset, end + 1, "")

    def without_argument(self, call: ast.Call, name: str, position: int) -> Edit | None:
        """The argument `name` (or the one at `position`, never the first) removed with the comma ahead of it."""
        written: list[ast.AST] = [*call.args, *call.keywords]
        for place, node in enumerate(written):
            named = isinstance(node, ast.keyword) and node.arg == name
            if place and (named or (place == position and place < len(call.args))):
                return Edit(self.span(written[place - 1])[1], self.span(node)[1], "")
        return None

    def edited(self, edits: Iterable[Edit]) -> str | None:
        """The text after all `edits`, which must not overlap; None when there are none."""
        ordered_edits = sorted(edits, key=lambda edit: (edit.start, edit.end))
        if not ordered_edits:
            return None
        pieces, done = [], 0
        for edit in ordered_edits:
            assert edit.start >= done, "edits overlap"
            pieces += [self._bytes[done : edit.start], edit.text.encode()]
            done = edit.end
        return b"".join([*pieces, self._bytes[done:]]).decode()

    def parent(self, node: ast.AST) -> ast.AST:
        return self._parents[node]

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement around `node`."""
        while not isinstance(node, ast.stmt):
            node = self._parents[node]
        return node

    def begins_line(self, statement: ast.stmt) -> bool:
        """Whether only white space stands ahead of `statement` on its line."""
        start = self._starts[statement.lineno - 1]
        return not self._bytes[start : start + statement.col_offset].strip()

    def assigned(self, name: str, host: Function | None) -> ast.expr | None:
        """The value of the only assignment to `name` in `host`, or else in the module; None when not just one."""
        for nodes in (list(ast.walk(host)) if host else [], self.tree.body):
            found = [node for node in nodes if isinstance(node, ast.Assign) and name in target_names(node)]
            if found:
                only = found[0] if len(found) == 1 else None
                return only.value if only and isinstance(only.targets[0], ast.Name) else None
        return None

    def resolved(self, node: ast.expr, host: Function | None) -> ast.expr:
        """`node`, or what was assigned to it when it is a name with one assignment."""
        value = self.assigned(node.id, host) if isinstance(node, ast.Name) else None
        return node if value is None else value

    def _find_entry(self) -> Function | None:
        used = {host: names(host) for host in self.hosts}
        free = [h for h in self.hosts if not any(h.name in used[other] for other in self.hosts if other is not h)]
        return free[-1] if free else None

    def _find_launches(self) -> Iterator[Launch]:
        named = {jit.name: jit for jit in self.jits}
        for host in self.hosts:
            for node in ordered(host, ast.Call):
                if isinstance(node.func, ast.Subscript):
                    # the launched name may be a local one: `kernel = narrow if cols < 4096 else wide`
                    launched = ordered(self.resolved(node.func.value, host), ast.Name)
                    kernels = [named[name.id] for name in launched if name.id in named]
                    if kernels:
                        yield Launch(node, kernels[-1], host, node.func.slice)
