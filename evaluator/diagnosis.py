"""What a model is told about its kernel: evidence first, short enough to act on, hidden cases not given away."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evaluator.cases import Drawn
from evaluator.hints import hint_for, launch_line, without_values
from evaluator.static import StaticFinding
from evaluator.verdict import Failure, Verdict
from tasks.describe import describe_case
from tasks.judges import Mismatch
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

CHARACTERS_MAX = 4000
MESSAGE_MAX = 1500
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]|\x1b\[[0-9;]*[A-Za-z]")
FOLDER = re.compile(r"(/[\w.\-]+)+/(?=candidate\.py)")


def diagnose(task: Task, verdict: Verdict, source: str) -> str:
    """The text for a judged candidate, correct ones included: at most CHARACTERS_MAX characters."""
    if verdict.failure is None:
        return clean("\n".join(_efficiency(verdict)))
    lines = _failure(task, verdict.failure, source)
    if verdict.failure.stage is Stage.COMPARE:
        lines += [f"note: {warning}" for warning in verdict.warnings[:2]]
    return clean("\n".join(lines))


def diagnose_static(finding: StaticFinding, source: str) -> str:
    """The text for a source that was refused before it ran."""
    assert finding.reason is not None
    status = Status.COMPILE_ERROR if finding.reason is Reason.SYNTAX_ERROR else Status.REJECTED
    lines = [_headline(status, finding.reason, Stage.STATIC), finding.message]
    if finding.reason is Reason.SYNTAX_ERROR and "```" in source:
        lines.append("hint: the source holds a Markdown fence; it must be the code alone")
    if finding.reason is Reason.ESCAPE:
        lines.append("a kernel file imports torch, triton, triton.language and math, and needs nothing else")
    return clean("\n".join(lines + _excerpt(source, finding.line, None)))


def diagnose_load(entry: str, failure: Failure, source: str) -> str:
    """The text for a source that did not get through the load stage."""
    return clean("\n".join([_headline(failure.status, failure.reason, failure.stage), *_cause(entry, failure, source)]))


def clean(text: str) -> str:
    """Without control characters, addresses and folders; head and tail kept when it is too long."""
    text = FOLDER.sub("", ADDRESS.sub("0x...", CONTROL.sub("", text)))
    if len(text) <= CHARACTERS_MAX:
        return text
    half = CHARACTERS_MAX // 2 - 10
    return f"{text[:half]}\n[...]\n{text[-half:]}"


def _headline(status: Status, reason: Reason, stage: Stage) -> str:
    return f"{status}: {reason} (stage: {stage})"


def _failure(task: Task, failure: Failure, source: str) -> list[str]:
    lines = [_headline(failure.status, failure.reason, failure.stage)]
    if failure.drawn:
        lines.append(f"case: {_case(task, failure.drawn)}")
    if failure.breach:
        lines.append(failure.breach.message)
        if failure.reason in (Reason.TORCH_COMPUTE, Reason.NOT_FROM_KERNEL, Reason.NO_LAUNCH):
            lines.append("allocate the output with torch.empty and let a kernel of this file write it")
        if failure.breach and failure.mismatch is None and failure.status is Status.REJECTED:
            lines.append("the values themselves are right")
    if failure.mismatch:
        lines += _mismatch(failure.mismatch, failure.drawn)
        lines += [f"pattern: {pattern.words}" for pattern in failure.patterns[:2]]
    if failure.strays:
        lines += [_stray(stray, source) for stray in failure.strays if stray.get("store") or failure.mismatch][:3]
    return lines + _cause(task.entry, failure, source)


def _cause(entry: str, failure: Failure, source: str) -> list[str]:
    """What was raised, what was lost, or which function is missing."""
    if failure.reason is Reason.NO_ENTRY:
        defined = ", ".join(map(str, failure.error.get("defined") or [])) or "nothing"
        return [f"the file must define {entry}; it defines {defined}"]
    hidden = failure.drawn is not None and failure.drawn.kind != "public"
    lines = _error(failure.error, source, hidden=hidden) if failure.error and failure.loss is None else []
    return lines + (_loss(failure) if failure.loss else [])


def _case(task: Task, drawn: Drawn) -> str:
    if drawn.kind == "public":
        return f'public, "{drawn.case.label}": {describe_case(drawn.case, task)}'
    return f'{drawn.kind}, of the family "{drawn.case.label}"'


def _error(error: Mapping[str, Any], source: str, *, hidden: bool) -> list[str]:
    message = str(error.get("message") or "")
    if len(message) > MESSAGE_MAX:
        message = f"{message[: MESSAGE_MAX // 3]}\n[...]\n{message[-2 * MESSAGE_MAX // 3 :]}"
    if hidden:
        error = without_values(error)
    lines = [f"{error.get('type')}: {message}".rstrip(": ")]
    lines += _excerpt(source, error.get("line"), error.get("column"), str(error.get("text") or ""))
    launch = launch_line(error)
    hint = hint_for(error, source)
    return lines + ([launch] if launch else []) + ([f"hint: {hint}"] if hint else [])


def _excerpt(source: str, line: Any, column: Any, text: str = "") -> list[str]:
    """The line with its number and, where the column is known, a caret."""
    rows = source.split("\n")
    if type(line) is int and 1 <= line <= len(rows):
        text = rows[line - 1]
        start = f"line {line}: "
    elif text:
        start = "at: "
    else:
        return []
    shown = f"{start}{text.rstrip()[:200]}"
    if type(column) is not int or column > 200:
        return [shown]
    # the compiler counts columns in the dedented kernel
    indent = len(text) - len(text.lstrip())
    shift = indent if indent and not text[column : column + 1].strip() else 0
    return [shown, " " * (len(start) + column + shift) + "^"]


def _mismatch(mismatch: Mismatch, drawn: Drawn | None) -> list[str]:
    public = drawn is None or drawn.kind == "public"
    if not public:
        coarse = _coarse(mismatch.fraction)
        name = mismatch.where
        if mismatch.reason is Reason.MISMATCH:
            return [f"{name}: {coarse} elements differ from the reference by more than the error budget"]
        if mismatch.reason is Reason.NON_FINITE:
            return [f"{name}: NaN or infinity where the reference has none, or the reverse, in {coarse} elements"]
        return [mismatch.message]
    lines = [mismatch.message + (f" ({mismatch.fraction:.1%})" if mismatch.fraction is not None else "")]
    if mismatch.index is not None:
        lines.append(f"worst element: {list(mismatch.index)}: got {mismatch.got}, expected {mismatch.expected}")
    if mismatch.max_abs is not None:
        lines.append(f"largest absolute error {mismatch.max_abs:.3g}, largest relative error {mismatch.max_rel:.3g}")
    return lines


def _coarse(fraction: float | None) -> str:
    if fraction is None:
        return "some"
    return "all" if fraction > 0.99 else "most" if fraction > 0.5 else "some" if fraction > 0.05 else "a few"


def _stray(stray: Mapping[str, Any], source: str) -> str:
    verb = "stores" if stray.get("store") else "loads"
    line = stray.get("line")
    where = "\n" + "\n".join(_excerpt(source, line, None)) if line else ""
    return (
        f"kernel {stray.get('kernel')} {verb} outside {stray.get('nearest')}: {stray.get('lanes')} lanes, up to "
        f"{stray.get('bytes_off')} bytes beyond its end; mask the lanes that have no element{where}"
    )


def _loss(failure: Failure) -> list[str]:
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
        return [f"{doing} took more than {loss.detail}"]
    if loss.kind == "protocol":
        return [f"the worker's answer was malformed: {loss.detail}"]
    code = failure.error.get("exit_code")
    how = f"signal {-code}" if isinstance(code, int) and code < 0 else f"exit code {code}"
    log = [f"its last output: {failure.log.strip()[-500:]}"] if failure.log.strip() else []
    return [f"the process ended during {loss.during} ({how})", *log]


def _efficiency(verdict: Verdict) -> list[str]:
    """For a correct kernel: the measured figure, then cause, effect and advice; five lines at most."""
    lines = ["correct"]
    if verdict.traffic is not None:
        lines.append(f"traffic: kernels move {verdict.traffic:.2f} times the bytes that the task needs at least")
        again = sorted(((n, name) for name, n in verdict.reads.items() if n > 1.05), reverse=True)
        lines += [
            f"{name} is read {times:.1f} times over; load it once and keep it in the kernel"
            for times, name in again[:2]
        ]
    launches = max((row.launches for row in verdict.rows), default=0)
    if launches > 1:
        lines.append(f"{launches} launches a call: each one costs a pass over memory for what the next one reads")
    spilled = [b for b in verdict.builds if b.spill_bytes]
    if spilled:
        lines.append(f"{spilled[0].kernel} spills {spilled[0].spill_bytes} bytes of registers: use smaller blocks")
    return lines[:5]
