"""From a transcript to a verdict: the first failing stage gives the status, compile errors of any launch first."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evaluator import wire
from evaluator.advice_facts import Usage, usage_of
from evaluator.cases import Drawn
from evaluator.conversation import Answer, Loss, Transcript
from evaluator.layers import Layer
from evaluator.observe import Breach, overwritten, sighting, torch_breach
from evaluator.patterns import Pattern, Seen, patterns_of
from evaluator.records import CaseRow, KernelBuild
from evaluator.reported import builds_said, number, stray_warnings, strays_said, summed, targets_said
from tasks.judges import Mismatch, Truth, compare, truth_of
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task


@dataclass(frozen=True)
class Failure:
    """Why a candidate is not correct, with the evidence that its diagnosis is written from."""

    status: Status
    stage: Stage
    reason: Reason
    drawn: Drawn | None = None
    error: Mapping[str, Any] = field(default_factory=dict)
    mismatch: Mismatch | None = None
    patterns: Sequence[Pattern] = ()
    breach: Breach | None = None
    loss: Loss | None = None
    strays: Sequence[Mapping[str, Any]] = ()
    log: str = ""


@dataclass(frozen=True)
class Verdict:
    """A transcript judged: the failure that decides (None: correct), and what was seen of every case."""

    failure: Failure | None
    rows: tuple[CaseRow, ...]
    compiled: bool
    called: bool
    numerically_right: bool | None
    traffic: float | None
    builds: tuple[KernelBuild, ...]
    targets: Mapping[str, str]
    torch_ops: Mapping[str, int]
    usage: Usage
    warnings: tuple[str, ...]
    compile_s: float
    run_s: float


ORDER = [Stage.LOAD, Stage.RUN, Stage.CONTRACT, Stage.COMPARE]
WRONG_BREACHES = (Reason.STRUCTURE, Reason.INPUT_MUTATED, Reason.OVERWRITTEN)
COMPILE_REASONS = {"compilation": Reason.COMPILATION, "out_of_resources": Reason.OUT_OF_RESOURCES}


def judge(
    task: Task,
    drawn: Sequence[Drawn],
    transcripts: Sequence[Transcript],
    without: Collection[Layer] = (),
    truths: dict[int, Truth] | None = None,
) -> Verdict:
    """Judges what came back, from all the children that shared the cases, by every layer but those in `without`. The
    children are gone; only bytes are left. `truths` has what is known already of a case, by its index, and gets the
    rest."""
    truths = {} if truths is None else truths
    failures = [failure for transcript in transcripts for failure in _lost(transcript, drawn)]
    if Layer.TASKS not in without:
        failures += [failure for transcript in transcripts for failure in _survived(transcript)]
    answers = {index: answer for transcript in transcripts for index, answer in transcript.calls.items()}
    rows: list[CaseRow] = []
    looks: dict[int, Seen] = {}
    for index, entry in enumerate(drawn):
        if index not in answers:
            rows.append(CaseRow(entry.case.label, entry.kind, None))
            continue
        first = answers.get(entry.again_of) if entry.again_of is not None else None
        if index not in truths:
            truths[index] = truth_of(task, entry.case)
        row, failure, look = _case(task, entry, answers[index], first, without, truths[index])
        if look:
            looks[index] = look
        rows.append(row)
        if failure:
            failures.append(failure)
    headers = [answer.header for answer in answers.values()]
    built = [transcript.builds.header for transcript in transcripts if transcript.builds]
    judged = [row.right for row in rows]
    return Verdict(
        failure=_with_patterns(task, drawn, looks, min(failures, key=_precedence)) if failures else None,
        rows=tuple(rows),
        compiled=_loaded(transcripts) and not any(_before_running(failure) for failure in failures),
        called=bool(rows) and len(headers) == len(drawn) and all("error" not in header for header in headers),
        numerically_right=None if None in judged or not judged else all(judged),
        traffic=_traffic(rows),
        builds=tuple(build for header in built for build in builds_said(header)),
        targets=targets_said(built),
        torch_ops=summed(header.get("torch_ops") for header in headers),
        usage=usage_of(answers[i].header for i, entry in enumerate(drawn) if entry.kind == "timed" and i in answers),
        warnings=stray_warnings(headers),
        compile_s=sum(number(header.get("compile_s")) for header in headers),
        run_s=sum(number(header.get("run_s")) for header in headers),
    )


def _lost(transcript: Transcript, drawn: Sequence[Drawn]) -> list[Failure]:
    """Why a child has not answered for all of its cases; nothing when it has."""
    load = load_failure(transcript)
    if load:
        return [load]
    if transcript.builds and isinstance(failed := transcript.builds.header.get("failed"), dict):
        return [Failure(Status.COMPILE_ERROR, Stage.RUN, Reason.COMPILATION, error=failed)]
    if transcript.loss is None:
        return []
    return [_loss_failure(transcript, drawn[transcript.last] if transcript.last is not None else None)]


def _survived(transcript: Transcript) -> list[Failure]:
    """The warm process, which no candidate can write to, found processes running after the last answer."""
    count = transcript.ending.survivors
    if transcript.loss or not count:
        return []
    breach = Breach(Reason.SURVIVORS, f"{count} processes were left running", Layer.TASKS)
    return [Failure(Status.REJECTED, Stage.CONTRACT, Reason.SURVIVORS, breach=breach)]


def _precedence(failure: Failure) -> tuple[bool, bool, int, int]:
    """Compile errors first, then by stage; within a stage public cases before the others, which may be told in full.

    A call that was too slow comes last, since the cases that did return say more: the interpreter's time is no GPU's.
    """
    hidden = failure.drawn is not None and failure.drawn.kind != "public"
    slow = failure.status is Status.TIMEOUT and failure.stage is Stage.RUN and not _before_running(failure)
    return failure.status is not Status.COMPILE_ERROR, slow, ORDER.index(failure.stage), int(hidden)


def load_failure(transcript: Transcript) -> Failure | None:
    """Why a source did not get through the load stage; None when it did, and defines its entry."""
    if transcript.load is None:
        return _loss_failure(transcript, None)
    error = transcript.load.header.get("error")
    if isinstance(error, dict) and error.get("kind") in COMPILE_REASONS:  # a launch at the top of the file
        return Failure(Status.COMPILE_ERROR, Stage.LOAD, COMPILE_REASONS[error["kind"]], error=error)
    if isinstance(error, dict):
        return Failure(Status.RUNTIME_ERROR, Stage.LOAD, Reason.LOAD_ERROR, error=error, log=transcript.ending.log)
    if transcript.load.header.get("entry") is not True:
        return Failure(Status.RUNTIME_ERROR, Stage.LOAD, Reason.NO_ENTRY, error=transcript.load.header)
    return None


def _loss_failure(transcript: Transcript, drawn: Drawn | None) -> Failure:
    loss = transcript.loss or Loss("died", "load", "")
    stage = Stage.LOAD if loss.during == "load" else Stage.RUN
    status, reason = {
        "deadline": (Status.TIMEOUT, Reason.DEADLINE),
        "died": (Status.RUNTIME_ERROR, Reason.DIED),
        "protocol": (Status.REJECTED, Reason.PROTOCOL),
    }[loss.kind]
    error = {"exit_code": transcript.ending.exit_code}
    return Failure(status, stage, reason, drawn, error, loss=loss, log=transcript.ending.log)


def _case(
    task: Task, drawn: Drawn, answer: Answer, first: Answer | None, without: Collection[Layer], truth: Truth
) -> tuple[CaseRow, Failure | None, Seen | None]:
    header = answer.header
    facts: dict[str, Any] = {
        "label": drawn.case.label,
        "kind": drawn.kind,
        "launches": int(number(header.get("launches"))),
        "run_s": number(header.get("run_s")),
    }
    error = header.get("error")
    if isinstance(error, dict):
        breach = torch_breach(task, header) if _only_here(error) else None
        failure = _breached(drawn, breach) if breach else _error_failure(drawn, error)
        return CaseRow(right=None, reason=failure.reason, **facts), failure, None
    try:
        seen = sighting(task, drawn.case, answer, without)
        changed = overwritten(first, answer) if first and Layer.AGAIN not in without else None
    except wire.WireError as malformed:
        lost = Failure(
            Status.REJECTED, Stage.RUN, Reason.PROTOCOL, drawn, loss=Loss("protocol", "call", str(malformed))
        )
        return CaseRow(right=None, reason=lost.reason, **facts), lost, None
    mismatch = compare(task, drawn.case, seen.observed, truth)
    if drawn.kind == "timed":
        facts["bytes_moved"] = int(number(header.get("bytes_moved")))
        facts["bytes_min"] = task.cost(*drawn.case.args, **drawn.case.kwargs).bytes_min
    failure_or_none = _judged(drawn, header, seen.breach or changed, mismatch, without)
    reason = failure_or_none.reason if failure_or_none else None
    look = Seen(drawn.case, seen.observed, truth, strays_said(header))
    return CaseRow(right=mismatch is None, reason=reason, **facts), failure_or_none, look


def _with_patterns(task: Task, drawn: Sequence[Drawn], looks: Mapping[int, Seen], failure: Failure) -> Failure:
    """The failure that decides, with what its wrong values look like."""
    which = next((index for index in looks if drawn[index] is failure.drawn), None)
    if failure.mismatch is None or which is None:
        return failure
    others = [look for index, look in looks.items() if index != which]
    return replace(failure, patterns=tuple(patterns_of(task, looks[which], others)))


def _error_failure(drawn: Drawn, error: Mapping[str, Any]) -> Failure:
    kind = error.get("kind")
    if kind in COMPILE_REASONS:
        return Failure(Status.COMPILE_ERROR, Stage.RUN, COMPILE_REASONS[kind], drawn, error)
    if kind == "not_interpretable":
        return Failure(Status.REJECTED, Stage.RUN, Reason.NOT_INTERPRETABLE, drawn, error)
    return Failure(Status.RUNTIME_ERROR, Stage.RUN, Reason.EXCEPTION, drawn, error)


def _judged(
    drawn: Drawn,
    header: Mapping[str, Any],
    breach: Breach | None,
    mismatch: Mismatch | None,
    without: Collection[Layer],
) -> Failure | None:
    strays = strays_said(header)
    if any(stray.get("store") for stray in strays) and Layer.BOUNDS not in without:
        return Failure(Status.RUNTIME_ERROR, Stage.RUN, Reason.OUT_OF_BOUNDS_WRITE, drawn, strays=strays)
    if breach and not (breach.unwritten and mismatch):
        swallowed = header.get("swallowed") or []
        if breach.reason in (Reason.NO_LAUNCH, Reason.TORCH_COMPUTE, Reason.NOT_FROM_KERNEL) and swallowed:
            return _error_failure(drawn, swallowed[0])
        return _breached(drawn, breach, mismatch)
    if mismatch:
        formal = mismatch.reason in (Reason.STRUCTURE, Reason.SHAPE, Reason.DTYPE)
        if (Layer.FORM if formal else Layer.NUMERICS) in without:
            return None
        stage = Stage.CONTRACT if formal else Stage.COMPARE
        return Failure(Status.WRONG, stage, mismatch.reason, drawn, mismatch=mismatch, strays=strays)
    return None


def _breached(drawn: Drawn, breach: Breach, mismatch: Mismatch | None = None) -> Failure:
    status = Status.WRONG if breach.reason in WRONG_BREACHES else Status.REJECTED
    return Failure(status, Stage.CONTRACT, breach.reason, drawn, breach=breach, mismatch=mismatch)


def _only_here(error: Mapping[str, Any]) -> bool:
    """Whether torch raised for want of a GPU, where the call would have gone on."""
    return "not implemented on the CPU" in str(error.get("message"))


def _loaded(transcripts: Sequence[Transcript]) -> bool:
    return all(t.load is not None and t.load.header.get("entry") is True for t in transcripts)


def _before_running(failure: Failure) -> bool:
    """Whether the candidate failed to load, or a launch to compile."""
    compiling = failure.loss is not None and failure.loss.compiling is not None
    return failure.stage is Stage.LOAD or failure.status is Status.COMPILE_ERROR or compiling


def _traffic(rows: Sequence[CaseRow]) -> float | None:
    """Geometric mean of bytes moved over the minimum; None unless every stand-in was measured."""
    timed = [row for row in rows if row.kind == "timed"]
    ratios = [row.bytes_moved / row.bytes_min for row in timed if row.bytes_moved and row.bytes_min]
    if not ratios or len(ratios) < len(timed):
        return None
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
