"""What a model is told about its kernel: evidence first, short enough to act on, hidden cases not given away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evaluator.advice import efficiency_lines
from evaluator.cases import Drawn
from evaluator.diagnosis_parts import CHARACTERS_MAX, Part, fitted, shortened
from evaluator.hints import hint_for, launch_line, without_values
from evaluator.static import StaticFinding
from evaluator.verdict import Failure, Verdict
from tasks.describe import describe_case
from tasks.judges import Mismatch
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

MESSAGE_MAX = 1500
# what goes first where there is no room; evidence and hints stay longest
SECOND, GENERIC, EVIDENCE, PLACE, CASE, LAUNCH, NOTE = 1, 2, 3, 4, 5, 6, 7
LONG_COMPILATION = (
    "the compiler unrolls the whole tile and each tl.static_range: take smaller blocks, tl.range in place of "
    "tl.static_range"
)


def diagnose(task: Task, verdict: Verdict, source: str, characters: int = CHARACTERS_MAX) -> str:
    """The text for a judged candidate, correct ones included, of at most so many characters."""
    if verdict.failure is None:
        lines = efficiency_lines(task, verdict.traffic, verdict.usage, verdict.builds)
        return fitted([Part("correct"), *(Part(line, EVIDENCE) for line in lines)], characters)
    parts = _failure(task, verdict.failure, source)
    if verdict.failure.stage is Stage.COMPARE:
        parts += [Part(f"note: {warning}", NOTE) for warning in verdict.warnings[:2]]
    return fitted(parts, characters)


def diagnose_static(finding: StaticFinding, source: str, characters: int = CHARACTERS_MAX) -> str:
    """The text for a source that was refused before it ran."""
    assert finding.reason is not None
    status = Status.COMPILE_ERROR if finding.reason is Reason.SYNTAX_ERROR else Status.REJECTED
    parts = [_headline(status, finding.reason, Stage.STATIC), Part(finding.message)]
    if finding.reason is Reason.SYNTAX_ERROR and "```" in source:
        parts.append(Part("hint: the source holds a Markdown fence; it must be the code alone", EVIDENCE))
    if finding.reason is Reason.ESCAPE:
        allowed = "a kernel file imports torch, triton, triton.language and math, and needs nothing else"
        parts.append(Part(allowed, EVIDENCE))
    return fitted([*parts, Part(_excerpt(source, finding.line, None), PLACE)], characters)


def diagnose_load(entry: str, failure: Failure, source: str, characters: int = CHARACTERS_MAX) -> str:
    """The text for a source that did not get through the load stage."""
    return fitted(
        [_headline(failure.status, failure.reason, failure.stage), *_cause(entry, failure, source)], characters
    )


def _headline(status: Status, reason: Reason, stage: Stage) -> Part:
    return Part(f"{status}: {reason} (stage: {stage})")


def _failure(task: Task, failure: Failure, source: str) -> list[Part]:
    parts = [_headline(failure.status, failure.reason, failure.stage)]
    if failure.drawn:
        parts.append(Part(f"case: {_case(task, failure.drawn)}", CASE))
    if failure.breach:
        parts.append(Part(failure.breach.message))
        if failure.reason in (Reason.TORCH_COMPUTE, Reason.NOT_FROM_KERNEL, Reason.NO_LAUNCH):
            parts.append(Part("allocate the output with torch.empty and let a kernel of this file write it", EVIDENCE))
        if failure.mismatch is None and failure.status is Status.REJECTED:
            parts.append(Part("the values themselves are right", EVIDENCE))
    if failure.mismatch:
        # that elements are wrong is said by the headline too; with no pattern it is all there is
        generic = failure.reason in (Reason.MISMATCH, Reason.NON_FINITE) and failure.patterns
        result, *more = _mismatch(failure.mismatch, failure.drawn)
        parts += [replace(result, rank=GENERIC if generic else 0), *more]
        ranks = (0 if generic else SECOND, SECOND)
        parts += [Part(f"pattern: {p.words}", rank) for p, rank in zip(failure.patterns, ranks, strict=False)]
    told = [stray for stray in failure.strays if stray.get("store") or failure.mismatch]
    parts += [Part(_stray(stray, source), PLACE) for stray in told[:3]]
    return parts + _cause(task.entry, failure, source)


def _cause(entry: str, failure: Failure, source: str) -> list[Part]:
    """What was raised, what was lost, or which function is missing."""
    if failure.reason is Reason.NO_ENTRY:
        defined = ", ".join(map(str, failure.error.get("defined") or [])) or "nothing"
        return [Part(f"the file must define {entry}; it defines {defined}")]
    if failure.loss:
        return _loss(failure)
    hidden = failure.drawn is not None and failure.drawn.kind != "public"
    return _error(failure.error, source, hidden=hidden) if failure.error else []


def _case(task: Task, drawn: Drawn) -> str:
    if drawn.kind == "public":
        return f'public, "{drawn.case.label}": {describe_case(drawn.case, task)}'
    return f'{drawn.kind}, of the family "{drawn.case.label}"'


def _error(error: Mapping[str, Any], source: str, *, hidden: bool) -> list[Part]:
    message = shortened(str(error.get("message") or ""), MESSAGE_MAX)
    if hidden:
        error = without_values(error)
    place = _excerpt(source, error.get("line"), error.get("column"), str(error.get("text") or ""))
    hint = hint_for(error, source)
    return [
        Part(f"{error.get('type')}: {message}".rstrip(": ")),
        Part(place, PLACE),
        Part(launch_line(error) or "", LAUNCH),
        Part(f"hint: {hint}" if hint else "", EVIDENCE),
    ]


def _excerpt(source: str, line: Any, column: Any, text: str = "") -> str:
    """The line with its number and, where the column is known, a caret below it; empty where the line isn't known."""
    rows = source.split("\n")
    if type(line) is int and 1 <= line <= len(rows):
        text = rows[line - 1]
        start = f"line {line}: "
    elif text:
        start = "at: "
    else:
        return ""
    shown = f"{start}{text.rstrip()[:200]}"
    if type(column) is not int or column > 200:
        return shown
    # the compiler counts columns in the dedented kernel
    indent = len(text) - len(text.lstrip())
    shift = indent if indent and not text[column : column + 1].strip() else 0
    return f"{shown}\n{' ' * (len(start) + column + shift)}^"


