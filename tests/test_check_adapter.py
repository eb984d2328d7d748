"""The adapter check accepts methods that keep the contract and names what others break."""

import textwrap
from pathlib import Path

import pytest

from agents import check
from agents.__main__ import main
from agents.check import Finding, check_method
from agents.registry import BUILT_IN
from tasks.catalog import load

TASK = load("Math/softmax")
EXAMPLE = f"{Path(__file__).parent / 'examples' / 'two_shots.py'}:TwoShots"
HEAD = """\
import itertools
from dataclasses import dataclass, field
from typing import ClassVar
seen = itertools.count()

@dataclass
class Mine:
    name: ClassVar[str] = "mine"
"""


def findings(folder: Path, body: str, head: str = HEAD) -> list[Finding]:
    path = folder / "mine.py"
    path.write_text(head + textwrap.indent(textwrap.dedent(body), "    "))
    return check_method(f"{path}:Mine", TASK)


def errors(found: list[Finding]) -> str:
    return "\n".join(finding.text for finding in found if finding.level == "error")


def warnings(found: list[Finding]) -> str:
    return "\n".join(finding.text for finding in found if finding.level == "warning")


@pytest.mark.parametrize("spec", [*BUILT_IN, EXAMPLE])
def test_methods_that_keep_the_contract_pass_without_a_warning(spec: str) -> None:
    found = check_method(spec, TASK)
    assert {finding.level for finding in found} == {"ok"} and len(found) == 4


def test_the_dry_run_gives_a_repairing_method_every_kind_of_verdict(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        def run(self, task, ctx):
            seen = [str(ctx.evaluate(ctx.ask("again").code).evaluation.status) for _ in ctx.rounds()]
            assert seen == ["compile_error", "rejected", "wrong", "correct"], seen
        """,
    )
    assert errors(found) == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("def run(self, task, ctx): ...", "without a submitted candidate"),
        ("def run(self, task, ctx): ctx.evaluate(ctx.ask('x').code.strip()); ctx.evaluate(ctx.ask('x').code.strip())",
         "a dry run raised AttributeError, line 9: 'NoneType'"),
        ("def run(self, task, ctx):\n    while True: ctx.ask('x')", "does not end: 1000 requests"),
        ("def run(self, task, ctx):\n    while True:\n        try: ctx.ask('x')\n        except Exception: pass",
         "does not end: 1000 requests"),
        ("def run(self, task, ctx): ctx.evaluate('x', parents=[3])", "ValueError, line 9: parents [3]"),
        ("def run(self, task, ctx): ctx.render('fix.j2')", "PromptError, line 9: template fix.j2: 'last' is undefined"),
        ("def run(self, task, ctx): ctx.note(what=ctx)", "TypeError, line 9"),
        ("def run(self, task, ctx): ctx.evaluate(ctx.ask(f'{next(seen)}').code)",
         "not deterministic: a second dry run, by the same object, differs at step 1 (ask with other contents)"),
        ("log: list = field(default_factory=list, init=False)\n"
         "def run(self, task, ctx): self.log.append(1); ctx.evaluate('x' * len(self.log))",
         "by the same object, differs at step 1"),
        ("def run(self, task, ctx): [ctx.evaluate('x') for _ in range(1 + next(seen))]", "step 2 (one of them ends"),
        ("size: dict = None\ndef run(self, task, ctx): ctx.evaluate('x')", "no text can be converted to: size"),
        ("size: int\ndef run(self, task, ctx): ctx.evaluate('x')", "can't be made without arguments: TypeError"),
        ("def run(self, task): ...", "can't be called as run(task, ctx)"),
    ],
)  # fmt: skip
def test_what_breaks_the_contract_is_named(tmp_path: Path, body: str, words: str) -> None:
    assert words in errors(findings(tmp_path, body))


def test_a_method_that_never_comes_back_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "DEADLINE_S", 0.1)
    body = "def run(self, task, ctx):\n    import threading\n    threading.Event().wait(5)"
    assert "did not end in" in errors(findings(tmp_path, body))


def test_the_world_outside_the_context_is_warned_about(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        def run(self, task, ctx):
            import time, os.path
            from random import random
            ctx.evaluate(str(open))
            if task is None: open("x")
        """,
    )
    text = warnings(found)
    for words in (
        "imports time: a method has no clock",
        "imports os.path",
        "imports from random: draw",
        "calls open()",
    ):
        assert words in text
    assert "never goes through ctx.rounds()" in text and errors(found) == ""


def test_the_command_says_it_by_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "--check", EXAMPLE]) == 0
    assert capsys.readouterr().out.endswith("TwoShots keeps the contract\n")
    (tmp_path / "mine.py").write_text(HEAD + "    def run(self, task, ctx): ...\n")
    assert main(["methods", "--check", f"{tmp_path}/mine.py:Mine"]) == 1
    assert capsys.readouterr().out.endswith("Mine breaks the contract\n")
    assert main(["methods", "--check", "geka"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == "error: unknown method 'geka'; did you mean 'geak'?\n"
    assert main(["methods"]) == 0
    assert "-o candidates=2  (int)" in capsys.readouterr().out
