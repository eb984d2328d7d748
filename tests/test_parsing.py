"""Parsing from many threads at once, which CPython 3.11 by itself can't."""

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.parsing import parse


def test_threads_parse_at_the_same_time() -> None:
    text = Path(ast.__file__).read_text(encoding="utf-8")
    whole = ast.dump(ast.parse(text))
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(parse, [text] * 24))
    assert all(ast.dump(tree) == whole for tree in trees)


@pytest.mark.parametrize(("source", "error"), [("def", SyntaxError), ("x = 1\0", (ValueError, SyntaxError))])
def test_what_is_not_python_is_an_error(source: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        parse(source)
