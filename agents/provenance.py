"""Where and with what a run was made: versions, machine, and the state of the source tree."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
PACKAGES = ("kernelmend", "torch", "triton", "numpy", "openai", "anthropic", "litellm", "tenacity", "jinja2", "rich")


def provenance() -> dict[str, Any]:
    """JSON values for `run.json`: `versions`, `environment`, `git` (None outside a checkout)."""
    return {"versions": _versions(), "environment": _environment(), "git": _git()}


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _environment() -> dict[str, Any]:
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
    }


def _git() -> dict[str, Any] | None:
    if not (HERE / ".git").exists():
        return None
    commit = _output("rev-parse", "HEAD")
    return {"commit": commit, "changed_files": len((_output("status", "--porcelain") or "").splitlines())}


def _output(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(HERE), *arguments], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
