"""`python -m agents.run`: mistakes, dry runs, whole runs with a fake evaluator, resuming, interruption."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loop_fakes import Verdicts, infra, verdict

from agents.config import RunConfig, read_settings
from agents.flags import KEYS
from agents.journal import settled
from agents.log import sha_of
from agents.replay import replay_run
from agents.run import main
from agents.runfolder import open_run
from evaluator.records import Evaluation
from tasks.errors import UserError
from tasks.task import Task

ROOT = Path(__file__).resolve().parent.parent


class Fake(Verdicts):
    """Takes the place of the evaluator."""

    asked: dict[str, Any]

    def __init__(self, **asked: Any) -> None:
        super().__init__()
        Fake.asked = asked

    def evaluate(self, task: Task, source: str) -> Evaluation:
        return verdict(task.id, source, int(sha_of(source), 16) % 3 == 0)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in (*KEYS, "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("evaluator.judge.Evaluator", Fake)
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--tasks", "softmaxx"], "did you mean 'Math/softmax'"),
        (["--tasks", "mine.py"], "no task file 'mine.py'"),
        (["--method", "geek"], "did you mean 'geak'"),
        (["--method", "absent.py:Mine"], "no method file"),
        (["-o", "candidate=4"], "did you mean 'candidates'"),
        (["-o", "candidates=many"], "must be int"),
        (["-o", "candidates"], "key=value"),
        (["--model", "offline/aprentice"], "did you mean 'offline/apprentice'"),
        (["--model", "openai/gpt"], "OPENAI_API_KEY"),
        (["--model", "anthropic/x"], "--base-url"),
        (["--base-url", "http://localhost:8000/v1"], "--model"),
        (["--model", "openai/x", "--base-url", "localhost:8000"], "http://"),
        (["--model", "openai/x", "--base-url", "http://me:secret@host/v1"], "OPENAI_API_KEY"),
        (["--model", "openai/x", "--base-url", "http://host/v1?api_key=SECRET"], "--base-url must hold no ?"),
        (["--model", "openai/x", "--base-url", "http://host/v1#SECRET"], "--base-url must hold no ?"),
        (["-p", "api_key=SECRET"], "-p api_key is refused"),
        (["-p", 'extra_body={"X-API-Key": "SECRET"}'], "-p X-API-Key is refused"),
        (["--targets", "sm91"], "did you mean 'sm90'"),
        (["--device", "gpu"], "unknown device 'gpu'"),
        (["--rounds", "0"], "--rounds must be at least 1"),
        (["--rounds", "many"], "--rounds"),
        (["--workers", "-1"], "--workers must be at least 1"),
        (["--prompts", "absent"], "no folder of templates 'absent'"),
        (["--config", "absent.toml"], "absent.toml"),
        (["--resume", "absent"], "no run folder"),
        (["--max-usd", "0"], "--max-usd must be more than 0"),
        (["--max-usd", "nan"], "--max-usd must be more than 0"),
        (["--model-concurrency", "0"], "--model-concurrency must be more than 0"),
        (["--price", "3"], "--price takes IN,OUT"),
        (["--price", "a,b"], "--price takes IN,OUT"),
        (["--model", "openai/x", "--base-url", "http://h/v1", "--max-usd", "1"], "--price IN,OUT"),
        (["--resume", "absent", "--rounds", "9"], "--rounds can't be changed by --resume"),
        (["--resume", "absent", "-o", "candidates=9"], "--option can't be changed by --resume"),
        (["--modle", "x"], "did you mean '--model'"),
        (["--tasks", "softmax", "--out", "full"], "--resume full"),
    ],
)
def test_a_mistake_is_one_line_and_spends_nothing(
    flags: list[str], said: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "full").mkdir()
    (place / "full" / "something").write_text("")
    assert main(flags) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ") and err.count("\n") == 1 and said in err
    assert [path.name for path in place.iterdir()] == ["full"]


@pytest.mark.parametrize(
    ("key", "form"),
    [
        ("OPENAI_API_KEY", "openai/<name>"),
        ("ANTHROPIC_API_KEY", "anthropic/<name>"),
        ("GEMINI_API_KEY", "litellm/<provider>/<name>"),
    ],
)
def test_a_key_without_a_model_spends_nothing_by_surprise(
    key: str, form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(key, "sk")
    assert main(["--tasks", "softmax"]) == 2
    err = capsys.readouterr().err
    assert f"{key} is set" in err and f"--model {form}, or" in err


def test_help_and_mistakes_answer_without_heavy_imports() -> None:
    code = (
        "import sys\nfrom agents.run import main\n"
        "assert main(['--tasks', 'softmaxx']) == 2\n"
        "try:\n    main(['--help'])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "assert not {'torch', 'openai', 'triton', 'jinja2', 'rich'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "python -m agents.run --resume" in done.stdout


def test_the_exit_code_reaches_the_shell() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agents.run", "--method", "geek"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "geak" in done.stderr


def test_a_dry_run_counts_and_leaves_the_first_prompts(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--tasks", "softmax,gelu_bf16", "--rounds", "3", "-o", "candidates=4", "--seed", "7", "--dry-run"]
    model = ["--model", "openai/x", "--base-url", "http://h/v1", "--price", "1,2", "-p", "max_tokens=1000"]
    assert main([*flags, *model, "--out", "r"]) == 0
    out = capsys.readouterr().out
    assert "Math/softmax, Activation/gelu_bf16" in out
    assert "at most 24 in all, 12 a task" in out
    tokens = re.search(r"at most ([\d,]+) in, 24,000 out", out)
    assert tokens, "every reply may be as long as allowed"
    read = int(tokens[1].replace(",", ""))
    assert f"at most ${(read + 2 * 24_000) / 1e6:.2f}" in out
    first = Path("r/prompts/Math/softmax.txt").read_text()
    assert first.startswith("[user]\n# Task: Math/softmax\n")
    assert read > 24 * len(first) // 2, "later prompts show the attempts before them"
    files = [str(path.relative_to("r")) for path in Path("r").rglob("*") if path.is_file()]
    assert sorted(files) == ["prompts/Activation/gelu_bf16.txt", "prompts/Math/softmax.txt"]
    assert main([*flags[:-1], "--out", "r"]) == 0, "a run may follow in the same folder"


def test_a_dry_run_without_a_price_says_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--tasks", "softmax", "--dry-run", "--model", "openai/x", "--base-url", "http://h/v1"]
    assert main(flags) == 0
    assert "at most ?" in capsys.readouterr().out
    (folder,) = (place / "experiments" / "runs").iterdir()
    assert folder.name.endswith("-geak-openai-x-dry-run")


def test_a_budget_ends_a_run_in_one_line_and_a_higher_one_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--tasks", "softmax", "gelu_bf16", "--rounds", "2", "--method", "best_of_n", "--workers", "1"]
    assert main([*flags, "--max-requests", "6", "--max-usd", "1", "--out", "r"]) == 1
    out = capsys.readouterr().out
    assert "stopped by the budget: --max-requests 6: 6 were used; give a higher one beside --resume\n" in out
    run = open_run(Path("r"))
    assert [run.state(task) for task in run.tasks] == ["stopped", "waiting"]
    assert (run.record["state"], run.record["secret"]) == ("stopped", None)
    assert main(["--resume", "r", "--max-requests", "16", "--model-concurrency", "3", "--workers", "2"]) == 0
    run = open_run(Path("r"))
    assert (run.record["state"], run.config.max_requests, run.config.model_concurrency) == ("done", 16, 3)
    assert not any(one.divergences for one in replay_run(run))


def test_limits_stand_in_a_settings_file_too(place: Path) -> None:
    (place / "s.toml").write_text("max-usd = 2\nmax_minutes = 1.5\nprice = [1, 0.1, 4]\nmodel-concurrency = 5\n")
    flags = ["--config", "s.toml", "--tasks", "softmax", "--method", "oneshot"]
    assert main([*flags, "--out", "one"]) == 0
    assert main(["--config", "one/run.json", "--out", "two"]) == 0
    for name in ("one", "two"):
        config = open_run(Path(name)).config
        assert config.budgets == {"max_usd": 2, "max_minutes": 1.5}
        assert (config.price, config.model_concurrency, config.requests_per_minute) == ((1.0, 0.1, 4.0), 5, None)


def test_a_run_says_that_it_is_a_simulation_and_records_everything(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [
        "--tasks",
        "softmax",
        "--rounds",
        "2",
        "--targets",
        "sm90,gfx942",
        "-p",
        "temperature=0.5",
        "--workers",
        "3",
    ]
    assert main([*flags, "--out", "r"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("SIMULATION: offline/apprentice; no language model is called.")
    assert "round 2: compile" in out and "Each round's own candidates" in out
    run = open_run(Path("r"))
    record = run.record
    assert record["simulated"] and "no language model is called" in record["notice"]
    assert (record["state"], record["tasks"], record["rounds"]) == ("done", ["Math/softmax"], 2)
    assert record["versions"]["torch"] and record["environment"]["system"] == "Linux"
    assert record["prompts"]["generate.j2"] and record["evaluator"]["device"] == "cpu"
    assert bytes.fromhex(record["secret"]) == run.secret == Fake.asked["secret"]
    assert (Fake.asked["targets"], Fake.asked["device"]) == (("sm90", "gfx942"), "auto")
    assert run.config.params == {"temperature": 0.5}
    assert len(run.candidates("Math/softmax")) == 4
    assert not any(one.divergences for one in replay_run(run))


def test_the_default_folder_is_named_by_time_method_and_model(place: Path) -> None:
    for _ in range(2):
        assert main(["--tasks", "softmax", "--method", "oneshot"]) == 0
    names = sorted(path.name for path in (place / "experiments" / "runs").iterdir())
    assert len(names) == 2
    assert all("-oneshot-offline-apprentice" in name for name in names)


def test_oneshot_has_one_round_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tasks", "softmax", "--method", "oneshot", "--rounds", "4", "--out", "r"]) == 0
    assert "oneshot has 1 round" in capsys.readouterr().out
    assert open_run(Path("r")).rounds == 1


def test_a_runs_own_record_runs_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--tasks", "softmax", "--rounds", "2", "--seed", "4", "-o", "candidates=3"]
    assert main([*flags, "--out", "one"]) == 0
    assert main(["--config", "one/run.json", "--out", "two"]) == 0
    one, two = (settled(open_run(Path(name)).events("Math/softmax")) for name in ("one", "two"))
    assert one == two
    assert open_run(Path("one")).config == open_run(Path("two")).config


def test_flags_win_over_a_settings_file(place: Path) -> None:
    (place / "s.toml").write_text(
        'rounds = 4\ntasks = ["softmax"]\nseed = 9\n[method]\nname = "geak"\ncandidates = 3\n[params]\ntop_p = 0.9\n'
    )
    assert main(["--config", "s.toml", "--rounds", "1", "-o", "pool=2", "--out", "r"]) == 0
    config = open_run(Path("r")).config
    assert (config.rounds, config.seed, config.tasks, config.params) == (1, 9, ("Math/softmax",), {"top_p": 0.9})
    assert len(open_run(Path("r")).candidates("Math/softmax")) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("round = 3", "did you mean 'rounds'"),
        ("rounds = '3'", "rounds must be int"),
        ("rounds = true", "rounds must be int"),
        ("rounds = ", "no settings file"),
        ("[method]\nname = 'geak'\ncandidate = 3", "did you mean 'candidates'"),
    ],
)
def test_a_mistake_in_a_settings_file_is_one_line(
    text: str, said: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "s.toml").write_text(text)
    assert main(["--config", "s.toml"]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_settings_take_dashes_and_underscores(place: Path) -> None:
    (place / "s.toml").write_text('base-url = "http://h"\n')
    assert read_settings(place / "s.toml") == {"base_url": "http://h"}


def test_a_config_goes_to_json_and_back() -> None:
    config = RunConfig("geak", "m", 3, ("a", "b"), ("sm90",), method_options={"candidates": 2}, params={"top_p": 1.0})
    assert RunConfig.from_json(json.loads(json.dumps({**config.to_json(), "of_a_later_version": 1}))) == config


def test_a_broken_machine_is_told_at_the_end_and_resumed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Fake, "evaluate", lambda self, task, source: infra(task.id, source))
        assert main(["--tasks", "softmax", "--rounds", "2", "--out", "r"]) == 1
    out = capsys.readouterr().out
    assert "counted against nobody: Math/softmax: evaluator: the warm process died" in out
    assert "go on with: python -m agents.run --resume r" in out
    assert open_run(Path("r")).record["secret"] is None
    secret = Fake.asked["secret"]
    assert main(["--resume", "r", "--workers", "5"]) == 0
    run = open_run(Path("r"))
    assert (run.record["state"], run.config.workers, Fake.asked["secret"]) == ("done", 5, secret)
    assert len(run.record["resumed"]) == 1
    assert not any(one.divergences for one in replay_run(run))
    capsys.readouterr()
    assert main(["--resume", "r"]) == 0
    assert "every task of r is done" in capsys.readouterr().out


def test_a_damaged_log_is_told_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tasks", "softmax", "--rounds", "1", "--out", "r"]) == 0
    path = Path("r/Math/softmax.jsonl")
    path.write_text("\n".join(["broken", *path.read_text().splitlines()[1:]]) + "\n")
    capsys.readouterr()
    assert main(["--resume", "r"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "softmax.jsonl, line 1" in err


def test_a_users_own_task_method_and_prompts(place: Path) -> None:
    source = (ROOT / "tasks" / "Math" / "softmax.py").read_text()
    (place / "mine.py").write_text(source.replace('id="Math/softmax"', 'id="Mine/soft"'))
    (place / "prompts").mkdir()
    (place / "prompts" / "generate.j2").write_text("MY OWN {{ task.id }}\n")
    (place / "method.py").write_text(
        "from dataclasses import dataclass\nfrom typing import ClassVar\n\n"
        "@dataclass\nclass Mine:\n    name: ClassVar[str] = 'mine'\n\n"
        "    def run(self, task, ctx):\n        for _ in ctx.rounds():\n"
        "            ctx.evaluate(ctx.ask(ctx.render('generate.j2')).text)\n"
    )
    flags = ["--tasks", "mine.py", "--method", "method.py:Mine", "--prompts", "prompts", "--rounds", "2"]
    assert main([*flags, "--out", "r"]) == 0
    run = open_run(Path("r"))
    assert run.tasks == ("Mine/soft",)
    texts = [event["text"] for event in run.events("Mine/soft") if event["type"] == "text"]
    assert "MY OWN Mine/soft\n" in texts
    os.chdir(ROOT)
    assert not any(one.divergences for one in replay_run(open_run(place / "r")))


def test_two_tasks_of_one_id_are_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "mine.py").write_text((ROOT / "tasks" / "Math" / "softmax.py").read_text())
    assert main(["--tasks", "softmax", "mine.py"]) == 2
    assert "two tasks have the id Math/softmax" in capsys.readouterr().err


def test_an_id_that_leaves_the_folder_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (ROOT / "tasks" / "Math" / "softmax.py").read_text()
    (place / "mine.py").write_text(source.replace('id="Math/softmax"', 'id="../../up"'))
    assert main(["--tasks", "mine.py"]) == 2
    assert "can't name a log file" in capsys.readouterr().err


INTERRUPTED = """
import sys, threading, time
sys.path.insert(0, {tests!r})
import evaluator.judge
from loop_fakes import Verdicts

