"""Taking Python source out of a model's reply: the one place where that is done."""

from __future__ import annotations

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
MAX_CUTS = 60
MAX_FENCE_LINE = 400


@dataclass(frozen=True)
class Block:
    """A fenced block: the tag in lower case, and the text between its fences."""

    tag: str
    text: str


def code_of(text: str) -> str | None:
    """The Python source in a reply, ended by one newline; None when there is none. Never raises.

    Thinking between tags is not read. Of several fenced blocks, one with a `@triton.jit` kernel comes first, then one
    that parses, then the longest, then the last. A fence that never closes runs to the end. Without fences, a JSON
    object with "code", or the lines from the first statement on. A block that is meant as Python is given back
    even if it does not parse, so that the author hears of the syntax error.
    """
    text = _spoken(text)
    blocks = list(_blocks(text))
    for whole in (text, *(block.text for block in blocks if block.tag in ("", "json"))):
        code = _json_code(whole)
        if code is not None:
            return code_of(code) if "```" in code else _clean(code) if code.strip() else None
    sources = [_clean(block.text) for block in blocks if _is_python(block)]
    if blocks and not any(map(_parses, sources)):
        sources += [_clean(wide) for wide in _widest(text) if _parses(wide)]
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
    """The text without thinking, with Unix line ends. A closing tag alone ends thinking that the server opened."""
    text = THINKING.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
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
    found = OPENING.match(line) if len(line) <= MAX_FENCE_LINE else None
    if found and found["lead"] and found["tag"].lower() not in PYTHON_TAGS - {""}:
        return None
    return found


def _closes(line: str, ticks: str) -> bool:
    line = line.strip()
    return len(line) >= len(ticks) and line == ticks[0] * len(line)


def _widest(text: str) -> Iterator[str]:
    """From the first fence to the last: a source that itself holds a fence, in a docstring for example."""
    lines = text.split("\n")
    fences = [i for i, line in enumerate(lines) if _opening(line)]
    if len(fences) > 2:
        yield "\n".join(lines[fences[0] + 1 : fences[-1]])


def _json_code(text: str) -> str | None:
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        data = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    code = data.get("code")
    return code if isinstance(code, str) else None


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
        if _parses(rest):
            return [_clean(rest)] if FUNCTION.search(rest) else []
        rest, gap, closing = rest.rstrip().rpartition("\n\n")
        if not gap or any(STATEMENT.match(line) or line[:1].isspace() for line in closing.split("\n")):
            break
    return [source] if "@triton.jit" in source and FUNCTION.search(source) else []


def _worth(source: str) -> tuple[bool, bool, int]:
    return "@triton.jit" in source, _parses(source), len(source)


def _parses(source: str) -> bool:
    try:
        parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _clean(source: str) -> str:
    return source.strip("\n").rstrip() + "\n"
