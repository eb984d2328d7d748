"""The console script: a second door to the commands, and one line when a package of ours is shadowed."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.kernelmend import COMMANDS, main

ROOT = Path(__file__).resolve().parent.parent


def kernelmend(*words: str, path: list[Path], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs the console script's entry point as an installed script would: without the current folder on the path."""
    script = "import sys; sys.path.pop(0); from experiments.kernelmend import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, tmp_path: Path) -> None:
    done = kernelmend(command, "--help", path=[ROOT], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "example" in done.stdout and "python -m" in done.stdout


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {command} " in text for command in COMMANDS) and "examples:" in text
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("usage:")


def test_an_unknown_command_names_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment"]) == 2
    assert capsys.readouterr().err.startswith("error: unknown command 'experiment'; did you mean 'experiments'")


def test_the_second_door_leads_to_the_same(tmp_path: Path) -> None:
    done = kernelmend("experiments", "table", "no-such-run", path=[ROOT], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "error: no run folder 'no-such-run'\n")


@pytest.mark.parametrize("name", ["agents", "tasks", "evaluator", "prompts"])
def test_a_shadowed_package_is_one_line_before_anything_is_imported(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SystemExit('imported')\n")
    done = kernelmend("tasks", "list", path=[tmp_path, ROOT], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "imported" not in done.stderr
    assert done.stderr.startswith(f"error: Python finds the package {name!r} in {tmp_path / name}")


def test_a_module_of_the_same_name_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("raise SystemExit('imported')\n")
    done = kernelmend("tasks", "list", path=[tmp_path, ROOT], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: Python does not find kernelmend's package 'tasks'")


def test_the_distribution_that_shadows_is_named(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("")
    meta = tmp_path / "other_agents-1.0.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: other-agents\nVersion: 1.0\n")
    (meta / "RECORD").write_text("agents/__init__.py,,\n")
    done = kernelmend("tasks", "list", path=[tmp_path, ROOT], cwd=tmp_path)
    assert done.returncode == 2 and "'agents' of other-agents in" in done.stderr


def test_a_package_overwritten_in_place_is_noticed(tmp_path: Path) -> None:
    """Two wheels that carry `agents` are unpacked into the same folder, and the second one wins."""
    site = tmp_path / "site"
    record = []
    for name in ("tasks", "evaluator", "prompts", "agents", "experiments"):
        (site / name).mkdir(parents=True)
        text = (ROOT / name / "__init__.py").read_bytes()
        (site / name / "__init__.py").write_bytes(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        record.append(f"{name}/__init__.py,sha256={digest},{len(text)}")
    for name in ("kernelmend.py", "shadow.py"):
        (site / "experiments" / name).write_bytes((ROOT / "experiments" / name).read_bytes())
    meta = site / "kernelmend-0.1.0.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: kernelmend\nVersion: 0.1.0\n")
    (meta / "RECORD").write_text("\n".join(record) + "\n")
    assert kernelmend("--help", path=[site], cwd=tmp_path).returncode == 0
    (site / "agents" / "__init__.py").write_text('"""Agents of somebody else."""\n')
    done = kernelmend("--help", path=[site], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: another distribution has overwritten kernelmend's agents/__init__.py")
