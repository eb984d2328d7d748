"""Model clients, found by name. Importing this imports none of them."""

from __future__ import annotations

from agents.protocol import Model
from tasks.errors import UserError, unknown

APPRENTICE = "offline/apprentice"
LATER = ("anthropic", "litellm", "local", "replay")


def load_model(name: str, *, seed: int, base_url: str | None = None) -> Model:
    """The client for `offline/apprentice` or `openai/<name>`.

    `seed` fixes what the apprentice draws; `base_url` is the root of any OpenAI-compatible server. Raises UserError
    for a name that nobody has, and for a key that is missing.
    """
    family, _, rest = name.partition("/")
    if family in LATER:
        raise UserError(
            f"{family}/ is not built yet; any OpenAI-compatible endpoint works: openai/<name> --base-url URL"
        )
    if name == APPRENTICE:
        if base_url:
            raise UserError(f"{APPRENTICE} asks no server, so --base-url makes no sense with it")
        from agents.models.apprentice import Apprentice

        return Apprentice(seed)
    if family == "openai" and rest:
        from agents.models.openai_client import OpenAIClient

        return OpenAIClient(rest, base_url)
    raise unknown("model", name, [APPRENTICE, "openai/<name>"])
