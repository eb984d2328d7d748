"""The client for Anthropic's models, by its SDK, with the constant part of a conversation kept in its cache."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from itertools import takewhile
from typing import Any

from agents.models.client import FIRST_WAIT_S, TIMEOUT_S, Answer, Client, missing
from agents.models.quirks import finish_of, split_system, text_of
from agents.models.retrying import no_completion
from agents.models.secrets import key_from
from agents.protocol import Request, Usage
from tasks.errors import UserError

KEY = "ANTHROPIC_API_KEY"
CACHED = {"cache_control": {"type": "ephemeral"}}
# characters: what Anthropic takes into its cache has at least 1,024 tokens, for some models more
LEAST_HEAD = 4000


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
        self._heads = Heads()
        self._client = anthropic.Anthropic(api_key=key or "none", base_url=base_url, timeout=timeout_s, max_retries=0)

    def _ask(self, request: Request) -> Answer:
        body = body_of(request, self._heads)
        known = {name: body.pop(name) for name in ("max_tokens", "messages")}
        return _answer(self._client.messages.create(model=self._model, **known, extra_body=body))


class Heads:
    """What the prompts of a task begin with, found by comparing them. Used from several threads.

    A prompt that begins otherwise than all before it is kept as another head, and leaves those as they are.
    """

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = defaultdict(list)
        self._lock = threading.Lock()

    def of(self, task: str, prompt: str) -> str:
        """The longest head that `prompt` has in common with those before it; none if that is short."""
        with self._lock:
            known = self._known[task]
            shared = [shared_head(head, prompt) for head in known]
            longest = max(shared, key=len, default="")
            if len(longest) < LEAST_HEAD:
                known.append(prompt)
                return ""
            known[shared.index(longest)] = longest
            return longest


def shared_head(one: str, other: str) -> str:
    """The whole lines that both begin with."""
    lines = zip(one.splitlines(keepends=True), other.splitlines(keepends=True), strict=False)
    return "".join(line for line, _ in takewhile(lambda pair: pair[0] == pair[1], lines))


def marked(text: str, head: str) -> str | list[dict[str, Any]]:
    """A message's content with a mark at the end of `head`; as it is where that is empty."""
    if not head:
        return text
    if not text[len(head) :].strip():  # a block of nothing but space is refused
        return [{"type": "text", "text": text, **CACHED}]
    return [{"type": "text", "text": head, **CACHED}, {"type": "text", "text": text[len(head) :]}]


def body_of(request: Request, heads: Heads) -> dict[str, Any]:
    """The request in Anthropic's form: what the system says apart, OpenAI's `stop` by its other name, and marks at the
    ends of what later requests repeat: the system's text, the first message of a conversation that goes on, the head
    of a prompt that stands alone."""
    params = request.params
    system, rest = split_system(request.messages)
    body = {name: value for name, value in params.items() if name not in ("stop", "max_completion_tokens")}
    body["max_tokens"] = params.get("max_tokens", params.get("max_completion_tokens"))
    if "stop" in params:
        body["stop_sequences"] = [params["stop"]] if isinstance(params["stop"], str) else params["stop"]
    if system:
        body["system"] = [{"type": "text", "text": system, **CACHED}]
    # an empty message is refused: a reply of no words, which the conversation can do without
    turns = [message for message in rest if message.content.strip()]
    body["messages"] = [{"role": turn.role, "content": turn.content} for turn in turns]
    if turns:
        first = turns[0].content
        head = first if len(turns) > 1 else heads.of(request.task, first)
        body["messages"][0]["content"] = marked(first, head)
    return body


def _answer(message: Any) -> Answer:
    content, reason = getattr(message, "content", None), getattr(message, "stop_reason", None)
    if not isinstance(content, list) or (not content and reason is None):
        raise no_completion(message)
    return Answer(text_of(content), finish_of(reason), _usage(getattr(message, "usage", None)))


def _usage(usage: Any) -> Usage:
    """Token counts. Anthropic counts what goes into the cache or comes out of it apart from the other input."""
    fresh = getattr(usage, "input_tokens", None)
    written, read = (getattr(usage, f"cache_{what}_input_tokens", None) for what in ("creation", "read"))
    details = getattr(usage, "output_tokens_details", None)
    counts: tuple[Any, ...] = (fresh, written or 0, read or 0)
    known = all(type(count) is int and count >= 0 for count in counts)
    return Usage(
        input_tokens=sum(counts) if known else None,
        cached_tokens=read,
        output_tokens=getattr(usage, "output_tokens", None),
        reasoning_tokens=getattr(details, "thinking_tokens", None),
        written_tokens=written,
    )
