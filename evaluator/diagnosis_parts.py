"""A diagnosis in parts, made to fit: what helps least goes first, and a long text loses its middle, never its tail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

CHARACTERS_MAX = 4000
LEAST = 40  # characters that a part is not cut below
GAP = "\n[...]\n"
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]|\x1b\[[0-9;]*[A-Za-z]")
FOLDER = re.compile(r"(/[\w.\-]+)+/(?=candidate\.py)")
ORIGIN = re.compile(r" \((?:/[^()\n]*|unknown location)\)")  # of a module that an import looked into
PATH = re.compile(r"(?<![\w.)\]])(?:/[\w.+\-]+){2,}/(?=[\w\-]+\.\w+)")


@dataclass(frozen=True)
class Part:
    """Some lines of a diagnosis. Where there is no room, parts with the highest `rank` are left out first; those of
    rank 0 stay, and lose their middle at most."""

    text: str
    rank: int = 0


def fitted(parts: Sequence[Part], characters: int = CHARACTERS_MAX) -> str:
    """The parts as one text of at most `characters`, without control characters, addresses and folders."""
    kept = [replace(part, text=clean(part.text)) for part in parts if part.text]
    while _length(kept) > characters and any(part.rank for part in kept):
        last = max(range(len(kept)), key=lambda i: (kept[i].rank, i))
        del kept[last]
    while (excess := _length(kept) - characters) > 0:
        longest = max(range(len(kept)), key=lambda i: len(kept[i].text))
        if len(kept[longest].text) <= LEAST:
            return shortened(_joined(kept), characters)
        room = max(LEAST, len(kept[longest].text) - excess)
        kept[longest] = replace(kept[longest], text=shortened(kept[longest].text, room))
    return _joined(kept)


def shortened(text: str, characters: int) -> str:
    """Head and tail of a text that is too long, the tail twice as long as the head: it tells what went wrong."""
    if len(text) <= characters:
        return text
    room = max(0, characters - len(GAP))
    head = room // 3
    return f"{text[:head]}{GAP}{text[len(text) - (room - head) :]}"[-characters:]


def clean(text: str) -> str:
    """Without control characters, addresses and folders."""
    return FOLDER.sub("", ADDRESS.sub("0x...", CONTROL.sub("", text)))


def without_paths(text: str) -> str:
    """A message or a log without where this machine keeps its files: names of files stay."""
    return PATH.sub("", ORIGIN.sub("", text))


def _joined(parts: Sequence[Part]) -> str:
    return "\n".join(part.text for part in parts)


def _length(parts: Sequence[Part]) -> int:
    return sum(len(part.text) + 1 for part in parts) - 1
