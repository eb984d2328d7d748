"""A model provider on this machine that misbehaves on request. It speaks OpenAI's chat completions and Anthropic's
messages; the path of the request says which."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

TEXT = "Here:\n```python\nimport triton\n```"
Act = Callable[["Handler"], None]


def chat_answer(text: str | None = TEXT, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion; `message` adds fields to its message, such as reasoning_content."""
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {
            "prompt_tokens": 11,
            "completion_tokens": 7,
            "total_tokens": 18,
            "prompt_tokens_details": {"cached_tokens": 3},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    }


def anthropic_answer(text: str = TEXT, finish: str = "end_turn") -> dict[str, Any]:
    """The same answer as a message: 11 input tokens in all, 3 of them read from the cache."""
    return {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": text}],
        "stop_reason": finish,
        "usage": {
            "input_tokens": 6,
            "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": 3,
            "output_tokens": 7,
            "output_tokens_details": {"thinking_tokens": 2},
        },
    }


class MisbehavingServer(ThreadingHTTPServer):
    """Does the acts of a list, one a request, the last for ever, and keeps what was sent."""

    request_queue_size = 256
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.acts: tuple[Act, ...] = ()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self._counting = threading.Lock()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def does(self, *acts: Act) -> None:
        self.acts = acts

    def next_act(self, body: dict[str, Any], headers: dict[str, str]) -> Act:
        with self._counting:
            self.bodies.append(body)
            self.headers.append(headers)
            return self.acts[min(len(self.bodies), len(self.acts)) - 1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left early is no news."""


class Handler(BaseHTTPRequestHandler):
    server: MisbehavingServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.next_act(self.body, headers)(self)

    @property
    def anthropic(self) -> bool:
        return self.path.endswith("/messages")

    def send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def running(monkeypatch: pytest.MonkeyPatch, key: str | None = None) -> Iterator[MisbehavingServer]:
    """A server at work, and an environment that leads to no other and has that key for each provider, or none.
    Requests that hang are let go at the end."""
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, key) if key else monkeypatch.delenv(name, raising=False)
    with MisbehavingServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()


def says(status: int, body: Any, **headers: str) -> Act:
    """That body with that status. Underscores in header names stand for hyphens."""
    return lambda handler: handler.send(status, body, {name.replace("_", "-"): v for name, v in headers.items()})


def fails(status: int, message: str = "busy just now", code: str | None = None, **headers: str) -> Act:
    """An error in the protocol's own form."""

    def act(handler: Handler) -> None:
        error = {"type": code or "some_error", "message": message}
        body = {"type": "error", "error": error} if handler.anthropic else {"error": {**error, "code": code}}
        handler.send(status, body, {name.replace("_", "-"): value for name, value in headers.items()})

    return act


def answers(handler: Handler) -> None:
    """As it should be."""
    handler.send(200, anthropic_answer() if handler.anthropic else chat_answer())


def cuts(handler: Handler) -> None:
    """An answer that ended at the token limit."""
    text = "```python\nimport tri"
    handler.send(200, anthropic_answer(text, "max_tokens") if handler.anthropic else chat_answer(text, "length"))


def hangs(handler: Handler) -> None:
    """No answer before the test ends."""
    handler.server.released.wait()
    handler.close_connection = True


def drops(handler: Handler) -> None:
    """Half an answer, then the connection is gone."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(json.dumps(chat_answer()).encode()[:100])
    handler.close_connection = True


def garbles(handler: Handler) -> None:
    """Status 200, said to be JSON, and none."""
    handler.send(200, b'{"choices": [{"index": 0, "mess')


def says_nothing(handler: Handler) -> None:
    """Status 200 and no completion in it."""
    empty: dict[str, Any] = {**anthropic_answer(), "content": [], "stop_reason": None}
    handler.send(200, empty if handler.anthropic else {**chat_answer(), "choices": []})


def echoes_the_key(handler: Handler) -> None:
    """A refusal that repeats the key that was sent."""
    key = handler.headers.get("x-api-key") or handler.headers["Authorization"].removeprefix("Bearer ")
    fails(401, f"Incorrect API key provided: {key}. Find yours in the console.", "invalid_api_key")(handler)


def refuses(name: str, message: str) -> Act:
    """400 with that message as long as parameter `name` is sent, else an answer."""
    return lambda handler: fails(400, message)(handler) if name in handler.body else answers(handler)


def meets(parties: int) -> Act:
    """Answers once so many requests are in at the same time."""
    barrier = threading.Barrier(parties, timeout=120)

    def act(handler: Handler) -> None:
        try:
            barrier.wait()
        except threading.BrokenBarrierError:
            fails(400, "the others did not come")(handler)
        else:
            answers(handler)

    return act
