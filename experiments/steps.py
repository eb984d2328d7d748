"""One task of a run, step by step: prompt, reply, source, verdict, and what changed since the parent."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.journal import printable, read_request
from agents.log import Event, texts_of
from agents.runfolder import ImportedSource, LoggedCandidate, Run, candidates_of, imported_of
from agents.verdicts import Recorded
from evaluator.records import Evaluation
from experiments.replay import check_until
from tasks.errors import UserError, unknown

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Part:
    """A text of a step; `language` is what to highlight it as, "" for plain text."""

    text: str
    language: str = ""


@dataclass(frozen=True)
class Step:
    """What is shown at once."""

    title: str
    parts: tuple[Part, ...]


def step(run: Run, task_id: str, *, until: int | None = None) -> int:
    """Prints one task of a run, up to and with round `until`. Returns exit code 0.

    On a terminal each step waits for Enter, and `q` ends; elsewhere all comes at once, without colours. `task_id` is an
    id, or its last part. Raises UserError for a task that the run does not have, or has not begun, a round that it does
    not have, and a damaged log.
    """
    from rich.console import Console

    check_until(until, run.rounds)
    task = _named(run, task_id)
    steps = steps_of(run, task, until)
    if not steps:
        raise UserError(f"{task} holds nothing{f' up to round {until}' if until is not None else ''}")
    console = Console(highlight=False, markup=False)
    waits = console.is_terminal and sys.stdin.isatty()
    if run.simulation_notice:
        print(run.simulation_notice)
    for number, one in enumerate(steps, start=1):
        _show(console, f"{task} [{number} of {len(steps)}] {printable(one.title)}", one.parts)
        if waits and number < len(steps) and not _go_on():
            break
    return 0


def steps_of(run: Run, task: str, until: int | None = None) -> list[Step]:
    """The steps of a task, in the order of its log; a reply follows its request. Raises UserError without a log."""
    events = run.events(task)
    if not events:
        raise UserError(f"{task} is not begun in {run.path}")
    return list(_imported_steps(task, events, until) if run.imported else _steps(task, events, until))


def _named(run: Run, name: str) -> str:
    wanted = name.removesuffix(".py")
    if wanted in run.tasks:
        return wanted
    same = [task for task in run.tasks if task.rpartition("/")[2] == wanted.rpartition("/")[2]]
    if len(same) != 1:
        raise unknown("task of this run", name, run.tasks)
    return same[0]


def _steps(task: str, events: Sequence[Event], until: int | None) -> Iterator[Step]:
    texts = texts_of(list(events))
    replies = {(event["key"], event["n"]): event for event in events if event["type"] == "reply"}
    candidates = {one.index: one for one in candidates_of(task, list(events))}
    for event in _in_order(events):
        if until is not None and event.get("round", 0) > until:
            break
        if event["type"] == "request":
            place = f"round {event['round']}, request {event['index']}"
            yield Step(f"{place}: the prompt", (Part(read_request(event, texts)),))
            yield _reply_step(place, replies.get((event["key"], event["n"])), texts)
        elif event["type"] == "evaluation":
            yield _candidate_step(candidates[event["index"]], candidates)
        elif event["type"] == "task_end" and until is None:
            said = [event["state"], event["reason"], event["traceback"]]
            yield Step("a session ends", (Part("\n".join(text for text in said if text)),))


def _in_order(events: Sequence[Event]) -> Iterator[Event]:
    """Events in the method's order. Verdicts come in in any order, and one that was reached anew stands twice."""
    judged: dict[int, Event] = {}
    shown: set[int] = set()
    for event in events:
        if event["type"] == "evaluation":
            judged[event["index"]] = event
        elif event["type"] not in ("text", "reply"):
            yield from (judged[index] for index in sorted(judged) if index not in shown)
            shown |= judged.keys()
            yield event
    yield from (judged[index] for index in sorted(judged) if index not in shown)


def _reply_step(place: str, reply: Event | None, texts: Mapping[str, str]) -> Step:
    if reply is None:
        return Step(f"{place}: no reply is recorded", (Part("(none)"),))
    usage = {name: value for name, value in reply["usage"].items() if value is not None}
    facts = {"finish_reason": reply["finish_reason"], **usage}
    told = ", ".join(f"{name} {value}" for name, value in facts.items() if value is not None)
    return Step(f"{place}: the reply{f' ({told})' if told else ''}", (Part(texts[reply["text"]]),))


def _candidate_step(one: LoggedCandidate, candidates: Mapping[int, LoggedCandidate]) -> Step:
    title = f"round {one.round}, candidate {one.index} (lane {one.lane}): {one.evaluation.outcome}"
    parents = [candidates[index] for index in one.parents if one.source.strip()]
    differences = (_difference(parent, one) for parent in parents)
    return Step(title, (_source_part(one.source), Part(_verdict_text(one.evaluation)), *differences))


def _imported_steps(task: str, events: Sequence[Event], until: int | None) -> Iterator[Step]:
    ours = {one.index: one.evaluation for one in candidates_of(task, list(events))}
    for one in imported_of(task, list(events)):
        if until is None or one.round <= until:
            yield _imported_step(one, ours.get(one.index))


def _imported_step(one: ImportedSource, ours: Evaluation | None) -> Step:
    told = Part(f"its origin: {_recorded_text(one.recorded)}")
    here = Part(_verdict_text(ours) if ours else "not judged here")
    return Step(f"round {one.round}, source {one.index}", (_source_part(one.source), told, here))


def _source_part(source: str) -> Part:
    return Part(source, "python") if source.strip() else Part("(no code)")


def _verdict_text(evaluation: Evaluation) -> str:
    figures = {"traffic": evaluation.traffic, "speedup": evaluation.speedup}
    known = "".join(f", {name} {value:.2f}x" for name, value in figures.items() if value is not None)
    diagnosis = f"\n{evaluation.diagnosis.strip()}" if evaluation.diagnosis.strip() else ""
    return f"verdict: {evaluation.outcome}{known}{diagnosis}"


def _recorded_text(recorded: Recorded | None) -> str:
    if recorded is None:
        return "no verdict"
    facts: dict[str, Any] = {name: value for name, value in recorded.to_json().items() if name != "error"}
    known = ", ".join(f"{name} {value}" for name, value in facts.items() if value is not None)
    return "\n".join(text for text in (known or "no verdict", recorded.error.strip()) if text)


def _difference(parent: LoggedCandidate, one: LoggedCandidate) -> Part:
    names = (f"candidate {parent.index}", f"candidate {one.index}")
    lines = difflib.unified_diff(parent.source.splitlines(), one.source.splitlines(), *names, lineterm="")
    return Part("\n".join(lines) or f"the same source as candidate {parent.index}", "diff")


def _show(console: Console, title: str, parts: Sequence[Part]) -> None:
    if not console.is_terminal:
        # rich would fill lines up and break them at a width that a file does not have
        print(f"==== {title}", *(printable(part.text) for part in parts), sep="\n\n", end="\n\n")
        return
    from rich.syntax import Syntax

    console.rule(title)
    for part in parts:
        text = printable(part.text)
        shown = Syntax(text, part.language, word_wrap=True, background_color="default") if part.language else text
        console.print(shown, soft_wrap=not part.language)
        console.print()


def _go_on() -> bool:
    try:
        return input("Enter goes on, q ends: ").strip().lower() != "q"
    except (EOFError, KeyboardInterrupt):
        return False
