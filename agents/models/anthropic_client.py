"""The client for Anthropic's models, by its SDK, with the constant part of a conversation kept in its cache."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from agents.models.client import FIRST_WAIT_S, TIMEOUT_S, Answer, Client, missing
from agents.models.quirks import finish_of, split_system, text_of
from agents.models.retrying import NoCompletion
from agents.models.secrets import key_from
from agents.protocol import Message, Usage
from tasks.errors import UserError

KEY = "ANTHROPIC_API_KEY"
CACHED = {"cache_control": {"type": "ephemeral"}}


class AnthropicClient(Client):
    """Messages of one model. Used from several threads."""

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
            import anthropic
        except ImportError:
            raise missing("anthropic") from None

        name = f"anthropic/{model}"
        base_url = base_url or os.environ.get("ANTHROPIC_BASE_URL") or None
        key = key_from(KEY)
        if not key and not base_url:
            raise UserError(f"{name} needs {KEY} in the environment, or --base-url for a server that wants no key")
        super().__init__(name, model, key, (anthropic.AnthropicError,), first_wait_s)
        self._model = model
        self._client = anthropic.Anthropic(api_key=key or "none", base_url=base_url, timeout=timeout_s, max_retries=0)

    def _ask(self, messages: Sequence[Message], params: Mapping[str, Any]) -> Answer:
        body = body_of(messages, params)
        known = {name: body.pop(name) for name in ("max_tokens", "messages")}
        return _answer(self._client.messages.create(model=self._model, **known, extra_body=body))


def body_of(messages: Sequence[Message], params: Mapping[str, Any]) -> dict[str, Any]:
    """The request in Anthropic's form: what the system says apart, OpenAI's `stop` by its other name, and marks at the
    ends of what later requests repeat: the system's text, and the first message of a conversation that goes on."""
    system, rest = split_system(messages)
    body = {name: value for name, value in params.items() if name not in ("stop", "max_completion_tokens")}
    body["max_tokens"] = params.get("max_tokens", params.get("max_completion_tokens"))
    if "stop" in params:
        body["stop_sequences"] = [params["stop"]] if isinstance(params["stop"], str) else params["stop"]
    if system:
        body["system"] = [{"type": "text", "text": system, **CACHED}]
    # an empty message is refused: a reply of no words, which the conversation can do without
    turns = [message for message in rest if message.content.strip()]
    body["messages"] = [{"role": turn.role, "content": turn.content} for turn in turns]
    if len(turns) > 1:
        body["messages"][0]["content"] = [{"type": "text", "text": turns[0].content, **CACHED}]
    return body


def _answer(message: Any) -> Answer:
    content, reason = getattr(message, "content", None), getattr(message, "stop_reason", None)
    if not isinstance(content, list) or (not content and reason is None):
        raise NoCompletion(f"the server sent no completion: {message}")
    return Answer(text_of(content), finish_of(reason), _usage(getattr(message, "usage", None)))


def _usage(usage: Any) -> Usage:
    """Token counts. Anthropic counts what goes into the cache or comes out of it apart from the other input."""
    fresh = getattr(usage, "input_tokens", None)
    written, read = (getattr(usage, f"cache_{what}_input_tokens", None) for what in ("creation", "read"))
    details = getattr(usage, "output_tokens_details", None)
    return Usage(
        input_tokens=None if fresh is None else fresh + (written or 0) + (read or 0),
        cached_tokens=read,
        output_tokens=getattr(usage, "output_tokens", None),
        reasoning_tokens=getattr(details, "thinking_tokens", None),
    )
