"""The flags and settings that limit a run, which `--resume` may change: requests at a time and a minute, budgets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tasks.errors import UserError

# name, type, placeholder and help of each
LIMITS: Sequence[tuple[str, Callable[[str], Any], str, str]] = (
    ("model_concurrency", int, "N", "requests to the model at a time, over all tasks (default: 16)"),
    ("requests_per_minute", int, "N", "requests begun within any 60 seconds (default: no limit)"),
    ("tokens_per_minute", int, "N", "tokens of the requests begun within any 60 seconds (default: no limit)"),
    ("max_usd", float, "USD", "budget of the run in dollars; needs a known price"),
    ("max_tokens", int, "N", "budget of the run in tokens, in and out; for one reply it is -p max_tokens=N"),
    ("max_minutes", float, "MIN", "no request begins later than this; a resumed run starts from 0 again"),
    ("max_requests", int, "N", "budget of the run in requests that were answered or may be billed"),
    ("price", str, "IN,OUT", "dollars for a million tokens, or IN,CACHED,OUT (default: litellm's table of prices)"),
)
NAMES = tuple(name for name, *_ in LIMITS)


def add_limit_flags(add: Callable[..., Any]) -> None:
    """Add them to a parser, by its `add_argument`."""
    for name, kind, placeholder, text in LIMITS:
        add(f"--{name.replace('_', '-')}", type=kind, metavar=placeholder, help=text)


def limits_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are set, checked. Raises UserError."""
    found = {name: settings[name] for name in NAMES if settings.get(name) is not None}
    for name, value in found.items():
        if name == "price":
            found[name] = _price(value)
        elif not (math.isfinite(value) and value > 0):
            raise UserError(f"--{name.replace('_', '-')} must be more than 0, not {value:g}")
    return found


def _price(value: str | Sequence[Any]) -> tuple[float, ...]:
    """`in,out` or `in,cached,out`, as text or as a list of numbers."""
    parts = value.split(",") if isinstance(value, str) else value
    try:
        prices = tuple(float(part) for part in parts)
    except (TypeError, ValueError):
        prices = ()
    if len(prices) not in (2, 3) or not all(math.isfinite(price) and price >= 0 for price in prices):
        raise UserError(f"--price takes IN,OUT or IN,CACHED,OUT in dollars for a million tokens, not {value!r}")
    return prices
