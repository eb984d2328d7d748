"""Quirks, waits and secrets as functions of texts."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from agents.models.quirks import (
    MAX_TOKENS,
    Quirks,
    finish_of,
    learned,
    quirks_of,
    text_of,
    translated,
    without_system,
)
from agents.models.retrying import LONGEST_WAIT_S, asked_to_wait_s
from agents.models.secrets import keys_of, scrubbed
from agents.protocol import Message

SYSTEM, USER = Message("system", "s"), Message("user", "u")
SENT = {"temperature": 0.3, "top_p": 0.9, "top_k": 5, "seed": 1, "max_tokens": 16_384}


@pytest.mark.parametrize("name", ["o1", "o4-mini", "gpt-5", "gpt-5.1-codex", "openai/GPT-5-mini", "azure/o3"])
def test_reasoning_models_by_name(name: str) -> None:
    sent, left_out = translated({"temperature": 0.3, "seed": 1}, quirks_of(name))
    assert sent == {"seed": 1, "max_completion_tokens": MAX_TOKENS}
    assert left_out == ["temperature"]


@pytest.mark.parametrize("name", ["gpt-4o", "gpt-5-chat-latest", "gpt-oss-20b", "olmo", "claude-opus-4", "org/o1x/m"])
def test_other_models_by_name(name: str) -> None:
    assert quirks_of(name) == Quirks()


@pytest.mark.parametrize(
    ("refusal", "name"),
    [
        ("Unsupported value: 'temperature' does not support 0.3 with this model. Only 1 is supported.", "temperature"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("`temperature` may only be set to 1 when thinking is enabled.", "temperature"),
        ("`temperature` and `top_p` cannot both be specified for this model.", "top_p"),
        ("Unrecognized request argument supplied: top_k", "top_k"),
        ("[{'type': 'extra_forbidden', 'loc': ('body', 'top_k'), 'msg': 'Extra inputs are not permitted'}]", "top_k"),
        ('Invalid JSON payload received. Unknown name "seed": Cannot find field.', "seed"),
        ("property 'seed' is unsupported", "seed"),
        ("m doesn't support temperature=0.3", "temperature"),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"),
    ],
)
def test_a_refused_parameter_is_read_from_the_refusal(refusal: str, name: str) -> None:
    lesson = learned(refusal, [USER], SENT, Quirks())
    assert lesson is not None and lesson.lasting
    assert lesson.quirks == Quirks(frozenset({name}))
    sent, _ = translated(SENT, lesson.quirks)
    assert name not in sent
    assert {"max_tokens", "max_completion_tokens"} & set(sent)


@pytest.mark.parametrize(
    "refusal",
    [
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2.",
        "Unsupported parameter: 'frequency_penalty'",
        "This model's maximum context length is 8192 tokens, but your messages have 9000 tokens.",
        "temperatures are not supported",
        "",
    ],
)
def test_what_names_nothing_to_change_changes_nothing(refusal: str) -> None:
    assert learned(refusal, [SYSTEM, USER], SENT, Quirks()) is None


@pytest.mark.parametrize(
    ("refusal", "most", "lasting"),
    [
        ("max_tokens is too large: 16384. This model supports at most 4096 completion tokens", 4096, True),
        ("max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for m", 8192, True),
        ("`max_tokens` must be less than or equal to `8192`", 8192, True),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192, True),
        (
            "maximum context length is 4096 tokens. However, you requested 16884 tokens"
            " (500 in the messages, 16384 in the completion)",
            3596,
            False,
        ),
        ("maximum context length is 8192 tokens and your request has 500 input tokens", 7692, False),
    ],
)
def test_a_limit_of_the_output_is_read_from_the_refusal(refusal: str, most: int, lasting: bool) -> None:
    lesson = learned(refusal, [USER], SENT, Quirks())
    assert lesson is not None and lesson.lasting == lasting
    assert translated(SENT, lesson.quirks)[0]["max_tokens"] == most
    assert learned(refusal, [USER], {**SENT, "max_tokens": most}, lesson.quirks) is None


def test_a_bound_without_another_name_stays() -> None:
    known = Quirks(frozenset({"max_completion_tokens"}))
    assert learned("Unsupported parameter: 'max_tokens'", [USER], SENT, known) is None


@pytest.mark.parametrize("refusal", ["System role not supported", "'messages[0].role' does not support 'system'"])
def test_a_missing_system_role(refusal: str) -> None:
    lesson = learned(refusal, [SYSTEM, USER], SENT, Quirks())
    assert lesson is not None and not lesson.quirks.system_role
    assert learned(refusal, [USER], SENT, Quirks()) is None
    assert without_system([SYSTEM, Message("assistant", "a"), USER]) == (
        Message("assistant", "a"),
        Message("user", "s\n\nu"),
    )
    assert without_system([SYSTEM]) == (Message("user", "s"),)
    assert without_system([USER]) == (USER,)


def test_quirks_add_up() -> None:
    both = Quirks(frozenset({"a"}), most_tokens=5) | Quirks(frozenset({"b"}), system_role=False, most_tokens=3)
    assert both == Quirks(frozenset({"a", "b"}), False, 3)
    assert Quirks() | Quirks() == Quirks()


def test_text_and_end() -> None:
    parts = [{"type": "thinking", "text": "no"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}, "?"]
    assert (text_of(parts), text_of("x"), text_of(None), text_of(5)) == ("ab", "x", "", "")
    assert [finish_of(r) for r in ("max_tokens", "stop", "new_one", None, "")] == [
        "length",
        "stop",
        "new_one",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "17"}, 17),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "100000"}, LONGEST_WAIT_S),
        ({"retry-after": "inf"}, LONGEST_WAIT_S),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "soon"}, 0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": formatdate(1_000_030, usegmt=True)}, 30),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0),
    ],
)
def test_what_a_server_asks_to_wait(headers: dict[str, str], seconds: float) -> None:
    assert asked_to_wait_s(headers, 1_000_000) == seconds
    assert asked_to_wait_s({"retry-after": formatdate(time.time() + 3600, usegmt=True)}, time.time()) == LONGEST_WAIT_S


def test_scrubbing() -> None:
    key = "very/secret+key"
    text = scrubbed(
        f"{key} very%2Fsecret%2Bkey Bearer abc.def sk-proj-a1b2c3d4 sk-ab****wxyz ?key=AIza12 none", {key, "none"}
    )
    assert text == "[key] [key] Bearer [key] [key] [key] ?key=[key] none"
    for plain in ("task_1 failed", "hf_hub_download", "sk-learn", "monkey=1", "max_tokens: 16384"):
        assert scrubbed(plain, {None, ""}) == plain
    assert keys_of({"A_API_KEY": "1", "HF_TOKEN": "2 ", "PATH": "3", "AWS_SECRET_ACCESS_KEY": "4", "MONKEY": "5"}) == {
        "1",
        "2",
        "4",
    }
