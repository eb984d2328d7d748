"""`python -m agents models`: what it lists, and what one short request shows of a provider."""

from __future__ import annotations

import pytest
from misbehaving_server import MisbehavingServer, answers, cuts, echoes_the_key, fails, refuses, running

from agents.__main__ import main

KEY = "sk-planted-0123456789abcdef"


def check(server: MisbehavingServer, model: str = "openai/m") -> int:
    url = server.root if model.startswith("anthropic") else server.url
    return main(["models", "--check", model, "--base-url", url])


def test_the_list_names_keys_and_never_shows_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert "OPENAI_API_KEY is set" in out and "ANTHROPIC_API_KEY is not set" in out and "set: GEMINI_API_KEY" in out
    assert KEY not in out
    assert all(
        f"--model {family}/" in out for family in ("openai", "anthropic", "litellm", "local", "replay", "offline")
    )


@pytest.mark.parametrize("model", ["openai/m", "anthropic/m", "litellm/openai/m"])
def test_a_good_answer_is_shown_with_its_figures(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(monkeypatch, KEY) as server:
        server.does(answers)
        assert check(server, model) == 0
        assert len(server.bodies) == 1 and len(str(server.bodies[0]["messages"])) < 200
    out, err = capsys.readouterr()
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert lines["reply"].startswith("Here:") and lines["ended"] == "stop" and lines["latency"].endswith(" s")
    assert lines["tokens"] == "11 in, 3 cached, 7 out, 2 of them for thinking"
    assert lines["price"].startswith("? (a run takes --price IN,OUT")
    assert KEY not in out + err


def test_the_price_of_a_known_model(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from agents.models.prices import Price

    monkeypatch.setattr("agents.models.probe.price_of", lambda *_: Price(2.0, 1.0, 10.0))
    with running(monkeypatch, KEY) as server:
        server.does(answers)
        check(server)
    assert "this request: $0.000089" in capsys.readouterr().out


def test_what_the_model_does_not_take_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(monkeypatch, KEY) as server:
        server.does(refuses("temperature", "Unsupported parameter: 'temperature' is not supported with this model."))
        assert check(server) == 0
        assert len(server.bodies) == 2
    out = capsys.readouterr().out
    assert "noticed  openai/m takes no temperature" in out and "latency" in out and "(2 tries)" in out


def test_a_cut_answer_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with running(monkeypatch, KEY) as server:
        server.does(cuts)
        assert check(server) == 0
    assert "length (at the token limit)" in capsys.readouterr().out


def test_failures_are_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for act, code, said in ((echoes_the_key, 2, "401"), (fails(400, "no such thing"), 1, "no such thing")):
        with running(monkeypatch, KEY) as server:
            server.does(act)
            assert check(server) == code
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("error: openai/m: ") and err.count("\n") == 1
        assert said in err and KEY not in err
    for arguments, said in ((["--check", "opnai/x"], "unknown model"), (["--base-url", "http://h"], "--check")):
        assert main(["models", *arguments]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("error: ") and err.count("\n") == 1 and said in err


def test_what_is_no_provider_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for name, said in (("offline/apprentice", "is the simulation"), ("", "unknown model ''")):
        assert main(["models", "--check", name]) == 2
        out, err = capsys.readouterr()
        assert out == "" and said in err and err.count("\n") == 1
    assert main(["models", "--check", "openai/m", "--base-url", "http://h/v1?k=planted"]) == 2
    assert "planted" not in capsys.readouterr().err
