"""Whether a method adapter keeps the contract: its shape, and what it does in dry runs without model or evaluator."""

from __future__ import annotations

import ast
import inspect
import threading
import traceback
import typing
from collections.abc import Iterator
from dataclasses import dataclass

from agents.protocol import Method, Request
from agents.registry import convertible, find, flaws, load_method, options_of
from agents.scripted import Endless, Event, ScriptedContext
from evaluator.records import Evaluation
from tasks.outcomes import Reason, Stage, Status
from tasks.parsing import parse
from tasks.task import Task

ROUNDS = 4
DEADLINE_S = 20.0
NO_CODE_REPLY = "I can't think of a kernel for this."
VERDICTS = (
    Evaluation("", "", Status.COMPILE_ERROR, Stage.RUN, Reason.COMPILATION, "line 3: name 'x' is not defined"),
    Evaluation("", "", Status.WRONG, Stage.COMPARE, Reason.MISMATCH, "12 of 165 elements differ", compiled=True),
    Evaluation("", "", Status.CORRECT, None, None, "reads its input twice", compiled=True, called=True, traffic=2.0),
    Evaluation("", "", Status.CORRECT, None, None, "nothing left to gain", compiled=True, called=True, traffic=1.0),
)
OUTSIDE = {
    "time": "a method has no clock",
    "datetime": "a method has no clock",
    "random": "draw from ctx.rng",
    "secrets": "draw from ctx.rng",
    "uuid": "draw from ctx.rng",
    "os": "a method has no files and no environment",
    "pathlib": "a method has no files",
    "tempfile": "a method has no files",
    "subprocess": "a method starts no processes",
    "multiprocessing": "a method starts no processes",
    "threading": "ctx.ask_many and ctx.evaluate_many run in parallel",
    "concurrent": "ctx.ask_many and ctx.evaluate_many run in parallel",
    "asyncio": "ctx.ask_many and ctx.evaluate_many run in parallel",
    "socket": "ask through ctx",
    "urllib": "ask through ctx",
    "http": "ask through ctx",
    "requests": "ask through ctx",
    "httpx": "ask through ctx",
    "aiohttp": "ask through ctx",
    "openai": "ask through ctx",
    "anthropic": "ask through ctx",
    "litellm": "ask through ctx",
}
CALLS = {
    "open": "a method has no files",
    "input": "nobody is there to answer",
    "hash": "hashes of text differ from process to process",
    "id": "addresses differ from process to process",
}


@dataclass(frozen=True)
class Finding:
    """One line of a check: `level` is ok, warning or error."""

    level: str
    text: str


def check_method(spec: str, task: Task) -> list[Finding]:
    """The findings on the method that `spec` names, after dry runs on `task`; an error breaks the contract.

    Raises UserError when there is no such class, or its file does not load.
    """
    found = find(spec)
    wrong = [Finding("error", f"{found.__name__} {flaw}") for flaw in flaws(found)]
    if wrong:
        return wrong
    method = typing.cast("type[Method]", found)
    findings = [Finding("ok", f"a dataclass named {method.name!r} with run(task, ctx)")]
    findings += _options(method)
    if not any(finding.level == "error" for finding in findings):
        findings += _dry_runs(spec, task)
    return findings + [Finding("warning", text) for text in _outside(method)]


def _options(method: type[Method]) -> Iterator[Finding]:
    types_of = typing.get_type_hints(method)
    names = [option.name for option in options_of(method)]
    odd = [name for name in names if not convertible(types_of[name])]
    if odd:
        yield Finding(
            "error", f"options that no text can be converted to: {', '.join(odd)}; use int, float, bool or str"
        )
    try:
        method()
    except Exception as error:  # the border of plug-in loading
        yield Finding("error", f"can't be made without arguments: {type(error).__name__}: {error}")
    else:
        yield Finding("ok", f"can be made without arguments; options: {', '.join(names) or 'none'}")


def _dry_runs(spec: str, task: Task) -> Iterator[Finding]:
    """One instance runs twice and another once: what an instance remembers from task to task shows as a difference."""
    used = load_method(spec, {})
    try:
        first, again, other = (_dry_run(method, task) for method in (used, used, load_method(spec, {})))
    except _BrokenRun as error:
        yield Finding("error", str(error))
        return
    asks, submits, rounds = (sum(event.kind == kind for event in first) for kind in ("ask", "submit", "round"))
    if not submits:
        yield Finding("error", "a dry run ends without a submitted candidate; call ctx.evaluate")
    else:
        yield Finding(
            "ok", f"a dry run ends after {rounds} of {_rounds(used)} rounds, {asks} requests, {submits} candidates"
        )
    if not rounds:
        yield Finding("warning", "never goes through ctx.rounds(), so --rounds has no effect on it")
    for what, events in (("the same object", again), ("a new object", other)):
        place = _first_difference(first, events)
        if place is not None:
            yield Finding("error", f"not deterministic: a second dry run, by {what}, differs at {place}")
            return
    yield Finding("ok", "dry runs with the same answers do the same")


class _BrokenRun(Exception):
    """A dry run that raised, or did not end."""


def _dry_run(method: Method, task: Task) -> list[Event]:
    """What the method does when it is answered by the script. A thread, since a method may never end."""
    ctx = ScriptedContext(task, _reply, VERDICTS, rounds=_rounds(method))
    raised: list[BaseException] = []

    def run() -> None:
        try:
            method.run(task, ctx)
        except BaseException as error:  # the border of plug-in loading, and Endless
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    if thread.is_alive():
        raise _BrokenRun(f"a dry run did not end in {DEADLINE_S:.0f} s")
    if raised and isinstance(raised[0], Endless):
        raise _BrokenRun(f"a dry run does not end: {raised[0]}")
    if raised:
        line = traceback.extract_tb(raised[0].__traceback__)[-1]
        for frame in traceback.extract_tb(raised[0].__traceback__):
            if frame.filename == inspect.getfile(type(method)):
                line = frame
        raise _BrokenRun(f"a dry run raised {type(raised[0]).__name__}, line {line.lineno}: {raised[0]}")
    return ctx.events


def _rounds(method: Method) -> int:
    return min(ROUNDS, getattr(method, "max_rounds", None) or ROUNDS)


def _reply(request: Request) -> str:
    """A source that differs from attempt to attempt; each lane's second reply has none, as happens."""
    if request.attempt == 1:
        return NO_CODE_REPLY
    return f"The kernel:\n\n```python\nimport triton\n\nATTEMPT = ({request.lane}, {request.attempt})\n```\n"


def _first_difference(first: list[Event], second: list[Event]) -> str | None:
    for place, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            same = f"{one.kind} with other contents" if one.kind == other.kind else f"{one.kind}, then {other.kind}"
            return f"step {place + 1} ({same})"
    return None if len(first) == len(second) else f"step {min(len(first), len(second)) + 1} (one of them ends there)"


def _outside(method: type[Method]) -> Iterator[str]:
    """What the method's file uses besides the context."""
    try:
        tree = parse(inspect.getsource(inspect.getmodule(method) or method))
    except (OSError, TypeError, SyntaxError):
        yield "its source can't be read, so that imports were not looked at"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] in OUTSIDE:
                    yield f"line {node.lineno}: imports {name.name}: {OUTSIDE[name.name.split('.')[0]]}"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OUTSIDE:
            yield f"line {node.lineno}: imports from {node.module}: {OUTSIDE[str(node.module).split('.')[0]]}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            yield f"line {node.lineno}: calls {node.func.id}(): {CALLS[node.func.id]}"
