"""Python's parser, one thread at a time."""

from __future__ import annotations

import ast
import threading

_one_at_a_time = threading.Lock()


def parse(source: str) -> ast.Module:
    """`ast.parse`, safe to call from several threads. Raises SyntaxError, ValueError (a null byte), RecursionError.

    CPython counts the depth of the tree that it builds in one place for all threads; when two build at once, it can
    raise "SystemError: AST constructor recursion depth mismatch" (seen with 3.11.7).
    """
    with _one_at_a_time:
        return ast.parse(source)
