"""What a model is told about its kernel: evidence first, short enough to act on, hidden cases not given away."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evaluator.advice import efficiency_lines
from evaluator.cases import Drawn
from evaluator.diagnosis_parts import CHARACTERS_MAX, Part, fitted, shortened, without_paths
from evaluator.hints import ON_CPU, hint_for, launch_line, without_values
from evaluator.hints_file import escape, masked, no_entry, on_import, sizes_by_torch, syntax
from evaluator.hints_launch import second_axis
from evaluator.hints_scene import scene_of
from evaluator.observe import Breach
from evaluator.patterns_relations import CHECK, SWAP
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
WRITE_IT = "allocate the output with torch.empty and let a kernel of this file write it"
WAY_ROUND = "the other cases launched a kernel: this one takes a path round it; let the kernel do it too"
LETS_PASS = "its mask lets these lanes pass: the mask, the offsets or a stride is wrong"
ODD = re.compile(r"(?:Odd )?Odd\(kind='([^']*)'\)")  # a value that is no tensor, number, list or tuple


def diagnose(task: Task, verdict: Verdict, source: str, characters: int = CHARACTERS_MAX) -> str:
    """The text for a judged candidate, correct ones included, of at most so many characters."""
    if verdict.failure is None:
        first = [build for build in verdict.builds if build.target == verdict.builds[0].target]
        lines = efficiency_lines(task, verdict.traffic, verdict.usage, first)
        return fitted([Part("correct"), *(Part(line, EVIDENCE) for line in lines)], characters)
    parts = _failure(task, verdict, verdict.failure, source)
    if verdict.failure.stage is Stage.COMPARE:
        parts += [Part(f"note: {warning}", NOTE) for warning in verdict.warnings[:2]]
    by_torch = sorted(set(verdict.torch_ops or ()) - set(task.allow))
    if by_torch and verdict.failure.reason is Reason.EXCEPTION:
        named = ", ".join(f"torch {name}" for name in by_torch[:4])
        parts.append(Part(f"note: what {named} did must be done in Triton too, or it will be refused", NOTE))
    return fitted(parts, characters)


def diagnose_static(finding: StaticFinding, source: str, characters: int = CHARACTERS_MAX) -> str:
    """The text for a source that was refused before it ran."""
    assert finding.reason is not None
    status = Status.COMPILE_ERROR if finding.reason is Reason.SYNTAX_ERROR else Status.REJECTED
    parts = [_headline(status, finding.reason, Stage.STATIC), Part(finding.message)]
    if finding.reason is Reason.SYNTAX_ERROR and (hint := syntax(finding.message, finding.line, source)):
        parts.append(Part(f"hint: {hint}", EVIDENCE))
    if finding.reason is Reason.ESCAPE:
        parts.append(Part(escape(finding.message) or "", EVIDENCE))
    return fitted([*parts, Part(_excerpt(source, finding.line, None), PLACE)], characters)


def diagnose_load(entry: str, failure: Failure, source: str, characters: int = CHARACTERS_MAX) -> str:
    """The text for a source that did not get through the load stage."""
    return fitted(
        [_headline(failure.status, failure.reason, failure.stage), *_cause(entry, failure, source)], characters
    )


def _headline(status: Status, reason: Reason, stage: Stage) -> Part:
    return Part(f"{status}: {reason} (stage: {stage})")


def _failure(task: Task, verdict: Verdict, failure: Failure, source: str) -> list[Part]:
    parts = [_headline(failure.status, failure.reason, failure.stage)]
    if failure.drawn:
        parts.append(Part(f"case: {_case(task, failure.drawn)}", CASE))
    if failure.breach:
        parts += _breach(failure.breach, verdict, failure, source)
    if failure.mismatch:
        # that elements are wrong is said by the headline too; with no pattern it is all there is
        generic = failure.reason in (Reason.MISMATCH, Reason.NON_FINITE) and failure.patterns
        result, *more = _mismatch(failure.mismatch, failure.drawn)
        parts += [replace(result, rank=GENERIC if generic else 0), *more]
        ranks = (0 if generic else SECOND, SECOND)
        words = [pattern.words for pattern in failure.patterns]
        if failure.reason is Reason.NO_LAUNCH:
            words = [text.replace(SWAP, "").replace(CHECK, "") for text in words]
        parts += [Part(f"pattern: {text}", rank) for text, rank in zip(words, ranks, strict=False)]
    told = [stray for stray in failure.strays if stray.get("store") or failure.mismatch]
    parts += [Part(_stray(stray, source), PLACE) for stray in told[:3]]
    return parts + _cause(task.entry, failure, source)


def _breach(breach: Breach, verdict: Verdict, failure: Failure, source: str) -> list[Part]:
    """The rule that was broken, what to do, and whether the values are right besides."""
    parts = [Part(breach.message)]
    if failure.reason in (Reason.TORCH_COMPUTE, Reason.NOT_FROM_KERNEL, Reason.NO_LAUNCH):
        sizes = sizes_by_torch(breach.message, source) if failure.reason is Reason.TORCH_COMPUTE else None
        parts.append(Part(sizes or WRITE_IT, EVIDENCE))
    if failure.reason is Reason.NO_LAUNCH and any(row.launches for row in verdict.rows or ()):
        parts.append(Part(WAY_ROUND, EVIDENCE))
    if failure.mismatch is None and failure.status is Status.REJECTED:
        if verdict.numerically_right:
            parts.append(Part("the values themselves are right", EVIDENCE))
        elif failure.drawn is not None:
            parts.append(Part("the values of this case are right", EVIDENCE))
    return parts


def _cause(entry: str, failure: Failure, source: str) -> list[Part]:
    """What was raised, what was lost, or which function is missing."""
    if failure.reason is Reason.NO_ENTRY:
        return [Part(no_entry(entry, [str(name) for name in failure.error.get("defined") or []], source))]
    if failure.loss:
        axis = second_axis(scene_of({}, source)) if failure.loss.kind == "deadline" else None
        return [*_loss(failure), Part(axis or "", EVIDENCE)]
    hidden = failure.drawn is not None and failure.drawn.kind != "public"
    at_import = on_import(failure.error, source) if failure.stage is Stage.LOAD else None
    return _error(entry, failure.error, source, at_import, hidden=hidden) if failure.error else []


def _case(task: Task, drawn: Drawn) -> str:
    if drawn.kind == "public":
        return f'public, "{drawn.case.label}": {describe_case(drawn.case, task)}'
    return f'{drawn.kind}, of the family "{drawn.case.label}"'


def _error(entry: str, error: Mapping[str, Any], source: str, at_import: str | None, *, hidden: bool) -> list[Part]:
    kind, message = str(error.get("type")), shortened(without_paths(str(error.get("message") or "")), MESSAGE_MAX)
    told = kind if message.rstrip(": ") == kind else f"{kind}: {message}".rstrip(": ")
    if hidden:
        error = without_values(error)
    place = _excerpt(source, error.get("line"), error.get("column"), str(error.get("text") or ""))
    hint = hint_for(error, source, entry)
    if at_import and hint == ON_CPU:  # an example has no inputs to follow
        hint = None
    return [
        Part(told),
        Part(place, PLACE),
        Part(launch_line(error) or "", LAUNCH),
        Part(f"hint: {hint}" if hint else "", EVIDENCE),
        Part(f"hint: {at_import}" if at_import else "", EVIDENCE),
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
        return [Part(ODD.sub(r"an object of type \1", mismatch.message))]
    message = ODD.sub(r"an object of type \1", mismatch.message)
    parts = [Part(message + (f" ({mismatch.fraction:.1%})" if mismatch.fraction is not None else ""))]
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
        f"{stray.get('bytes_off')} bytes beyond its end; "
    )
    told += LETS_PASS if masked(source, stray.get("line")) else "mask the lanes that have no element"
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
    log = [Part(f"its last output: {without_paths(failure.log.strip()[-500:])}", PLACE)] if failure.log.strip() else []
    return [Part(f"the process ended during {loss.during} ({how})"), *log]
