"""The client for every other provider, through litellm: `litellm/<provider>/<model>`."""

from __future__ import annotations

import os
from typing import Any

from agents.models.client import FIRST_WAIT_S, TIMEOUT_S, Answer, Client, missing
from agents.models.openai_client import chat_answer, turns_of
from agents.protocol import Request
from tasks.errors import UserError


class LiteLLMClient(Client):
    """Chat completions of one model of any provider that litellm knows. Used from several threads."""

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        first_wait_s: float = FIRST_WAIT_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """`model` is `<provider>/<name>`. Raises UserError for a provider that litellm doesn't know, and when the one
        key that it wants is not in the environment and no server of one's own is named."""
        litellm = quiet_litellm()
        import openai

        name = f"litellm/{model}"
        try:
            litellm.get_llm_provider(model)
        except openai.OpenAIError:
            raise UserError(
                f"{name}: litellm knows no such provider; write litellm/<provider>/<model>, as in litellm/groq/llama-3"
            ) from None
        super().__init__(name, model, None, (openai.OpenAIError,), first_wait_s)
        self._given = _address(litellm, name, model, base_url)
        self._completion = litellm.completion
        self._model = model
        self._timeout_s = timeout_s

    def _ask(self, request: Request) -> Answer:
        return chat_answer(
            self._completion(
                model=self._model,
                messages=turns_of(request.messages),
                timeout=self._timeout_s,
                num_retries=0,
                max_retries=0,
                **self._given,
                **request.params,
            )
        )


def quiet_litellm() -> Any:
    """The package, without its prints, telemetry and callbacks, and with the price table that it was installed with
    in the place of a download. Raises UserError when it is missing."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOG", "ERROR")
    try:
        import litellm
    except ImportError:
        raise missing("litellm") from None
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.success_callback, litellm.failure_callback = [], []
    return litellm


def _address(litellm: Any, name: str, model: str, base_url: str | None) -> dict[str, str]:
    """Where to ask, when that is a server of one's own, with an invented key if the environment has none. litellm takes
    all else from the environment; here only the case of one missing key is told before anything is asked."""
    lacking = litellm.validate_environment(model)["missing_keys"]
    keyless = len(lacking) == 1 and lacking[0].endswith("_API_KEY")
    if base_url:
        return {"api_base": base_url, **({"api_key": "none"} if keyless else {})}
    if keyless:
        raise UserError(f"{name} needs {lacking[0]} in the environment, or --base-url for a server of your own")
    return {}
