"""Planted keys are nowhere but where they were put: a whole run, then every byte that it left is searched."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from misbehaving_server import Act, Handler, chat_answer, echoes_the_key, fails, running

from agents.models.secrets import HIDDEN, checked_params, checked_url
from tasks.errors import UserError
from tasks.outcomes import Status

ROOT = Path(__file__).resolve().parent.parent
KEY = "sk-planted-4f1d7c2ab9e84d60"
# one that no provider of this run is sent
OTHER = "hf_planted9a31bc55d2"
# its error shows whatever its process has in the environment
SPY = """\
import os

import triton

raise RuntimeError(" ".join(sorted(os.environ)) + " " + " ".join(str(os.environ.get(name)) for name in os.environ))


@triton.jit
def kernel(x_ptr):
    pass


def softmax(input, dim, dtype=None):
    return input
"""


def said(words: Sequence[str], folder: Path) -> tuple[int, str]:
    """Exit code and all output of a command, run where the keys are in the environment."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": KEY, "HF_TOKEN": OTHER}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def descendants(pid: int) -> set[int]:
    """The processes that come from `pid`."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue  # it has just ended
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def environments(found: dict[str, list[bytes]], then: Act) -> Act:
    """Looks into the environment of every process below this one before it goes on; the run's own has the keys."""

    def act(handler: Handler) -> None:
        for pid in descendants(os.getpid()):
            try:
                command = (Path("/proc") / str(pid) / "cmdline").read_bytes()
                content = (Path("/proc") / str(pid) / "environ").read_bytes()
            except OSError:
                continue
            found.setdefault("run" if b"agents.run" in command else "below", []).append(content)
        then(handler)

    return act


def limited(handler: Handler) -> None:
    """A passing refusal with the key in it, as is and in a URL."""
    fails(429, f"slow down, {KEY}; see https://host/keys?key={KEY}")(handler)


def spies(handler: Handler) -> None:
    handler.send(200, chat_answer(f"```python\n{SPY}```"))


@pytest.fixture(scope="module")
def leftovers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a run that met refusals of both kinds printed and wrote, and what is derived from it, by its place."""
    folder = tmp_path_factory.mktemp("secrets")
    seen: dict[str, list[bytes]] = {}
    flags = ["--method", "oneshot", "--tasks", "Math/softmax", "Loss", "--workers", "1", "--out", "r"]
    with pytest.MonkeyPatch.context() as patch, running(patch) as server:
        server.does(limited, environments(seen, spies), echoes_the_key)
        words = ["-m", "agents.run", "--model", "openai/m", "--base-url", server.url, *flags]
        code, printed = said(words, folder)
        sent = str(server.headers)
        found = {"dry run": said([*words[:-1], "dry", "--dry-run"], folder)[1]}
        found["probe"] = said(["-m", "agents", "models", "--check", "openai/m", "--base-url", server.url], folder)[1]
    assert code == 1 and KEY in sent, printed
    found["list"] = said(["-m", "agents", "models"], folder)[1]
    for words in (
        ["table", "r"],
        ["replay", "r", "--task", "softmax"],
        ["export", "r", "candidates", "--out", "c.csv"],
    ):
        found[words[0]] = said(["-m", "experiments", *words], folder)[1]
    found["screen"] = printed
    found |= {f"worker {number}": str(content) for number, content in enumerate(seen["below"])}
    for path in folder.rglob("*"):
        if path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes().decode(errors="replace")
    assert any(KEY.encode() in content for content in seen["run"]), "the search itself must be able to find it"
    return found


@pytest.mark.parametrize("secret", [KEY, OTHER, KEY[:-6], base64.b64encode(KEY.encode()).decode()])
def test_no_key_is_in_anything_that_a_run_leaves(leftovers: dict[str, str], secret: str) -> None:
    assert [place for place, text in leftovers.items() if secret in text] == []


def test_the_places_were_searched_that_could_have_held_one(leftovers: dict[str, str]) -> None:
    assert {"r/run.json", "r/Math/softmax.jsonl", "screen", "table", "c.csv", "worker 0"} <= set(leftovers)
    assert f"slow down, {HIDDEN}" in leftovers["screen"] and f"key provided: {HIDDEN}" in leftovers["screen"]
    assert f"key provided: {HIDDEN}" in leftovers["probe"]
    assert "OPENAI_API_KEY is set" in leftovers["list"] and "HF_TOKEN" not in leftovers["list"]
    ends = [json.loads(text.splitlines()[-1]) for place, text in leftovers.items() if place.endswith(".jsonl")]
    assert any(HIDDEN in (end.get("reason") or "") for end in ends)


def test_a_candidate_that_prints_its_environment_finds_none(leftovers: dict[str, str]) -> None:
    events = [json.loads(line) for line in leftovers["r/Math/softmax.jsonl"].splitlines()]
    (verdict,) = [event["evaluation"] for event in events if event["type"] == "evaluation"]
    assert verdict["status"] == Status.RUNTIME_ERROR and "TRITON_CACHE_DIR" in verdict["diagnosis"]


def test_parameters_that_hold_keys_are_told_from_those_that_do_not() -> None:
    for name in ("api_key", "Authorization", "x-api-key", "extra_headers", "openai_api_key", "token", "my_secret"):
        with pytest.raises(UserError) as raised:
            checked_params({"extra_body": [{name: "planted"}]})
        assert name in str(raised.value) and "planted" not in str(raised.value)
    fine = {
        "max_tokens": 9,
        "max_completion_tokens": 9,
        "stop_token_ids": [1],
        "logit_bias": {"7": 1},
        "eos_token": "x",
    }
    assert checked_params(fine) == fine


def test_a_url_that_may_hold_a_key_is_refused_without_it() -> None:
    for url in ("http://h/v1?k=planted", "http://h/v1#planted", "http://me:planted@h", "me:planted@h/v1", ""):
        with pytest.raises(UserError, match="--base-url") as raised:
            checked_url(url)
        assert "planted" not in str(raised.value)
    assert checked_url("http://h:8000/v1") == "http://h:8000/v1"