class Slow(Verdicts):
    def __init__(self, **_):
        super().__init__()
    def evaluate(self, task, source):
        print("judging", flush=True)
        time.sleep({sleep})
        return super().evaluate(task, source)

evaluator.judge.Evaluator = Slow
from agents.run import main
sys.exit(main(["--tasks", "softmax", "--rounds", "3", "--out", sys.argv[1]]))
"""


@pytest.mark.parametrize(("times", "signal_", "sleep"), [(1, signal.SIGINT, 1), (2, signal.SIGTERM, 60)])
def test_interrupted_it_says_how_to_go_on(place: Path, times: int, signal_: signal.Signals, sleep: int) -> None:
    script = place / "script.py"
    script.write_text(INTERRUPTED.format(tests=str(ROOT / "tests"), sleep=sleep))
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    child = subprocess.Popen([sys.executable, str(script), "r"], cwd=place, stdout=subprocess.PIPE, text=True, env=env)
    assert child.stdout
    out = ""
    for cue in ("judging", "stopping")[:times]:
        while cue not in out:
            out += child.stdout.readline()
        child.send_signal(signal_)
    out += child.stdout.read()
    assert child.wait(timeout=50) == 130
    assert "go on with: python -m agents.run --resume r" in out
    run = open_run(place / "r")
    # after one signal the verdict in the making is kept; after two the process is gone at once
    assert run.state("Math/softmax") == ("stopped" if sleep == 1 else "unfinished")
    assert len(run.candidates("Math/softmax")) in ((1, 2) if sleep == 1 else (0,))
    assert main(["--resume", "r"]) == 0
    assert len(run.candidates("Math/softmax")) == 6


def test_a_run_needs_linux(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert main(["--tasks", "softmax"]) == 2
    err = capsys.readouterr().err
    assert "Linux" in err and err.count("\n") == 1


def test_open_run_names_what_is_wrong(place: Path) -> None:
    (place / "run.json").write_text("{")
    with pytest.raises(UserError, match="damaged"):
        open_run(place)
    (place / "run.json").write_text('{"schema": 99}')
    with pytest.raises(UserError, match="schema 99"):
        open_run(place)


def test_retry_errors_goes_on_with_those_that_the_machine_failed_and_with_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Fake, "evaluate", lambda self, task, source: infra(task.id, source))
        assert main(["--tasks", "softmax", "--rounds", "1", "--out", "r"]) == 1
    path = Path("r/run.json")
    record = json.loads(path.read_text())
    record["tasks"] = record["config"]["tasks"] = ["Math/softmax", "Reduce/argmax"]
    path.write_text(json.dumps(record))
    assert main(["--resume", "r", "--retry-errors"]) == 0
    run = open_run(Path("r"))
    assert [run.state(task) for task in run.tasks] == ["done", "waiting"]
    assert (run.record["state"], run.record["secret"]) == ("stopped", None), "the secret stays while a task is open"
    capsys.readouterr()
    assert main(["--resume", "r", "--retry-errors"]) == 0
    assert "no task of r was failed" in capsys.readouterr().out
    assert main(["--resume", "r"]) == 0
    assert open_run(Path("r")).record["state"] == "done"


def test_retry_errors_alone_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--retry-errors"]) == 2
    assert "--resume RUN" in capsys.readouterr().err