def _mismatch(mismatch: Mismatch, drawn: Drawn | None) -> list[Part]:
    if drawn is not None and drawn.kind != "public":
        coarse, name = _coarse(mismatch.fraction), mismatch.where
        if mismatch.reason is Reason.MISMATCH:
            return [Part(f"{name}: {coarse} elements differ from the reference by more than the error budget")]
        if mismatch.reason is Reason.NON_FINITE:
            return [Part(f"{mismatch.message}, in {coarse} elements")]
        return [Part(mismatch.message)]
    parts = [Part(mismatch.message + (f" ({mismatch.fraction:.1%})" if mismatch.fraction is not None else ""))]
    if mismatch.index is not None:
        words = f"worst element: {list(mismatch.index)}: got {mismatch.got}, expected {mismatch.expected}"
        parts.append(Part(words, EVIDENCE))
    if mismatch.max_abs is not None:
        words = f"largest absolute error {mismatch.max_abs:.3g}, largest relative error {mismatch.max_rel:.3g}"
        parts.append(Part(words, PLACE))
    return parts


def _coarse(fraction: float | None) -> str:
    if fraction is None:
        return "some"
    return "all" if fraction > 0.99 else "most" if fraction > 0.5 else "some" if fraction > 0.05 else "a few"


def _stray(stray: Mapping[str, Any], source: str) -> str:
    verb = "stores" if stray.get("store") else "loads"
    where = _excerpt(source, stray.get("line"), None)
    told = (
        f"kernel {stray.get('kernel')} {verb} outside {stray.get('nearest')}: {stray.get('lanes')} lanes, up to "
        f"{stray.get('bytes_off')} bytes beyond its end; mask the lanes that have no element"
    )
    return f"{told}\n{where}" if where else told


def _loss(failure: Failure) -> list[Part]:
    loss = failure.loss
    assert loss is not None
    if loss.kind == "deadline":
        doing = (
            f"compiling {loss.compiling}"
            if loss.compiling
            else "loading the file"
            if loss.during == "load"
            else "the call"
        )
        advice = [Part(LONG_COMPILATION, EVIDENCE)] if loss.compiling else []
        return [Part(f"{doing} took more than {loss.detail}"), *advice]
    if loss.kind == "protocol":
        return [Part(f"the worker's answer was malformed: {loss.detail}")]
    code = failure.error.get("exit_code")
    how = f"signal {-code}" if isinstance(code, int) and code < 0 else f"exit code {code}"
    log = [Part(f"its last output: {failure.log.strip()[-500:]}", PLACE)] if failure.log.strip() else []
    return [Part(f"the process ended during {loss.during} ({how})"), *log]
