"""What the names of a source stand for: read off its imports, never by importing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping


def imported_names(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """What each name that an import binds stands for: `import torch._C as c` gives {"c": "torch._C"}."""
    names = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for item in node.names:
                names[item.asname or item.name.split(".")[0]] = item.name if item.asname else item.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module:
            for item in node.names:
                names[item.asname or item.name] = f"{node.module}.{item.name}"
    return names


def dotted(node: ast.AST | None, names: Mapping[str, str]) -> str | None:
    """`triton.language.load` for `tl.load`: the path that an attribute chain on one of `names` stands for, or None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return None
    return ".".join([names[node.id], *reversed(parts)])
