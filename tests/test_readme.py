"""The README's example is the file that a test runs, and what it names is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from agents.flags import make_parser
from agents.models import FORMS
from tasks.catalog import built

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """Every indented command line, and each run in backticks, split into words, without its remark."""
    lines = [line.strip() for line in README.splitlines() if line.startswith("    ")]
    lines += re.findall(r"`(python -m agents\.run [^`]*)`", README)
    return [shlex.split(line, comments=True) for line in lines]


def test_the_method_in_the_readme_is_the_example_file() -> None:
    (fence,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    example = (ROOT / "tests" / "examples" / "two_shots.py").read_text(encoding="utf-8")
    assert fence == example
    assert example.count("\n") < 40


def test_every_run_command_parses() -> None:
    runs = [words for words in commands() if words[:3] == ["python", "-m", "agents.run"]]
    assert len(runs) >= 5
    models = {make_parser().parse(words[3:]).model or "" for words in runs}
    assert {form.partition("/")[0] for form in FORMS} <= {model.partition("/")[0] for model in models}


def test_every_module_and_file_that_is_named_exists() -> None:
    modules = {words[2] for words in commands() if words[:2] == ["python", "-m"]}
    assert {"agents.run", "agents", "tasks", "evaluator", "experiments"} == modules
    for module in modules:
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists()
    for name in set(re.findall(r"`((?:agents|prompts|tasks|tests|experiments)/[\w./]*)`", README)):
        assert (ROOT / name).exists(), name


def test_every_make_target_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"make (run|test|lint|types|bench|clean)\b", README))
    assert targets == {"run", "test", "lint", "types", "bench", "clean"}
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_the_number_of_built_tasks_is_told_right() -> None:
    assert len(built()) == 176 and "all 176 tasks" in README


def test_it_stays_readable() -> None:
    assert README.count("\n") < 220
