"""What a request costs: names found in the table, cached tokens, and what nobody knows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.models.prices import Price, price_of, price_table
from agents.protocol import Usage

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def providers_own_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("model", "entry"),
    [
        ("openai/gpt-4o", "gpt-4o"),
        ("litellm/gpt-4o", "gpt-4o"),
        ("litellm/openai/gpt-4o", "gpt-4o"),
        ("litellm/deepseek/deepseek-chat", "deepseek/deepseek-chat"),
        ("litellm/gemini/gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("litellm/vertex_ai/gemini-2.5-pro", "gemini-2.5-pro"),
    ],
)
def test_a_model_has_the_price_of_its_entry_in_the_table(model: str, entry: str) -> None:
    price, row = price_of(model), price_table()[entry]
    assert price is not None
    assert price.input == pytest.approx(row["input_cost_per_token"] * 1e6)
    assert price.output == pytest.approx(row["output_cost_per_token"] * 1e6)
    assert price.cached == pytest.approx(row["cache_read_input_token_cost"] * 1e6) and price.cached < price.input


def test_input_that_goes_into_a_cache_has_its_own_price() -> None:
    name, row = next(
        (name, row)
        for name, row in price_table().items()
        if row.get("litellm_provider") == "anthropic" and "cache_creation_input_token_cost" in row
    )
    price = price_of(f"anthropic/{name}")
    assert price is not None
    assert price.input == pytest.approx(row["input_cost_per_token"] * 1e6)
    assert price.written == pytest.approx(row["cache_creation_input_token_cost"] * 1e6) and price.written > price.input
    assert "put into the cache" in str(price) and "put into" not in str(price_of("openai/gpt-4o"))


@pytest.mark.parametrize(
    "model",
    [
        "openai/no-such-model",
        "openai/deepseek-chat",  # another provider's
        "anthropic/gpt-4o",
        "litellm/nobody/gpt-4o",
        "litellm/ollama/llama3",  # 0 in the table
        "local/smollm2",
        "offline/apprentice",
        "replay/gpt-4o",
    ],
)
def test_what_nobody_says_is_none(model: str) -> None:
    assert price_of(model) is None


def test_another_server_has_another_price(monkeypatch: pytest.MonkeyPatch) -> None:
    assert price_of("openai/gpt-4o", "http://localhost:8000/v1") is None
    assert price_of("litellm/gpt-4o", "http://localhost:8000/v1") is None
    assert price_of("openai/gpt-4o", "https://api.openai.com/v1") is not None
    assert price_of("openai/gpt-4o", "http://localhost:8000/v1", (1.0, 2.0)) == Price(1.0, 1.0, 2.0)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://elsewhere.example/v1")
    assert price_of("openai/gpt-4o") is None


def test_a_given_price_comes_first_and_may_be_zero() -> None:
    assert price_of("openai/gpt-4o", given=(3.0, 0.5, 9.0)) == Price(3.0, 0.5, 9.0)
    assert price_of("local/smollm2", given=(0.0, 0.0)) == Price(0.0, 0.0, 0.0)


def test_cached_tokens_are_part_of_the_input_at_their_own_price() -> None:
    price = Price(2.0, 0.5, 8.0)
    assert price.cost(Usage(1_000_000, 400_000, 100_000, 50_000)) == pytest.approx(1.2 + 0.2 + 0.8)
    assert price.cost(Usage(1_000_000, None, 0)) == 2.0
    assert price.cost(Usage(1_000_000, 400_000, 0, written_tokens=100_000)) == pytest.approx(1.2 + 0.2)
    dearer = Price(2.0, 0.5, 8.0, 3.0)
    assert dearer.cost(Usage(1_000_000, 400_000, 0, written_tokens=100_000)) == pytest.approx(1.0 + 0.2 + 0.3)
    assert dearer.cost(Usage(1_000_000, 400_000, 0)) == pytest.approx(1.2 + 0.2)
    assert price.cost(Usage(None, None, 10)) is None
    assert price.cost(Usage(10, None, None)) is None


COUNT, USD = st.integers(0, 10**6), st.floats(0, 20)


@given(COUNT, st.none() | COUNT, st.none() | COUNT, COUNT, USD, USD, st.none() | USD)
def test_the_bound_is_never_below_the_cost(
    read: int, cached: int | None, put: int | None, out: int, new: float, old: float, putting: float | None
) -> None:
    price = Price(new, old, 8.0, putting)
    cost = price.cost(Usage(read, cached, out, written_tokens=put))
    assert cost is not None and cost <= price.most(read, out) * (1 + 1e-12)


def test_the_table_is_read_without_importing_litellm() -> None:
    code = (
        "import sys\nfrom agents.models.prices import price_table\n"
        "assert price_table()\nassert 'litellm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
