"""What only the Anthropic client does: the form of its requests, cache points, reasons for the end."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import misbehaving_server as bad
import pytest
from misbehaving_server import MisbehavingServer

from agents.models.anthropic_client import LEAST_HEAD, AnthropicClient
from agents.protocol import Message, ModelError, Request, Usage

CACHED = {"cache_control": {"type": "ephemeral"}}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MisbehavingServer]:
    with bad.running(monkeypatch) as server:
        yield server


def client(server: MisbehavingServer) -> AnthropicClient:
    return AnthropicClient("m", server.root, first_wait_s=0.001)


def request(*messages: tuple[str, str], **params: object) -> Request:
    return Request(tuple(Message(role, content) for role, content in messages), params, "t", 0, 0)


def test_one_message_has_its_system_text_apart_and_cached(server: MisbehavingServer) -> None:
    server.does(bad.answers)
    client(server).complete(request(("system", "s"), ("user", "u"), temperature=0.3, stop="END"))
    assert server.bodies[0] == {
        "model": "m",
        "max_tokens": 16_384,
        "system": [{"type": "text", "text": "s", **CACHED}],
        "messages": [{"role": "user", "content": "u"}],
        "temperature": 0.3,
        "stop_sequences": ["END"],
    }


def test_a_conversation_is_cached_up_to_its_first_message(server: MisbehavingServer) -> None:
    server.does(bad.answers)
    client(server).complete(request(("user", "first"), ("assistant", "a"), ("assistant", " "), ("user", "u")))
    assert server.bodies[0]["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "first", **CACHED}]},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "u"},
    ]
    assert "system" not in server.bodies[0]


HEAD = "A line of the task, the same in each of its prompts.\n" * (LEAST_HEAD // 50)


def blocks_sent(server: MisbehavingServer) -> list[list[tuple[str, bool]]]:
    """The text blocks of each request's only message, and whether they are marked."""
    contents = [body["messages"][0]["content"] for body in server.bodies]
    return [
        [(block["text"], "cache_control" in block) for block in content] if isinstance(content, list) else content
        for content in contents
    ]


def test_what_a_tasks_prompts_begin_with_is_cached_from_the_second_on(server: MisbehavingServer) -> None:
    server.does(bad.answers)
    one = client(server)
    prompts = [f"{HEAD}examples\nwrite", f"{HEAD}examples\nwrite it well", f"{HEAD}mend", f"{HEAD}examples\nwrite"]
    for prompt in prompts:
        one.complete(request(("user", prompt)))
    first, second, *rest = blocks_sent(server)
    assert first == prompts[0]
    assert second == [(f"{HEAD}examples\n", True), ("write it well", False)]
    assert rest == [[(HEAD, True), (prompt.removeprefix(HEAD), False)] for prompt in prompts[2:]]


def test_other_tasks_and_short_or_odd_prompts_have_no_head(server: MisbehavingServer) -> None:
    server.does(bad.answers)
    one = client(server)
    one.complete(request(("user", "short")))
    one.complete(request(("user", "short and more")))
    one.complete(request(("user", f"{HEAD}a")))
    one.complete(replace(request(("user", f"{HEAD}b")), task="other"))
    one.complete(request(("user", f"Odd.\n{HEAD}")))
    assert all(isinstance(content, str) for content in blocks_sent(server))
    one.complete(request(("user", f"{HEAD}b")))
    assert blocks_sent(server)[-1] == [(HEAD, True), ("b", False)], "an odd prompt between them takes nothing away"


def test_the_same_prompt_again_is_one_marked_block(server: MisbehavingServer) -> None:
    server.does(bad.answers)
    one = client(server)
    for prompt in (f"{HEAD}end", f"{HEAD}end", f"{HEAD}\n"):
        one.complete(request(("user", prompt)))
    assert blocks_sent(server)[1:] == [[(f"{HEAD}end", True)], [(f"{HEAD}\n", True)]]


def test_threads_that_ask_at_once_send_whole_prompts(server: MisbehavingServer) -> None:
    server.does(bad.answers)
    one = client(server)
    prompts = [f"{HEAD}{number}" for number in range(32)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda prompt: one.complete(request(("user", prompt))), prompts))
    sent = blocks_sent(server)
    assert sum(isinstance(content, str) for content in sent) == 1
    assert sorted(prompts) == sorted(
        content if isinstance(content, str) else "".join(text for text, _ in content) for content in sent
    )


@pytest.mark.parametrize(
    ("said", "reason"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("refusal", "content_filter")],
)
def test_the_reason_for_the_end_has_openais_name(server: MisbehavingServer, said: str, reason: str) -> None:
    server.does(bad.says(200, bad.anthropic_answer("x", said)))
    assert client(server).complete(request(("user", "u"))).finish_reason == reason


def test_thinking_that_used_up_the_bound_is_a_reply_cut_short(server: MisbehavingServer) -> None:
    whole = bad.anthropic_answer("", "max_tokens")
    server.does(bad.says(200, {**whole, "content": whole["content"][:1]}))
    reply = client(server).complete(request(("user", "u")))
    assert (reply.text, reply.code, reply.finish_reason) == ("", None, "length")


def test_unknown_counts_stay_unknown(server: MisbehavingServer) -> None:
    server.does(bad.says(200, {**bad.anthropic_answer(), "usage": {"input_tokens": 6, "output_tokens": 7}}))
    usage = client(server).complete(request(("user", "u"))).usage
    assert (usage.input_tokens, usage.output_tokens) == (6, 7)
    assert usage.cached_tokens is None and usage.reasoning_tokens is None and usage.written_tokens is None
    assert "written_tokens" not in usage.logged() and usage.logged()["cached_tokens"] is None


def test_tokens_that_went_into_the_cache_are_counted_and_logged(server: MisbehavingServer) -> None:
    server.does(bad.answers)
    usage = client(server).complete(request(("user", "u"))).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.written_tokens) == (11, 3, 2)
    assert Usage(**usage.logged()) == usage


def test_a_limit_of_the_model_is_learned(server: MisbehavingServer) -> None:
    def small(handler: bad.Handler) -> None:
        asked = handler.body["max_tokens"]
        if asked <= 8192:
            return bad.answers(handler)
        words = f"max_tokens: {asked} > 8192, which is the maximum allowed number of output tokens for m"
        bad.fails(400, words)(handler)

    server.does(small)
    one = client(server)
    assert [one.complete(request(("user", "u"))).tries for _ in range(2)] == [2, 1]
    assert [body["max_tokens"] for body in server.bodies] == [16_384, 8192, 8192]


def test_a_model_that_takes_one_of_two(server: MisbehavingServer) -> None:
    words = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    server.does(bad.refuses("top_p", words))
    client(server).complete(request(("user", "u"), temperature=0.5, top_p=0.9))
    assert server.bodies[-1]["temperature"] == 0.5 and "top_p" not in server.bodies[-1]


def test_an_unknown_model_is_told_in_one_line(server: MisbehavingServer) -> None:
    server.does(bad.fails(404, "model: m", "not_found_error"))
    with pytest.raises(ModelError, match=r"^anthropic/m: 404 model: m$"):
        client(server).complete(request(("user", "u")))
