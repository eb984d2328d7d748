"""The whole loop on real parts: the apprentice, the evaluator's CPU tier, the log. A few cheap tasks stand for all."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import prompts
from agents.accounts import account_of
from agents.replay import replay_run
from agents.run import main
from agents.runfolder import open_run
from agents.tracker import State

TASKS = ["Activation/gelu_bf16", "Pooling/avg_pool1d", "Reduce/argmax"]
ROOT = Path(__file__).parent.parent
BLOCK = "{{ parts.diagnosis(last.evaluation) }}"


def run(folder: Path, *more: str) -> None:
    arguments = ["--tasks", *TASKS, "--rounds", "4", "--workers", "2", "--seed", "2", "--out", str(folder)]
    assert main([*arguments, *more]) == 0


def rescued(folder: Path) -> int:
    """How often a round rescued a task, over all rounds."""
    return sum(row.own.groups[State.RESCUED].tasks for row in account_of(open_run(folder)).rounds)


def states(folder: Path) -> list[object]:
    """What the final table says of each round but for measured figures."""
    found: list[object] = []
    for row in account_of(open_run(folder)).rounds:
        for view in (row.own, row.best):
            counts = {state: group.tasks for state, group in view.groups.items()}
            found.append((row.number, view.compile_rate, view.call_rate, view.correct_rate, counts))
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(folder)
    return folder


def test_kernels_are_rescued_and_the_log_reproduces_itself(whole: Path) -> None:
    assert rescued(whole) > 0
    replayed = replay_run(open_run(whole))
    assert len(replayed) == len(TASKS)
    assert all(one.complete and one.divergences == () for one in replayed)


def test_without_the_diagnosis_no_kernel_is_rescued_by_mending(whole: Path, tmp_path: Path) -> None:
    ours = tmp_path / "prompts"
    ours.mkdir()
    template = (Path(prompts.__file__).parent / "fix.j2").read_text()
    assert BLOCK in template
    (ours / "fix.j2").write_text(template.replace(BLOCK, ""))
    run(tmp_path / "blind", "--prompts", str(ours))
    assert rescued(tmp_path / "blind") < rescued(whole) / 2


def test_killed_and_resumed_it_ends_in_the_same_table(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    start = ["--tasks", *TASKS, "--rounds", "4", "--workers", "2", "--seed", "2", "--out", str(folder)]
    chance, kills, command = random.Random(5), 0, start
    for _ in range(12):
        child = subprocess.Popen([sys.executable, "-m", "agents.run", *command], cwd=ROOT, stdout=subprocess.DEVNULL)
        grown = size_of(folder)
        enough = grown + chance.randint(2_000, 60_000)
        while size_of(folder) < enough and child.poll() is None and kills < 3:
            time.sleep(0.01)
        if kills < 3:
            child.send_signal(signal.SIGKILL)
        kills += child.wait() == -signal.SIGKILL
        if child.returncode == 0:
            break
        if not (folder / "run.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            continue
        command = ["--resume", str(folder)]
    assert child.returncode == 0
    assert kills == 3
    assert states(folder) == states(whole)
    assert all(one.complete and one.divergences == () for one in replay_run(open_run(folder)))


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.jsonl")) if folder.exists() else 0
