"""Taking Python source out of a model's reply: the one place where that is done."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tasks.parsing import parse

PYTHON_TAGS = {"", "python", "py", "python3", "triton"}
THINKING = re.compile(r"<(think|thinking)>.*?(</\1>|\Z)", re.DOTALL)
OPENING = re.compile(r"^(?P<indent>[ \t]*)(?P<lead>.*?)(?P<ticks>`{3,}|~{3,})[ \t]*(?P<tag>[\w+.#-]*)[^`\n]*$")
FUNCTION = re.compile(r"^[ \t]*def \w+ ?\(", re.MULTILINE)
STATEMENT = re.compile(r"^(import [\w.]+|from [\w.]+ import |@[\w.]+|def \w+ ?\(|class \w+ ?[(:])")
OBJECT = re.compile(r"^[ \t]*\{", re.MULTILINE)
NO_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
MAX_CUTS = 60
MAX_OBJECTS = 20
MAX_FENCE_LINE = 400
JSON = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class Block:
    """A fenced block: the tag in lower case, and the text between its fences."""

    tag: str
    text: str


def code_of(text: str) -> str | None:
    """The Python source in a reply, ended by one newline; None when there is none. Never raises.

    A reply that is a program as a whole is that program. Else thinking between tags is not read. Of several fenced
    blocks, one with a `@triton.jit` kernel comes first, then one that parses, then the longest, then the last. A fence
    that never closes runs to the end. Without fences, a JSON object with "code", or the lines from the first statement
    on. A block that is meant as Python is given back even if it does not parse, so that the author hears of the
    syntax error.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    spoken = _spoken(text)
    for whole in (text, spoken):
        if _is_file(whole):
            return _clean(whole)
    return _found_in(spoken)


def _found_in(text: str) -> str | None:
    """`code_of` for a text that is more than a program."""
    blocks = list(_blocks(text))
    for part in (*(block.text for block in blocks if block.tag in ("", "json")), text):
        code = _json_code(part)
        if code is not None:
            return code_of(code) if "```" in code else _clean(code) if code.strip() else None
    sources = [_clean(block.text) for block in blocks if _is_python(block)]
    sources += [_clean(wide) for wide in _widest(text) if _is_file(wide)]
    if not sources and not blocks:
        sources = _unfenced(text)
    if not sources:
        return None
    return max(enumerate(sources), key=lambda item: (*_worth(item[1]), item[0]))[1]


def prose_of(text: str, limit: int = 300) -> str:
    """What a reply says besides its code, on one line of at most `limit` characters and without backticks."""
    lines, fence = [], None
    for line in _spoken(text).split("\n"):
        if fence is None:
            opening = _opening(line)
            fence = opening["ticks"] if opening else None
            lines.append(opening["lead"] if opening else line)
        elif _closes(line, fence):
            fence = None
    said = " ".join(" ".join(lines).replace("`", "").split())
    return said if len(said) <= limit else said[: limit - 3].rstrip() + "..."


def _spoken(text: str) -> str:
    """The text without thinking. A closing tag alone ends thinking that the server opened."""
    text = THINKING.sub("", text)
    for tag in ("</think>", "</thinking>"):
        text = text.rpartition(tag)[2]
    return text


def _blocks(text: str) -> Iterator[Block]:
    opening, body = None, list[str]()
    for line in text.split("\n"):
        if opening is None:
            opening, body = _opening(line), []
        elif _closes(line, opening["ticks"]):
            yield Block(opening["tag"].lower(), "\n".join(body))
            opening = None
        else:
            body.append(line.removeprefix(opening["indent"]))
    if opening is not None:
        yield Block(opening["tag"].lower(), "\n".join(body))


def _opening(line: str) -> re.Match[str] | None:
    """A line that opens a fence; after other words only if it names Python ("Here it is: ```python")."""
    if ("```" not in line and "~~~" not in line) or len(line) > MAX_FENCE_LINE:
        return None
    found = OPENING.match(line)
    if found and found["lead"] and found["tag"].lower() not in PYTHON_TAGS - {""}:
        return None
    return found


def _closes(line: str, ticks: str) -> bool:
    line = line.strip()
    return len(line) >= len(ticks) and line == ticks[0] * len(line)


def _widest(text: str) -> Iterator[str]:
    """From the first fence to the last or the end: a source that itself holds fences, in a docstring for example."""
    lines = text.split("\n")
    fences = [i for i, line in enumerate(lines) if _opening(line)]
    if len(fences) > 2:
        yield "\n".join(lines[fences[0] + 1 : fences[-1]])
        yield "\n".join(lines[fences[0] + 1 :])


def _json_code(text: str) -> str | None:
    """The "code" of the first JSON object that begins a line and has one."""
    for _, begin in zip(range(MAX_OBJECTS), OBJECT.finditer(text), strict=False):
        try:
            data, _ = JSON.raw_decode(text, begin.end() - 1)
        except (ValueError, RecursionError):
            continue
        if isinstance(data.get("code"), str):
            return str(data["code"])
    return None


def _is_python(block: Block) -> bool:
    if not block.text.strip():
        return False
    if block.tag in PYTHON_TAGS - {""}:
        return True
    looks = any(STATEMENT.match(line) for line in block.text.split("\n"))
    return looks and (block.tag == "" or _parses(block.text))


def _unfenced(text: str) -> list[str]:
    """The lines from the first statement on, less closing paragraphs of prose that keep them from parsing."""
    lines = text.split("\n")
    start = next((i for i, line in enumerate(lines) if STATEMENT.match(line)), None)
    if start is None:
        return []
    source = rest = _clean("\n".join(lines[start:]))
    for _ in range(MAX_CUTS):
        if _is_file(rest):
            return [_clean(rest)]
        rest, gap, closing = rest.rstrip().rpartition("\n\n")
        if not gap or any(STATEMENT.match(line) or line[:1].isspace() for line in closing.split("\n")):
            break
    return [source] if "@triton.jit" in source and FUNCTION.search(source) else []


def _is_file(text: str) -> bool:
    """Whether it parses and defines a function, and no lone word of prose happens to be an expression."""
    if not FUNCTION.search(text):
        return False
    try:
        tree = parse(text)
    except NO_PYTHON:
        return False
    return not any(isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) for node in tree.body)


def _worth(source: str) -> tuple[bool, bool, int]:
    return "@triton.jit" in source, _parses(source), len(source)


def _parses(source: str) -> bool:
    try:
        parse(source)
    except NO_PYTHON:
        return False
    return True


def _clean(source: str) -> str:
    return source.strip("\n").rstrip() + "\n"
