"""Rules of the source that no linter of ours checks: file length, and where every exception may be caught."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("tasks", "evaluator", "prompts", "agents", "experiments")
MOST_LINES = 350
# the borders, where somebody else's code runs: a task's thread, a candidate's worker, a plug-in (a method, a task file)
BORDERS = {
    "agents/loop.py",
    "evaluator/worker/session.py",
    "evaluator/worker/gpu_session.py",
    "agents/registry.py",
    "agents/check.py",
    "tasks/catalog.py",
}


def sources() -> dict[str, str]:
    found = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    names = {path.relative_to(ROOT).as_posix(): path for path in found}
    return {name: path.read_text() for name, path in names.items() if not name.startswith("experiments/runs/")}


def broad_handlers(source: str) -> list[int]:
    """Lines that catch everything, or every Exception, and don't raise it again after cleaning up."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler)
        and not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)
        and (
            node.type is None
            or any(getattr(n, "id", "") in ("Exception", "BaseException") for n in ast.walk(node.type))
        )
    ]


def test_files_are_short() -> None:
    long = {name: lines for name, text in sources().items() if (lines := text.count("\n")) > MOST_LINES}
    assert not long


def test_every_exception_is_caught_only_at_the_borders() -> None:
    found = {name: lines for name, text in sources().items() if (lines := broad_handlers(text))}
    assert set(found) <= BORDERS, found


def test_the_rule_sees_every_form() -> None:
    handlers = ("except:", "except Exception:", "except (ValueError, BaseException) as e:")
    assert all(broad_handlers(f"try:\n    f()\n{handler}\n    pass\n") for handler in handlers)
    assert not broad_handlers("try:\n    f()\nexcept (OSError, ValueError):\n    pass\n")
    assert not broad_handlers("try:\n    f()\nexcept BaseException:\n    close()\n    raise\n")
