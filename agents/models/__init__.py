"""Model clients, found by name. Importing this imports none of them."""

from __future__ import annotations

from pathlib import Path

from agents.protocol import Model
from tasks.errors import UserError, unknown

APPRENTICE = "offline/apprentice"
# those that answer on this machine, without a server to name
AT_HOME = ("offline", "local", "replay")
FORMS = (
    APPRENTICE,
    "openai/<name>",
    "anthropic/<name>",
    "litellm/<provider>/<name>",
    "local/smollm2",
    "replay/<run>",
)


def load_model(name: str, *, seed: int, base_url: str | None = None) -> Model:
    """The client for a name of one of the `FORMS`.

    `seed` fixes what the apprentice draws; `base_url` is the root of the server to ask in the place of the provider's
    own. Raises UserError for a name that nobody has, and for a key or a package that is missing.
    """
    family, _, rest = name.partition("/")
    if not rest or family not in {form.partition("/")[0] for form in FORMS}:
        raise unknown("model", name, FORMS)
    if family in AT_HOME:
        if base_url:
            raise UserError(f"{name} asks no server, so --base-url makes no sense with it")
        return _at_home(name, family, rest, seed)
    if family == "openai":
        from agents.models.openai_client import OpenAIClient

        return OpenAIClient(rest, base_url)
    if family == "anthropic":
        from agents.models.anthropic_client import AnthropicClient

        return AnthropicClient(rest, base_url)
    from agents.models.litellm_client import LiteLLMClient

    return LiteLLMClient(rest, base_url)


def _at_home(name: str, family: str, rest: str, seed: int) -> Model:
    if name == APPRENTICE:
        from agents.models.apprentice import Apprentice

        return Apprentice(seed)
    if family == "local":
        from agents.models.local import LocalModel

        return LocalModel(rest)
    if family == "replay":
        from agents.models.replayed import ReplayedModel

        return ReplayedModel(Path(rest))
    raise unknown("model", name, FORMS)
