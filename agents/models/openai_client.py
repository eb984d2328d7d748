"""The client for OpenAI and every server that speaks its protocol (vLLM, SGLang, Ollama, llama.cpp), by its SDK."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from agents.models.client import FIRST_WAIT_S, TIMEOUT_S, Answer, Client, missing
from agents.models.quirks import finish_of, text_of
from agents.models.retrying import no_completion
from agents.models.secrets import key_from
from agents.protocol import Message, Request, Usage
from tasks.errors import UserError

KEY = "OPENAI_API_KEY"


class OpenAIClient(Client):
    """Chat completions of one model. Used from several threads."""

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        first_wait_s: float = FIRST_WAIT_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Raises UserError when there is no key in the environment and no server of one's own is named."""
        try:
            import openai
        except ImportError:
            raise missing("openai") from None

        name = f"openai/{model}"
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = key_from(KEY)
        if not key and not base_url:
            raise UserError(f"{name} needs {KEY} in the environment, or --base-url for a server that wants no key")
        super().__init__(name, model, key, (openai.OpenAIError,), first_wait_s)
        self._model = model
        self._client = openai.OpenAI(api_key=key or "none", base_url=base_url, timeout=timeout_s, max_retries=0)

    def _ask(self, request: Request) -> Answer:
        turns: Any = turns_of(request.messages)
        # through extra_body the parameters that only some servers know, such as top_k, get through too
        params = dict(request.params)
        return chat_answer(self._client.chat.completions.create(model=self._model, messages=turns, extra_body=params))


def turns_of(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def chat_answer(completion: Any) -> Answer:
    """The first choice of a chat completion. Raises NoCompletion when there is none: some servers answer a failure
    with status 200."""
    choices: Any = getattr(completion, "choices", None)
    message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
    if message is None:
        raise no_completion(completion)
    usage = _usage(getattr(completion, "usage", None))
    return Answer(text_of(message.content), finish_of(choices[0].finish_reason), usage)


def _usage(usage: Any) -> Usage:
    """Token counts as far as the server gives them; the price is not among them."""
    prompt_details = getattr(usage, "prompt_tokens_details", None)
    completion_details = getattr(usage, "completion_tokens_details", None)
    return Usage(
        input_tokens=getattr(usage, "prompt_tokens", None),
        cached_tokens=getattr(prompt_details, "cached_tokens", None),
        output_tokens=getattr(usage, "completion_tokens", None),
        reasoning_tokens=getattr(completion_details, "reasoning_tokens", None),
    )
