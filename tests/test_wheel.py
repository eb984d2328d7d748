"""A built wheel: what is in it, and that it works outside the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from agents.config import RunConfig
from agents.newrun import create_run
from experiments.shadow import PACKAGES
from tasks.catalog import built

ROOT = Path(__file__).resolve().parent.parent
pytest.importorskip("build", reason="the dev extras are not installed")


def run(*words: str | Path, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path) if path else ""}
    return subprocess.run([sys.executable, *map(str, words)], cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: setuptools leaves a `build` folder beside the source that later builds take up."""
    source = tmp_path_factory.mktemp("source")
    for name in (*PACKAGES, "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "runs"))
    (source / "experiments" / "runs" / "a-run" / "best").mkdir(parents=True)
    (source / "experiments" / "runs" / "a-run" / "best" / "kernel.py").write_text("raise SystemExit\n")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    done = run("-m", "build", "--wheel", "--no-isolation", "--outdir", source / "dist", cwd=source)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = (source / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    done = run(
        "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile", "--target", target, wheel, cwd=target
    )
    assert done.returncode == 0, done.stderr
    return target


def test_the_wheel_holds_templates_tasks_and_oracles_and_no_tests(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.split("/")[0] for name in names}
    (info,) = tops - set(PACKAGES)
    assert info.endswith(".dist-info") and tops >= set(PACKAGES)
    assert not [name for name in names if name.startswith("experiments/runs")]
    assert "tasks/index.csv" in names and f"{info}/licenses/LICENSE" in names
    for folder, suffix in [(package, ".py") for package in PACKAGES] + [("prompts", ".j2")]:
        here = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(f"*{suffix}")}
        here = {name for name in here if not name.startswith("experiments/runs/")}
        assert here and not here - names
    for task in built():
        assert {f"tasks/{task}.py", f"tasks/oracles/{task}.py"} <= names


def test_tasks_are_listed_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    done = run("-m", "tasks", "list", cwd=tmp_path, path=installed)
    assert done.returncode == 0, done.stderr
    assert all(task in done.stdout for task in built())


def test_a_table_is_shown_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    config = RunConfig("geak", "offline/apprentice", 5, ("Math/softmax",))
    create_run(tmp_path / "r", config, config.tasks, secret=b"key", method="geak", rounds=5, simulated=True)
    done = run("-m", "experiments", "table", "r", cwd=tmp_path, path=installed)
    assert done.returncode == 0, done.stderr
    assert "waiting: Math/softmax" in done.stdout


def test_a_dry_run_finds_tasks_and_templates_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    words = ("--dry-run", "--method", "geak", "--tasks", "Math/softmax")
    done = run("-m", "agents.run", *words, cwd=tmp_path, path=installed)
    assert done.returncode == 0, done.stderr
    (prompt,) = (tmp_path / "experiments" / "runs").rglob("softmax.txt")
    assert "exp(x[i] - m)" in prompt.read_text()


def test_the_console_script_answers(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "bin" / "kernelmend", "tasks", "list", cwd=tmp_path, path=installed)
    assert done.returncode == 0, done.stderr
    assert "Math/softmax" in done.stdout
