"""The OpenAI-compatible client against a small server of our own."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from agents.models import APPRENTICE, load_model
from agents.models.openai_client import TRIES, OpenAIClient, Refused
from agents.protocol import Message, ModelError, Request
from tasks.errors import UserError

ANSWER = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Here:\n```python\nimport triton\n```"},
        }
    ],
    "usage": {
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "total_tokens": 18,
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
}
QUESTION = Request(
    (Message("system", "s"), Message("user", "u")), {"temperature": 0.3, "top_k": 5}, "Math/softmax", 1, 2
)


class Server(ThreadingHTTPServer):
    """Gives the answers of a list, one a request, the last for ever, and keeps what was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, Any, dict[str, str]]] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def says(self, *answers: tuple[int, Any] | tuple[int, Any, dict[str, str]]) -> None:
        self.answers = [(*answer, {})[:3] for answer in answers]  # type: ignore[misc]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        server = self.server
        server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        server.headers.append({name.lower(): value for name, value in self.headers.items()})
        status, body, headers = server.answers[min(len(server.bodies), len(server.answers)) - 1]
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def client(server: Server) -> OpenAIClient:
    return OpenAIClient("org/m", server.url, first_wait_s=0.001)


def test_a_reply_with_its_code_and_usage(server: Server) -> None:
    server.says((200, ANSWER))
    one = client(server)
    reply = one.complete(QUESTION)
    assert (one.name, one.simulated) == ("openai/org/m", False)
    assert reply.code == "import triton\n"
    assert (reply.text, reply.finish_reason) == (ANSWER["choices"][0]["message"]["content"], "stop")  # type: ignore[index]
    usage = reply.usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens) == (11, 3, 7, 2)
    assert usage.usd is None


def test_what_is_sent_is_what_was_asked_and_nothing_of_the_run(server: Server) -> None:
    server.says((200, ANSWER))
    client(server).complete(QUESTION)
    assert server.bodies[0] == {
        "model": "org/m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "temperature": 0.3,
        "top_k": 5,
    }


def test_the_key_goes_along_when_there_is_one(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    server.says((200, ANSWER))
    client(server).complete(QUESTION)
    assert server.headers[0]["authorization"] == "Bearer sk-test"


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_passing_failure_is_tried_again_visibly(
    server: Server, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    server.says((status, {"error": {"message": "busy just now"}}), (200, ANSWER))
    with caplog.at_level(logging.WARNING):
        assert client(server).complete(QUESTION).code is not None
    assert len(server.bodies) == 2
    assert "busy just now" in caplog.text and f"try 2 of {TRIES}" in caplog.text


def test_a_failure_that_stays_is_a_model_error_after_all_tries(server: Server) -> None:
    server.says((503, {"error": {"message": "overloaded"}}))
    with pytest.raises(ModelError, match=r"503 .*overloaded") as raised:
        client(server).complete(QUESTION)
    assert not isinstance(raised.value, UserError)
    assert len(server.bodies) == TRIES


def test_retry_after_is_kept_to(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", slept.append)
    server.says((429, {}, {"Retry-After": "17"}), (429, {}, {"Retry-After": "soon"}), (200, ANSWER))
    client(server).complete(QUESTION)
    assert slept[0] == 17
    assert slept[1] < 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_is_not_tried_again(server: Server, status: int) -> None:
    server.says((status, {"error": {"message": "no such model or key"}}))
    with pytest.raises(Refused, match=f"{status} .*no such model or key"):
        client(server).complete(QUESTION)
    assert len(server.bodies) == 1


def test_an_empty_account_is_not_tried_again(server: Server) -> None:
    server.says((429, {"error": {"message": "pay first", "code": "insufficient_quota"}}))
    with pytest.raises(Refused, match="pay first"):
        client(server).complete(QUESTION)
    assert len(server.bodies) == 1


def test_a_bad_request_is_this_requests_failure_alone(server: Server) -> None:
    server.says((400, {"error": {"message": "too long a prompt"}}))
    with pytest.raises(ModelError, match="too long") as raised:
        client(server).complete(QUESTION)
    assert not isinstance(raised.value, Refused)
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "body",
    [
        {**ANSWER, "choices": []},
        {**ANSWER, "choices": None},
        {"error": {"message": "upstream is gone"}},
        {},
        [],
        b"<html>gateway</html>",
        b"",
    ],
)
def test_an_answer_without_a_completion_is_no_empty_program(server: Server, body: Any) -> None:
    server.says((200, body))
    with pytest.raises(ModelError):
        client(server).complete(QUESTION)


@pytest.mark.parametrize("content", [None, ""])
def test_an_empty_reply_of_the_model_is_a_reply(server: Server, content: str | None) -> None:
    choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": content}}
    server.says((200, {**ANSWER, "choices": [choice], "usage": None}))
    reply = client(server).complete(QUESTION)
    assert (reply.text, reply.code, reply.finish_reason) == ("", None, "length")
    assert reply.usage.input_tokens is None


def test_no_server_there_is_a_model_error(server: Server) -> None:
    one = OpenAIClient("m", "http://127.0.0.1:9/v1", first_wait_s=0.001)
    with pytest.raises(ModelError, match="APIConnectionError"):
        one.complete(QUESTION)


def test_lookup_by_name(server: Server) -> None:
    assert load_model("openai/a/b", seed=0, base_url=server.url).name == "openai/a/b"
    assert load_model(APPRENTICE, seed=0).simulated
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        load_model("openai/gpt", seed=0)
    with pytest.raises(UserError, match="offline/apprentice"):
        load_model("offline/aprentice", seed=0)
    for name in ("openai", "openai/", "gpt", ""):
        with pytest.raises(UserError, match="unknown model"):
            load_model(name, seed=0)
    for name in ("anthropic/c", "litellm/x", "local/smollm2", "replay/run"):
        with pytest.raises(UserError, match="not built yet"):
            load_model(name, seed=0)
    with pytest.raises(UserError, match="--base-url"):
        load_model(APPRENTICE, seed=0, base_url=server.url)
