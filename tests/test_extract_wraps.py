"""Any valid program, wrapped in any way that models wrap theirs, comes back as it was."""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.extract import code_of, prose_of

NAMES = st.sampled_from(["x", "block", "BLOCK", "größe", "_n", "out_ptr"])
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="`~<>\\\"'{}"), max_size=30)
LITERALS = st.one_of(
    st.integers().map(repr), st.floats(allow_nan=False, allow_infinity=False).map(repr), st.text(max_size=20).map(ascii)
)
COMMENTS = st.one_of(
    WORDS, st.sampled_from(["def f(x): no code", "a fence of ``` opens here: ```python", '{"code": 1}'])
)
STATEMENTS = st.one_of(
    st.builds("{} = {}".format, NAMES, LITERALS),
    st.builds("# {}".format, COMMENTS),
    st.builds('{} = f\'{{{}}}\' + """two\nlines, import this\n"""'.format, NAMES, NAMES),
    st.builds("if {}:\n    pass\n\nelse:\n\tpass".format, NAMES),
    st.builds("return ({},\n\n    {})".format, NAMES, LITERALS),
    st.just(""),
)
BODIES = st.lists(STATEMENTS, max_size=4).map(lambda lines: "\n".join([*lines, "return 0"]))


def kernel(name: str, body: str) -> str:
    return f"@triton.jit\ndef {name}(x_ptr, BLOCK: tl.constexpr):\n{textwrap.indent(body, '    ')}\n"


def function(name: str, doc: str, body: str) -> str:
    return f'def {name}(x, *, dim=-1):\n    """{doc}"""\n{textwrap.indent(body, "    ")}\n'


HEADS = st.sampled_from(
    [
        "",
        "import triton\n",
        '"""A kernel."""\n\nimport triton\n',
        "# by hand\nimport triton\n",
        "SIZE = 8\nimport triton\n",
    ]
)
DEFINITIONS = st.one_of(
    st.builds(kernel, NAMES, BODIES), st.builds(function, NAMES, WORDS, BODIES), st.just("class Meta:\n    size = 1\n")
)


