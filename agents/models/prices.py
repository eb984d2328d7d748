"""What a request costs: by `--price`, or by the table of prices that the litellm package carries. Unknown is None."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agents.protocol import Usage

TABLE = "model_prices_and_context_window_backup.json"
MILLION = 1_000_000
# the hosts whose prices the table has; at any other address the same name may cost something else, or nothing
HOSTS = {"openai": ("OPENAI_BASE_URL", "api.openai.com"), "anthropic": ("ANTHROPIC_BASE_URL", "api.anthropic.com")}


@dataclass(frozen=True)
class Price:
    """USD for a million tokens: of input that is new to the provider, of input from its cache, of output, and of input
    that it puts into its cache (None: as new input)."""

    input: float
    cached: float
    output: float
    written: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """USD of one request; None where its tokens are unknown. Cached and written tokens are part of the input; where
        nothing is said of them there are none."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.input_tokens)
        written = min(usage.written_tokens or 0, usage.input_tokens - cached)
        new = usage.input_tokens - cached - written
        read = new * self.input + cached * self.cached + written * self._written
        return (read + usage.output_tokens * self.output) / MILLION

    def most(self, input_tokens: int, output_tokens: int) -> float:
        """USD that so many tokens cost at most, whatever the cache does."""
        dearest = max(self.input, self.cached, self._written)
        return (input_tokens * dearest + output_tokens * self.output) / MILLION

    def __str__(self) -> str:
        written = "" if self.written is None else f"${self.written:g} put into the cache, "
        return f"${self.input:g} in, ${self.cached:g} cached, {written}${self.output:g} out for a million tokens"

    @property
    def _written(self) -> float:
        return self.input if self.written is None else self.written


def price_of(model: str, base_url: str | None = None, given: Sequence[float] | None = None) -> Price | None:
    """The price of a model by its name in a run, such as `openai/gpt-5-mini`; None where nobody says.

    `given` is (input, output) or (input, cached, output) in USD for a million tokens, and comes before the table. A
    server of one's own has no price, nor has a model for which the table says 0.
    """
    if given is not None:
        return Price(given[0], given[1] if len(given) == 3 else given[0], given[-1])
    family, _, name = model.partition("/")
    if family not in ("openai", "anthropic", "litellm") or _elsewhere(family, base_url):
        return None
    entry = _entry(family, name)
    return None if entry is None else _from_table(entry)


def _elsewhere(family: str, base_url: str | None) -> bool:
    variable, host = HOSTS.get(family, ("", ""))
    url = base_url or os.environ.get(variable, "")
    return bool(url) and urlsplit(url).hostname != host


def _entry(family: str, name: str) -> Mapping[str, Any] | None:
    table = price_table()
    if family != "litellm":
        found = table.get(name, {})
        return found if str(found.get("litellm_provider", "")).endswith(family) else None
    provider, _, rest = name.partition("/")
    if name in table:
        return table[name]
    # some providers go by longer names there: bedrock_converse, vertex_ai-language-models
    found = table.get(rest, {})
    return found if str(found.get("litellm_provider", "")).startswith(provider) else None


def _from_table(entry: Mapping[str, Any]) -> Price | None:
    """One price for each kind of token, or None: of tiered tables and thinking at a price of its own a few models have.

    Surcharges on inputs beyond 100,000 tokens are left out, since no prompt of ours is near that.
    """
    new, output = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    apart = "tiered_pricing" in entry or entry.get("output_cost_per_reasoning_token", output) != output
    if not new or not output or apart:
        return None
    cached, written = (entry.get(f"cache_{what}_input_token_cost") for what in ("read", "creation"))
    # to 12 digits: in the table stand prices of one token, such as 2.5e-07
    new, cached, output, written = (
        round(price * MILLION, 12) for price in (new, new if cached is None else cached, output, written or new)
    )
    return Price(new, cached, output, written if written != new else None)


@cache
def price_table() -> Mapping[str, Mapping[str, Any]]:
    """The table in the installed litellm, without importing it, which takes seconds; empty where it is not there."""
    package = find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    try:
        table: Mapping[str, Mapping[str, Any]] = json.loads((Path(package.origin).parent / TABLE).read_bytes())
    except (OSError, ValueError):
        return {}
    return table
