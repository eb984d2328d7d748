"""Imports point one way: tasks <- evaluator <- agents <- experiments; prompts, a leaf, is used by agents."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "tasks": {"tasks"},
    "evaluator": {"tasks", "evaluator"},
    "prompts": {"prompts"},
    "agents": {"tasks", "evaluator", "prompts", "agents"},
    "experiments": {"tasks", "evaluator", "prompts", "agents", "experiments"},
}
OURS = set(MAY_IMPORT) | {"tests"}


def imported(source: str) -> set[str]:
    """Our packages that a file imports anywhere in it, inside functions and by a literal name at run time too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "import_module",
            "__import__",
        ):
            names |= {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    return {name.split(".")[0] for name in names} & OURS


def sources(package: str) -> list[Path]:
    return [p for p in sorted((ROOT / package).rglob("*.py")) if "runs" not in p.relative_to(ROOT).parts]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_one_way(package: str) -> None:
    files = sources(package)
    assert files
    wrong = {
        str(path.relative_to(ROOT)): sorted(extra)
        for path in files
        if (extra := imported(path.read_text()) - MAY_IMPORT[package])
    }
    assert not wrong


def test_relative_imports_stay_out() -> None:
    """The rule above reads absolute imports; a relative one would slip past it."""
    relative = [
        str(path.relative_to(ROOT))
        for package in MAY_IMPORT
        for path in sources(package)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not relative


def test_the_rule_sees_every_form_of_import() -> None:
    forms = (
        "import agents.run",
        "def f():\n    from agents import loop",
        "import importlib\nimportlib.import_module('agents.run')",
        "if True:\n    import json, agents as a",
    )
    assert all(imported(form) == {"agents"} for form in forms)
    assert imported("import torch\nfrom pathlib import Path") == set()
