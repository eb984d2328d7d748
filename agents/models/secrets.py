"""Keys: read from the environment, and kept out of everything that is printed or written down."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from tasks.errors import UserError

HIDDEN = "[key]"
# shorter ones are words like "none" and "EMPTY", which servers without keys are given
SHORTEST = 6
NAMES = re.compile(r"(_|^)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$", re.IGNORECASE)
# known by their prefix, also half masked; or by what stands before them
SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|pplx|nvapi|r8|ghp|fw|csk|tgp)[-_](?=\S*[\d*…])[\w*.…-]{8,}"
    r"|\bAIza[\w*-]{10,}"
    r"|(?<=\bBearer )[^\s'\",]+"
    r"|(?<=[?&]key=)[^\s&'\"]+",
    re.IGNORECASE,
)


def key_from(variable: str) -> str | None:
    """The key in an environment variable, without space around it; None when there is none. Raises UserError for what
    can't be sent as one."""
    key = os.environ.get(variable, "").strip()
    if not all("!" <= character <= "~" for character in key):
        raise UserError(f"{variable} holds a space or a character that no key has; was more than the key copied?")
    return key or None


def keys_of(environment: Mapping[str, str]) -> set[str]:
    """The values of all variables that are named like a secret (`OPENAI_API_KEY`, `HF_TOKEN`)."""
    return {value.strip() for name, value in environment.items() if NAMES.search(name)}


def scrubbed(text: str, keys: Iterable[str | None]) -> str:
    """`text` without `keys`, as they are and as in a URL, and without anything that has the shape of a key."""
    forms = {form for key in keys if key and len(key) >= SHORTEST for form in (key, quote(key, safe=""))}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return SHAPES.sub(HIDDEN, text)
