"""Keys: read from the environment, and kept out of everything that is printed or written down."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
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

# parameters that hold a key by their name; max_tokens and logit_bias are none
PARAMETERS = re.compile(
    r"api_?key|authorization|secret|password|credential|access_key|headers$|(^|auth_|access_|bearer_|ad_|session_)token$"
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


def checked_url(url: str | None) -> str | None:
    """The root of a server, which is stored and shown. Raises UserError, without the URL, for one that may hold a key
    or that no path can be put behind."""
    if url is None:
        return None
    if not url.startswith(("http://", "https://")):
        raise UserError("--base-url must begin with http:// or https://")
    if "@" in url:
        raise UserError("--base-url must hold no password, since run.json keeps it; a key goes into OPENAI_API_KEY")
    if "?" in url or "#" in url:
        raise UserError("--base-url must hold no ? or #, since run.json keeps it; a key goes into OPENAI_API_KEY")
    return url


def checked_params(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Sampling parameters, which are stored. Raises UserError, without the value, where one is named like a key."""
    for name, value in params.items():
        if PARAMETERS.search(name.lower().replace("-", "_")):
            raise UserError(f"-p {name} is refused, since run.json keeps it; a key goes into the environment")
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Mapping):
                checked_params(part)
    return params


def scrubbed(text: str, keys: Iterable[str | None]) -> str:
    """`text` without `keys`, as they are and as in a URL, and without anything that has the shape of a key."""
    forms = {form for key in keys if key and len(key) >= SHORTEST for form in (key, quote(key, safe=""))}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return SHAPES.sub(HIDDEN, text)
