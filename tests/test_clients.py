"""The three provider clients through their real SDKs, against a server of our own that misbehaves."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import misbehaving_server as bad
import pytest
from misbehaving_server import MisbehavingServer

from agents.models.anthropic_client import AnthropicClient
from agents.models.client import Client, believed
from agents.models.litellm_client import LiteLLMClient
from agents.models.openai_client import OpenAIClient
from agents.models.quirks import MAX_TOKENS
from agents.models.retrying import TRIES, Refused, Stopped
from agents.protocol import Message, ModelError, Request, Usage
from tasks.errors import UserError

KEY = "planted-key-for-tests-only"
QUESTION = Request(
    (Message("system", "s"), Message("user", "u")), {"temperature": 0.3, "top_k": 5}, "Math/softmax", 1, 2
)
Make = Callable[..., Client]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MisbehavingServer]:
    with bad.running(monkeypatch, KEY) as server:
        yield server


@pytest.fixture(params=["openai", "anthropic", "litellm"])
def make(request: pytest.FixtureRequest, server: MisbehavingServer) -> Make:
    """Makes a client of each kind; a model's name may be given."""

    def make(model: str = "m", **options: Any) -> Client:
        options = {"first_wait_s": 0.01, "timeout_s": 60.0, **options}
        if request.param == "openai":
            return OpenAIClient(model, server.url, **options)
        if request.param == "anthropic":
            return AnthropicClient(model, server.root, **options)
        return LiteLLMClient(f"openai/{model}", server.url, **options)

    return make


