"""A reply that ended at the token limit is an outcome of its own, and the next prompt says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest
from fakes import broken, candidate, context, right, wrong
from loop_fakes import Verdicts, go, make_run, verdict

from agents.context import no_code
from agents.cutoff import CutReplies
from agents.protocol import Context, Reply, Request, Usage
from evaluator.records import Evaluation
from prompts.loader import Templates
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

SYNTAX = Evaluation(
    "t", "", Status.COMPILE_ERROR, Stage.STATIC, Reason.SYNTAX_ERROR, "SyntaxError: '(' was never closed"
)
NOTHING = no_code("t", "")


def told(reply: Reply, verdict: Evaluation, *, lane: int = 0, source: str | None = None) -> Evaluation:
    cut = CutReplies()
    assert cut.heard(0, reply) is reply
    return cut.told(lane, reply.code or "" if source is None else source, verdict)


@pytest.mark.parametrize(("code", "verdict"), [(None, NOTHING), ("def f(", SYNTAX)])
def test_no_whole_program_is_cut_off(code: str | None, verdict: Evaluation) -> None:
    found = told(Reply("...", code, "length", Usage(output_tokens=2048, reasoning_tokens=1500)), verdict)
    assert (found.status, found.stage, found.reason) == (Status.REJECTED, Stage.STATIC, Reason.CUT_OFF)
    assert "cut at 2,048 tokens, 1,500 of them for thinking" in found.diagnosis and "shorter" in found.diagnosis
    assert "most tokens that it may have" in told(Reply("...", code, "length"), verdict).diagnosis


def test_a_program_that_parses_keeps_its_verdict_with_a_note() -> None:
    found = told(Reply("...", "x = 1\n", "length", Usage(output_tokens=9)), wrong("3 of 5 differ\n"))
    assert (found.status, found.reason) == (Status.WRONG, Reason.MISMATCH)
    assert found.diagnosis.startswith("3 of 5 differ\nnote: The last reply was cut at 9 tokens")


def test_nothing_is_said_where_nothing_was_cut_or_lost() -> None:
    cut = Reply("...", "x = 1\n", "length")
    infra = Evaluation("t", "", Status.INFRA_ERROR, None, Reason.INFRASTRUCTURE, "the warm process died")
    for reply, given in ((cut, right()), (cut, infra), (Reply("...", "x = 1\n", "stop"), broken())):
        assert told(reply, given) is given
    assert told(cut, SYNTAX, lane=1) is SYNTAX and told(cut, SYNTAX, source="y = 1\n") is SYNTAX
    later = CutReplies()
    later.heard(0, Reply("...", None, "length"))
    later.heard(0, Reply("I give up.", None, "stop"))
    assert later.told(0, "", NOTHING) is NOTHING


@pytest.mark.parametrize("template", ["fix.j2", "reflect.j2", "optimise.j2"])
def test_the_next_prompt_says_it(template: str) -> None:
    ctx = context()
    last = candidate(0, told(Reply("...", None, "length", Usage(output_tokens=700)), NOTHING), source="")
    best = candidate(1, right())
    text = Templates().render(template, task=ctx.task, cases=[], last=last, best=best, attempts=[last])
    assert "rejected: cut_off" in text and "cut at 700 tokens" in text and "Answer shorter" in text


@dataclass
class Talker:
    """A model whose replies end at the limit before their program does, whatever it is asked."""

    name: ClassVar[str] = "tests/talker"
    simulated: ClassVar[bool] = True
    asked: list[str] = field(default_factory=list)

    def complete(self, request: Request) -> Reply:
        self.asked.append(request.messages[-1].content)
        return Reply("Well.\n```python\nimport triton\n\n\ndef f(x", None, "length", Usage(output_tokens=12))


class Static(Verdicts):
    """Judges by the parser alone."""

    def evaluate(self, task: Task, source: str) -> Evaluation:
        return SYNTAX if source.endswith("(x\n") else verdict(task.id, source, False)


def test_in_a_run_the_reply_decides_and_the_prompt_carries_it(tmp_path: Path) -> None:
    @dataclass
    class Twice:
        name: ClassVar[str] = "twice"

        def run(self, task: Task, ctx: Context) -> None:
            last = ctx.evaluate(ctx.ask("first").code)
            ctx.ask(ctx.render("fix.j2", told=last.evaluation.diagnosis))
            ctx.evaluate("import triton\n")

    run, talker = make_run(tmp_path / "r", names=["Toy/one"]), Talker()
    assert go(run, talker, Static(), Twice()).state == "done"
    assert "cut at 12 tokens" in talker.asked[1]
    verdicts = [one.evaluation for one in run.candidates("Toy/one")]
    assert [(one.status, one.reason) for one in verdicts] == [
        (Status.REJECTED, Reason.CUT_OFF),
        (Status.WRONG, Reason.MISMATCH),
    ]
    assert "cut at" not in verdicts[1].diagnosis
