"""What only the litellm client does: other providers' forms, and litellm kept quiet."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import misbehaving_server as bad
import pytest
from misbehaving_server import MisbehavingServer

from agents.models.litellm_client import LiteLLMClient
from agents.protocol import Message, Request
from tasks.errors import UserError

QUESTION = Request((Message("system", "s"), Message("user", "u")), {"temperature": 0.3}, "t", 0, 0)
ASK = """
import sys
from agents.models import load_model
from agents.protocol import Message, Request

model = load_model("litellm/openai/m", seed=0, base_url=sys.argv[1])
print(model.complete(Request((Message("user", "u"),), {}, "t", 0, 0)).tries)
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MisbehavingServer]:
    with bad.running(monkeypatch) as server:
        yield server


def test_another_providers_protocol_gives_the_same_reply(server: MisbehavingServer) -> None:
    server.does(bad.answers)
    one = LiteLLMClient("anthropic/claude-of-ours", server.url, first_wait_s=0.001)
    reply = one.complete(QUESTION)
    assert one.name == "litellm/anthropic/claude-of-ours"
    assert (reply.text, reply.finish_reason) == (bad.TEXT, "stop")
    assert (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.output_tokens) == (11, 3, 7)
    body = server.bodies[0]
    assert body["max_tokens"] == 16_384
    assert "s" in str(body["system"])


def test_a_reasoning_model_gets_its_own_parameters(server: MisbehavingServer) -> None:
    server.does(bad.answers)
    LiteLLMClient("openai/gpt-5-mini", server.url).complete(QUESTION)
    assert server.bodies[0]["max_completion_tokens"] == 16_384
    assert not {"max_tokens", "temperature"} & set(server.bodies[0])


def test_what_litellm_itself_refuses_is_learned_without_asking(server: MisbehavingServer) -> None:
    """litellm knows by name what some models don't take, and says so before anything is sent."""
    server.does(bad.answers)
    one = LiteLLMClient("anthropic/claude-of-ours", server.url, first_wait_s=0.001)
    reply = one.complete(Request(QUESTION.messages, {"frequency_penalty": 0.5}, "t", 0, 0))
    assert reply.text == bad.TEXT and reply.tries == 2
    assert len(server.bodies) == 1 and "frequency_penalty" not in server.bodies[0]


def test_an_unknown_provider_and_a_missing_key_are_told_at_once(server: MisbehavingServer) -> None:
    with pytest.raises(UserError, match="no such provider"):
        LiteLLMClient("nobody/x")
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        LiteLLMClient("openai/x")


def test_it_prints_nothing_and_downloads_nothing(server: MisbehavingServer) -> None:
    server.does(bad.fails(500), bad.answers)
    end = subprocess.run(
        [sys.executable, "-c", ASK, server.url], capture_output=True, text=True, timeout=300, env={**os.environ}
    )
    assert end.stdout == "2\n"
    assert end.stderr.splitlines() == [line for line in end.stderr.splitlines() if line.startswith("litellm/openai/m")]
    assert len(end.stderr.splitlines()) == 1