class Told:
    """Attempts, as a client tells of them."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def failed(self, *, billed: bool) -> None:
        self.said.append("billed" if billed else "free")

    def again(self) -> None:
        self.said.append("again")


def test_a_reply_with_its_usage(server: MisbehavingServer, make: Make) -> None:
    server.does(bad.answers)
    told = Told()
    reply = make().complete(replace(QUESTION, attempts=told))
    assert (reply.text, reply.finish_reason, reply.tries, told.said) == (bad.TEXT, "stop", 1, [])
    usage = reply.usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens) == (11, 3, 7, 2)
    assert usage.usd is None


def test_every_request_has_an_output_bound_and_nothing_of_the_run(server: MisbehavingServer, make: Make) -> None:
    server.does(bad.answers)
    make().complete(QUESTION)
    make().complete(Request(QUESTION.messages, {"max_tokens": 99}, "Math/softmax", 1, 2))
    assert [body["max_tokens"] for body in server.bodies] == [MAX_TOKENS, 99]
    assert (server.bodies[0]["temperature"], server.bodies[0]["top_k"]) == (0.3, 5)
    assert not {"softmax", "lane", "attempt", "task"} & set(str(server.bodies))


# with what is to be thought of its cost: after those that came back with another error the work was not done
PASSING = {
    "429": (bad.fails(429, Retry_After="0"), "free"),
    "500": (bad.fails(500), "free"),
    "529": (bad.fails(529), "free"),
    "408": (bad.fails(408), "billed"),
    "504": (bad.fails(504), "billed"),
    "dropped": (bad.drops, "billed"),
    "garbled": (bad.garbles, "billed"),
    "html": (bad.says(200, b"<html>gateway</html>", Content_Type="text/html"), "billed"),
    "no choices": (bad.says_nothing, "billed"),
    "not even an object": (bad.says(200, []), "billed"),
}


@pytest.mark.parametrize(("act", "cost"), PASSING.values(), ids=PASSING)
def test_a_passing_failure_is_tried_again_and_counted(
    server: MisbehavingServer, make: Make, act: bad.Act, cost: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.does(act, bad.answers)
    told = Told()
    with caplog.at_level(logging.WARNING):
        reply = make().complete(replace(QUESTION, attempts=told))
    assert (reply.text, reply.tries, len(server.bodies)) == (bad.TEXT, 2, 2)
    assert told.said == [cost, "again"]
    assert f"try 2 of {TRIES}" in caplog.text


def test_a_timeout_is_tried_again(server: MisbehavingServer, make: Make) -> None:
    server.does(bad.hangs, bad.answers)
    told = Told()
    reply = make(timeout_s=2.0).complete(replace(QUESTION, attempts=told))
    assert reply.text == bad.TEXT
    assert reply.tries == len(server.bodies) >= 2
    assert told.said == ["billed", "again"] * (reply.tries - 1)


STAYING = {"503": bad.fails(503, "overloaded"), "garbled": bad.garbles, "no choices": bad.says_nothing}


@pytest.mark.parametrize("act", STAYING.values(), ids=STAYING)
def test_a_failure_that_stays_is_a_model_error_after_all_tries(
    server: MisbehavingServer, make: Make, act: bad.Act
) -> None:
    server.does(act)
    with pytest.raises(ModelError, match=rf"\({TRIES} tries\)$") as raised:
        make().complete(QUESTION)
    assert not isinstance(raised.value, UserError)
    assert len(server.bodies) == TRIES


def test_a_wait_is_as_long_as_asked_for_and_ends_when_stopped(
    server: MisbehavingServer, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server.does(bad.fails(429, "slower", Retry_After="17"))
    one = make()

    class Stopping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            one.stop.set()

    handler = Stopping()
    logging.getLogger("agents.models.retrying").addHandler(handler)
    try:
        with caplog.at_level(logging.WARNING), pytest.raises(Stopped):
            one.complete(QUESTION)
    finally:
        logging.getLogger("agents.models.retrying").removeHandler(handler)
    assert f"429 slower; try 2 of {TRIES} in 17 s" in caplog.text
    assert len(server.bodies) == 1


REFUSALS = {
    "401": bad.echoes_the_key,
    "402": bad.fails(402, "pay first"),
    "403": bad.fails(403, "not yours"),
    "404": bad.fails(404, "no such model"),
    "empty account": bad.fails(429, "pay first", "insufficient_quota"),
    "no credit": bad.fails(400, "Your credit balance is too low to go on."),
}


@pytest.mark.parametrize("act", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_one_line_at_once(server: MisbehavingServer, make: Make, act: bad.Act) -> None:
    server.does(act)
    told = Told()
    with pytest.raises(Refused) as raised:
        make().complete(replace(QUESTION, attempts=told))
    assert (len(server.bodies), told.said) == (1, ["free"])
    assert "\n" not in str(raised.value)


def test_no_key_gets_into_a_message(server: MisbehavingServer, make: Make, caplog: pytest.LogCaptureFixture) -> None:
    # the line is cut within a key, which must not leave its first half
    echoes = bad.fails(503, f"Bearer {KEY}, {(KEY + ' ') * 30}")
    server.does(echoes, bad.echoes_the_key)
    with caplog.at_level(logging.DEBUG, "agents"), pytest.raises(Refused, match=r"key provided: \[key\]") as raised:
        make().complete(QUESTION)
    assert any(KEY in value for value in server.headers[0].values()), "the key was sent"
    said = caplog.text + "".join(traceback.format_exception(raised.value))
    assert "503" in said
    assert KEY[:6] not in said


def test_a_bad_request_is_this_requests_failure_alone(server: MisbehavingServer, make: Make) -> None:
    server.does(bad.fails(400, "the prompt is too long"))
    with pytest.raises(ModelError, match=r"400 .*too long") as raised:
        make().complete(QUESTION)
    assert not isinstance(raised.value, Refused)
    assert len(server.bodies) == 1


def test_an_answer_cut_at_the_limit_says_so(server: MisbehavingServer, make: Make) -> None:
    server.does(bad.cuts)
    assert make().complete(QUESTION).finish_reason == "length"


def test_no_server_there_is_a_model_error(make: Make, server: MisbehavingServer) -> None:
    server.shutdown()
    server.server_close()
    told = Told()
    with pytest.raises(ModelError, match="tries") as raised:
        make().complete(replace(QUESTION, attempts=told))
    assert not isinstance(raised.value, UserError)
    assert told.said == ["free", *["again", "free"] * (TRIES - 1)]


def test_a_refused_parameter_is_changed_once_for_all_threads(
    server: MisbehavingServer, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server.does(bad.refuses("top_k", "Unsupported parameter: 'top_k' is not supported with this model."))
    one = make()
    with caplog.at_level(logging.WARNING), ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(one.complete, [QUESTION] * 8))
        again = one.complete(QUESTION)
    assert {reply.text for reply in replies} == {bad.TEXT}
    assert max(reply.tries for reply in replies) == 2 and again.tries == 1
    assert caplog.text.count("takes no top_k") == 1


def test_64_requests_are_in_flight_at_once(server: MisbehavingServer, make: Make) -> None:
    server.does(bad.meets(64))
    one = make(timeout_s=300.0)
    with ThreadPoolExecutor(64) as threads:
        replies = list(threads.map(one.complete, [QUESTION] * 64))
    assert {(reply.text, reply.tries) for reply in replies} == {(bad.TEXT, 1)}


def test_what_failed_is_named_in_one_short_line(
    server: MisbehavingServer, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    place = server.root.removeprefix("http://")
    said = {bad.garbles: "the server's answer is no JSON", bad.says_nothing: "no completion", bad.drops: f"({place}: "}
    for act, words in said.items():
        caplog.clear()
        server.bodies.clear()
        server.does(act, bad.answers)
        make().complete(QUESTION)
        assert words in caplog.text and caplog.text.count("\n") == 1


def test_a_server_that_is_not_there_is_named_with_the_cause(
    server: MisbehavingServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.server_close()
    monkeypatch.setattr("agents.models.retrying.TRIES", 1)
    with pytest.raises(ModelError, match=rf"\({server.root.removeprefix('http://')}: .*(refused|reset|disconnected)"):
        make().complete(QUESTION)


def test_token_counts_that_can_not_be_are_unknown(server: MisbehavingServer) -> None:
    usage = {"prompt_tokens": -5, "completion_tokens": "7", "completion_tokens_details": {"reasoning_tokens": 1.5}}
    server.does(bad.says(200, {**bad.chat_answer(), "usage": usage}))
    assert OpenAIClient("m", server.url).complete(QUESTION).usage == Usage()
    assert believed(Usage(1, 0, True)) == Usage(1, 0, None)
