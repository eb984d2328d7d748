"""What only the OpenAI-compatible client does, and how models are found by name."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import Any

import misbehaving_server as bad
import pytest
from misbehaving_server import MisbehavingServer

from agents.models import APPRENTICE, load_model
from agents.models.openai_client import OpenAIClient
from agents.protocol import Message, ModelError, Request
from tasks.errors import UserError

QUESTION = Request(
    (Message("system", "s"), Message("user", "u")), {"temperature": 0.3, "top_k": 5}, "Math/softmax", 1, 2
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MisbehavingServer]:
    with bad.running(monkeypatch) as server:
        yield server


def client(server: MisbehavingServer, model: str = "org/m") -> OpenAIClient:
    return OpenAIClient(model, server.url, first_wait_s=0.001)


def test_what_is_sent_is_what_was_asked_and_the_bound(server: MisbehavingServer) -> None:
    server.does(bad.answers)
    one = client(server)
    one.complete(QUESTION)
    assert (one.name, one.simulated) == ("openai/org/m", False)
    assert server.bodies[0] == {
        "model": "org/m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "temperature": 0.3,
        "top_k": 5,
        "max_tokens": 16_384,
    }


def test_a_reasoning_model_gets_its_own_parameters(server: MisbehavingServer, caplog: pytest.LogCaptureFixture) -> None:
    server.does(bad.answers)
    one = client(server, "gpt-5-mini")
    with caplog.at_level(logging.WARNING):
        one.complete(QUESTION)
        one.complete(QUESTION)
    body = server.bodies[0]
    assert body["max_completion_tokens"] == 16_384
    assert not {"max_tokens", "temperature"} & set(body)
    assert caplog.text.count("takes no temperature") == 1


@pytest.mark.parametrize("first", ["max_tokens", "max_completion_tokens"])
def test_the_output_bound_changes_its_name_but_never_goes(server: MisbehavingServer, first: str) -> None:
    server.does(bad.refuses("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."))
    reply = client(server).complete(Request(QUESTION.messages, {first: 50}, "t", 0, 0))
    assert reply.tries == 2
    assert server.bodies[1]["max_completion_tokens"] == 50
    server.does(bad.fails(400, "Unsupported parameters: max_tokens, max_completion_tokens"))
    with pytest.raises(ModelError, match="400"):
        client(server).complete(QUESTION)


def test_a_context_that_is_too_small_bounds_this_request_only(server: MisbehavingServer) -> None:
    def small(handler: bad.Handler) -> None:
        given, asked = len(handler.body["messages"][0]["content"]), handler.body["max_tokens"]
        if given + asked <= 1000:
            return bad.answers(handler)
        bad.fails(400, f"This model's maximum context length is 1000 tokens and you sent {given} input tokens")(handler)

    server.does(small)
    one = client(server)
    for size in (900, 100):
        assert one.complete(Request((Message("user", "x" * size),), {}, "t", 0, 0)).tries == 2
    assert [body["max_tokens"] for body in server.bodies] == [16_384, 100, 16_384, 900]


def test_a_model_without_a_system_role(server: MisbehavingServer) -> None:
    def picky(handler: bad.Handler) -> None:
        system = any(message["role"] == "system" for message in handler.body["messages"])
        bad.fails(400, "System role not supported")(handler) if system else bad.answers(handler)

    server.does(picky)
    one = client(server)
    assert [one.complete(QUESTION).tries for _ in range(2)] == [2, 1]
    assert server.bodies[-1]["messages"] == [{"role": "user", "content": "s\n\nu"}]


@pytest.mark.parametrize("content", [None, "", []])
def test_an_empty_reply_of_the_model_is_a_reply(server: MisbehavingServer, content: Any) -> None:
    server.does(bad.says(200, {**bad.chat_answer(content, "length"), "usage": None}))
    reply = client(server).complete(QUESTION)
    assert (reply.text, reply.code, reply.finish_reason) == ("", None, "length")
    assert reply.usage.input_tokens is None


def test_reasoning_stays_out_of_the_text(server: MisbehavingServer) -> None:
    server.does(bad.says(200, bad.chat_answer("yes", reasoning_content="Hm.", reasoning="Hm.")))
    assert client(server).complete(QUESTION).text == "yes"


@pytest.mark.parametrize("body", [{**bad.chat_answer(), "choices": None}, {"error": {"message": "gone"}}, {}, [], b""])
def test_an_answer_without_a_completion_is_no_empty_program(server: MisbehavingServer, body: Any) -> None:
    server.does(bad.says(200, body))
    with pytest.raises(ModelError):
        client(server).complete(QUESTION)


def test_a_key_that_was_copied_wrong_is_told_without_it(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " key-1234\n")
    server.does(bad.answers)
    client(server).complete(QUESTION)
    assert server.headers[0]["authorization"] == "Bearer key-1234"
    monkeypatch.setenv("OPENAI_API_KEY", "key-1234 …")
    with pytest.raises(UserError, match="OPENAI_API_KEY") as raised:
        client(server)
    assert "1234" not in str(raised.value)


def test_a_missing_sdk_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("openai", "anthropic", "litellm"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(UserError, match=f"pip install {package}"):
            load_model(f"{package}/groq/m", seed=0, base_url="http://127.0.0.1:9")


def test_lookup_by_name(server: MisbehavingServer) -> None:
    assert load_model("openai/a/b", seed=0, base_url=server.url).name == "openai/a/b"
    assert load_model("anthropic/c", seed=0, base_url=server.url).name == "anthropic/c"
    assert load_model(APPRENTICE, seed=0).simulated
    for name, key in (("openai/gpt", "OPENAI_API_KEY"), ("anthropic/c", "ANTHROPIC_API_KEY")):
        with pytest.raises(UserError, match=key):
            load_model(name, seed=0)
    for name in ("offline/aprentice", "openai", "openai/", "gpt", "", "replay"):
        with pytest.raises(UserError, match="unknown model"):
            load_model(name, seed=0)
    for name in (APPRENTICE, "local/smollm2", "replay/run"):
        with pytest.raises(UserError, match="--base-url"):
            load_model(name, seed=0, base_url=server.url)
