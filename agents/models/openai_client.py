"""The client for OpenAI and every server that speaks its protocol (vLLM, SGLang, Ollama, llama.cpp), by its SDK."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from agents.extract import code_of
from agents.protocol import ModelError, Reply, Request, Usage
from tasks.errors import UserError

if TYPE_CHECKING:
    import openai
    import tenacity

KEY = "OPENAI_API_KEY"
TRIES = 6
TIMEOUT_S = 600.0
LONGEST_WAIT_S = 60.0
# no prompt would be answered: the key, the account or the model's name is wrong
REFUSED = (401, 402, 403, 404)
PASSING = (408, 409, 429)

log = logging.getLogger(__name__)


class Refused(ModelError, UserError):
    """The provider would refuse every request alike: a wrong key, model or address, or an empty account."""


class OpenAIClient:
    """Chat completions of one model. Used from several threads."""

    simulated = False

    def __init__(self, model: str, base_url: str | None = None, *, first_wait_s: float = 1.0) -> None:
        """`first_wait_s` is where the waits between tries begin; they double, with a random part.

        Raises UserError when there is no key in the environment and no server of one's own is named.
        """
        import openai

        self.name = f"openai/{model}"
        self._model = model
        self._first_wait_s = first_wait_s
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get(KEY)
        if not key and not base_url:
            raise UserError(f"{self.name} needs {KEY} in the environment, or --base-url for a server that wants no key")
        self._client = openai.OpenAI(api_key=key or "none", base_url=base_url, timeout=TIMEOUT_S, max_retries=0)

    def complete(self, request: Request) -> Reply:
        """One reply. Rate limits, server errors and broken connections are tried again, with a warning each time.

        Raises ModelError when it stays that way or the answer is no completion; Refused when no request would fare
        better.
        """
        import openai
        import tenacity

        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(TRIES),
            wait=self._wait_s,
            retry=tenacity.retry_if_exception(_passes),
            before_sleep=self._warn,
            reraise=True,
        )
        try:
            completion = retrying(self._create, request)
        except openai.APIStatusError as error:
            kind = Refused if error.status_code in REFUSED or _account_empty(error) else ModelError
            raise kind(f"{self.name}: {error.status_code} {_line(error)}") from error
        except (openai.OpenAIError, ValueError) as error:  # ValueError: a body that is no JSON
            raise ModelError(f"{self.name}: {type(error).__name__}: {_line(error)}") from error
        return self._reply(completion)

    def _create(self, request: Request) -> Any:
        messages: Any = [{"role": message.role, "content": message.content} for message in request.messages]
        # through extra_body the parameters that only some servers know, such as top_k, get through too
        return self._client.chat.completions.create(
            model=self._model, messages=messages, extra_body=dict(request.params)
        )

    def _reply(self, completion: Any) -> Reply:
        # some servers answer a failure with status 200 and no choices: not an empty program of the model's
        choices = getattr(completion, "choices", None)
        if not choices:
            raise ModelError(f"{self.name}: the server sent no completion: {str(completion)[:200]}")
        text = choices[0].message.content or ""
        return Reply(text, code_of(text), choices[0].finish_reason, _usage(completion.usage))

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        import tenacity

        jittered = tenacity.wait_random_exponential(multiplier=self._first_wait_s, max=LONGEST_WAIT_S)(state)
        return max(jittered, _asked_to_wait_s(state))

    def _warn(self, state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        wait_s = state.next_action.sleep if state.next_action else 0.0
        log.warning("%s: %s; try %d of %d in %.0f s", self.name, _line(error), state.attempt_number + 1, TRIES, wait_s)


def _passes(error: BaseException) -> bool:
    """Whether trying again can help."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return (error.status_code in PASSING or error.status_code >= 500) and not _account_empty(error)
    return isinstance(error, openai.APIConnectionError)


def _account_empty(error: openai.APIStatusError) -> bool:
    return error.code == "insufficient_quota"


def _asked_to_wait_s(state: tenacity.RetryCallState) -> float:
    """What the server's Retry-After header asks for, within bounds; 0 without one."""
    response = getattr(state.outcome.exception() if state.outcome else None, "response", None)
    try:
        return min(float(response.headers["retry-after"]), LONGEST_WAIT_S) if response is not None else 0.0
    except (KeyError, ValueError):
        return 0.0


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


def _line(error: BaseException | None) -> str:
    return " ".join(str(error).split())[:300]
