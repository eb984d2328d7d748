"""Methods are found by every kind of name, options get their types, and mistakes are one clear line."""

import subprocess
import sys
import textwrap
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from agents import registry
from agents.methods.geak import Geak
from agents.methods.reflexion import Reflexion
from agents.registry import load_method, methods, options_text
from tasks.errors import UserError

EVERY_TYPE = """\
    from __future__ import annotations
    from dataclasses import dataclass, field
    from typing import ClassVar

    @dataclass(frozen=True)
    class Every:
        name: ClassVar[str] = "every"
        count: int = 1
        rate: float = 0.5
        eager: bool = True
        label: str = "a"
        limit: int | None = None
        sizes: tuple[int, ...] = (1, 2)
        words: tuple[str, ...] = ()
        derived: int = field(default=0, init=False)

        def run(self, task, ctx): ...
"""


@pytest.fixture
def every(tmp_path: Path) -> str:
    return f"{write(tmp_path, EVERY_TYPE)}:Every"


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    (folder / name).write_text(textwrap.dedent(text))
    return folder / name


def message(spec: str, **options: object) -> str:
    with pytest.raises(UserError) as caught:
        load_method(spec, options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_built_in_methods_are_found_by_name() -> None:
    assert list(methods())[:4] == ["oneshot", "best_of_n", "reflexion", "geak"]
    assert load_method("geak", {}) == Geak()
    assert load_method("geak", {"candidates": "4", "pool": 3}) == Geak(candidates=4, pool=3)


def test_a_class_of_a_module_or_of_a_file_is_found(every: str) -> None:
    assert load_method("agents.methods.reflexion:Reflexion", {"memory": "2"}) == Reflexion(memory=2)
    assert load_method(every, {}).name == "every"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("count", "-3", -3),
        ("rate", "1e-3", 0.001),
        ("rate", 2, 2.0),
        ("eager", "no", False),
        ("eager", "TRUE", True),
        ("eager", False, False),
        ("label", " as it is ", " as it is "),
        ("limit", "7", 7),
        ("limit", "none", None),
        ("sizes", "4, 8", (4, 8)),
        ("sizes", [4, 8], (4, 8)),
        ("sizes", "", ()),
        ("words", "a,b", ("a", "b")),
    ],
)
def test_options_get_the_type_of_their_field(every: str, name: str, text: object, value: object) -> None:
    found = getattr(load_method(every, {name: text}), name)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("count", "four", "option count of every must be int, not 'four'"),
        ("count", "1.5", "option count of every must be int, not '1.5'"),
        ("eager", "maybe", "option eager of every must be bool, not 'maybe'"),
        ("limit", "x", "option limit of every must be int | None, not 'x'"),
        ("sizes", "1,x", "option sizes of every must be tuple[int, ...], not '1,x'"),
        ("cuont", "1", "unknown option of every 'cuont'; did you mean 'count'"),
        ("derived", "1", "unknown option of every 'derived'"),
    ],
)
def test_wrong_options_are_one_line(every: str, name: str, text: str, words: str) -> None:
    assert words in message(every, **{name: text})


def test_unknown_names_have_near_ones() -> None:
    assert "did you mean 'geak'" in message("geka")
    assert "unknown option of geak 'candidate'; did you mean 'candidates'" in message("geak", candidate="4")
    assert "oneshot has no options" in message("oneshot", n="4")
    assert "options of geak: trap must be at least 1" in message("geak", trap="0")


def test_files_and_modules_that_hold_no_such_method_are_one_line(tmp_path: Path) -> None:
    assert "no method file" in message(str(tmp_path / "none.py:A"))
    assert "'no_such_package.x' does not load: ModuleNotFoundError" in message("no_such_package.x:A")
    path = write(tmp_path, EVERY_TYPE)
    assert f"did you mean {path}:Every?" in message(f"{path}:Evry")
    assert f"names no class; did you mean {path}:Every?" in message(str(path))
    assert "did you mean agents.methods.geak:Geak?" in message("agents.methods.geak:geak")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def broken(:", "does not load: SyntaxError"),
        ("import no_such_package", "does not load: ModuleNotFoundError"),
        ("raise RuntimeError('two\\nlines')", "does not load: RuntimeError: two lines"),
        ("class M:\n  name = 'm'\n  def run(self, task, ctx): ...", "is no dataclass"),
        ("from dataclasses import dataclass\n@dataclass\nclass M:\n  name: str = 'm'\n  def run(self, task, ctx): ...",
         "has its name as an option"),
        ("from dataclasses import dataclass\n@dataclass\nclass M:\n  def run(self, task, ctx): ...", "has no name"),
        ("from dataclasses import dataclass\n@dataclass\nclass M:\n  name = 'm'", "has no run"),
        ("from dataclasses import dataclass\n@dataclass\nclass M:\n  name = 'm'\n  def run(self, task): ...",
         "can't be called as run(task, ctx)"),
        ("from dataclasses import dataclass\n@dataclass\nclass M:\n  size: int\n  name = 'm'\n"
         "  def run(self, task, ctx): ...", "m needs a value for size"),
    ],
)  # fmt: skip
def test_adapters_that_do_not_fit_are_one_line(tmp_path: Path, text: str, words: str) -> None:
    assert words in message(f"{write(tmp_path, text)}:M")


def test_plug_ins_are_found_and_broken_ones_do_not_take_the_others_along(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("alike", "agents.methods.reflexion:Reflexion", registry.GROUP),
        EntryPoint("broken", "no_such_package:Method", registry.GROUP),
        EntryPoint("geak", "agents.methods.reflexion:Reflexion", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else [])
    with pytest.warns(UserWarning, match="'broken' .* does not load: ModuleNotFoundError"):
        found = methods()
    assert found["alike"] is Reflexion and "broken" not in found and found["geak"] is Geak
    assert load_method("alike", {"memory": "1"}) == Reflexion(memory=1)
    assert "method plug-in 'broken'" in message("broken")
    assert "did you mean 'alike'" in message("alik")


def test_options_are_listed_with_type_default_and_help() -> None:
    assert options_text(Geak)[0][:3] == ("candidates", "int", "2")
    assert all(text for *_, text in options_text(Geak))


def test_listing_methods_imports_nothing_heavy() -> None:
    code = (
        "import sys; from agents.__main__ import main; main(['methods'])\n"
        "print([name for name in ('torch', 'triton', 'openai', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "-o candidates=2" in done.stdout