def valid(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return "def " in source


PROGRAMS = (
    st.tuples(HEADS, st.lists(DEFINITIONS, max_size=3).map("\n\n".join), st.builds(kernel, NAMES, BODIES))
    .map("\n".join)
    .filter(valid)
    .map(lambda source: source.strip("\n").rstrip() + "\n")
)


def fence(source: str, tag: str = "python", ticks: str = "```") -> str:
    return f"{ticks}{tag}\n{source}\n{ticks}"


Wrap = Callable[[str], str]
TALK = "Sure. The mask was missing:\n\n- it is `offs < n` now;\n- nothing else changed.\n"
WRAPS: dict[str, Wrap] = {
    "bare": lambda source: source,
    "bare, in blank lines": lambda source: f"\n\n{source}\n\n",
    "bare, Windows line ends": lambda source: source.replace("\n", "\r\n"),
    **{f"tag {tag!r}": (lambda source, tag=tag: fence(source, tag)) for tag in  # type: ignore[misc]
       ("python", "", "py", "PYTHON", "python3", "triton", "cuda", "c++", "text", "python title=kernel.py")},
    "longer fence": lambda source: fence(source, ticks="`````"),
    "tildes": lambda source: fence(source, ticks="~~~"),
    "indented fence": lambda source: "1. The file:\n\n" + textwrap.indent(fence(source), "   ", lambda line: True),
    "unclosed": lambda source: f"{TALK}\n```python\n{source}",
    "unclosed, no tag": lambda source: f"```\n{source}",
    "in talk": lambda source: f"{TALK}\n{fence(source)}\n\nThat is all: import nothing else.\n",
    "on the line of the talk": lambda source: f"Here you are: ```python\n{source}```",
    "JSON": lambda source: json.dumps({"strategy": "tile by rows", "code": source}),
    "JSON, not ASCII, indented": lambda source: json.dumps({"code": source, "why": "ß"}, ensure_ascii=False, indent=2),
    "JSON in a fence": lambda source: fence(json.dumps({"strategy": "", "code": source}), "json"),
    "JSON in a fence in talk": lambda source: f"{TALK}\n{fence(json.dumps({'code': source}), 'json')}\nDone.",
    "JSON in talk": lambda source: f"{TALK}\n{json.dumps({'strategy': 'x', 'code': source})}\n\nDone.",
    "JSON with a fence inside": lambda source: json.dumps({"strategy": "x", "code": fence(source)}),
    "JSON with real newlines": lambda source: json.dumps({"code": source.replace("\n", "\0")}).replace("\\u0000", "\n"),
    "after thinking": lambda source: f"<think>Maybe\n{fence('import os')}\nno.</think>\n\n{fence(source)}",
    "after thinking, bare": lambda source: f"<thinking>Hm.</thinking>\n{source}",
    "after thinking that opened elsewhere": lambda source: f"Hm, {fence('import os')}\n</think>{fence(source)}",
    "after thinking, before more": lambda source: f"<think>a</think>{fence(source)}<think>so this {fence('def f(')}",
    "among others": lambda source: f"{fence('pip install triton', 'bash')}\n{fence(source)}\n{fence('tensor(1)', '')}",
    "before its usage": lambda source: f"{fence(source)}\nUse it:\n{fence('import torch' + chr(10) + 'f(x)')}",
    "after a broken one": lambda source: f"{fence('@triton.jit' + chr(10) + 'def f(:')}\nNo:\n{fence(source)}",
}  # fmt: skip


@pytest.mark.parametrize("wrap", WRAPS)
@settings(max_examples=15, deadline=None)
@given(PROGRAMS)
def test_a_program_comes_back_as_it_was(wrap: str, source: str) -> None:
    assert code_of(WRAPS[wrap](source)) == source


@pytest.mark.parametrize("wrap", ["python", "unclosed", "JSON", "JSON in a fence", "after thinking", "bare"])
@settings(max_examples=15, deadline=None)
@given(PROGRAMS)
def test_a_fence_in_its_docstring_does_not_cut_it(wrap: str, source: str) -> None:
    source = f'"""Use it so:\n\n```python\nf(x)\n```\n"""\n{source}'
    wraps = {**WRAPS, "python": fence}
    assert code_of(wraps[wrap](source)) == source


MARKS = [
    "```",
    "```python\n",
    "````",
    "~~~",
    "<think>",
    "</think>",
    "<thinking>",
    '{"code": "',
    '"}',
    "{",
    "}",
    "\\u12",
]
PYTHON = ["def f(", "def f(x):\n    pass\n", "import x\n", "@triton.jit\n", "    ", '"""', "\n", "\n\n"]
ODD = ["(" * 300, "{" * 3000, "[" * 3000, "\x00", "\ud800", "\r"]
PIECES = st.lists(st.one_of(st.text(max_size=30), *map(st.sampled_from, (MARKS, PYTHON, ODD))), max_size=25).map(
    "".join
)


@settings(max_examples=300, deadline=None)
@given(PIECES)
def test_no_text_makes_it_raise_and_what_was_found_is_found_again(text: str) -> None:
    code = code_of(text)
    assert code is None or (code.strip() and code.endswith("\n"))
    assert "`" not in prose_of(text) and "\n" not in prose_of(text)
    if code is not None and not any(mark in code for mark in ("```", "~~~", "think")):
        assert code_of(fence(code)) == code


@settings(max_examples=60, deadline=None)
@given(PROGRAMS, st.data())
def test_what_a_cut_reply_holds_is_the_beginning_of_its_program_or_nothing(source: str, data: st.DataObject) -> None:
    reply = f"<think>Rows.</think>Here:\n\n```python\n{source}```\n"
    cut = data.draw(st.integers(0, len(reply)))
    code = code_of(reply[:cut])
    assert code is None or source.startswith(code.rstrip("\n").rstrip("`"))
