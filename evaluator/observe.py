"""What a call left behind, rebuilt from the worker's bytes, and the first breach of the contract in it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from evaluator import wire
from evaluator.conversation import Answer
from evaluator.layers import Layer
from tasks.calls import Observed
from tasks.outcomes import Reason
from tasks.task import Case, Task

# one element read by the host at a time could read them all
ALLOWED_TIMES = {"_local_scalar_dense": 4}


@dataclass(frozen=True)
class Odd:
    """A returned value that is no tensor, number, list or tuple; `kind` is the name of its type."""

    kind: str


@dataclass(frozen=True)
class Breach:
    """A broken rule of the contract: how the output came about, not what its values are.

    `layer` is the defence that saw it. `unwritten`: nobody wrote the output at all, which wrong values tell better.
    """

    reason: Reason
    message: str
    layer: Layer
    unwritten: bool = False


@dataclass(frozen=True)
class Sighting:
    """One call's values, and the first breach of the contract in it."""

    observed: Observed
    breach: Breach | None


def sighting(task: Task, case: Case, answer: Answer, without: Collection[Layer] = ()) -> Sighting:
    """What one call left, judged by every layer but those in `without`.

    Raises wire.WireError when the worker's report is not what a worker sends."""
    header, frames = answer.header, answer.frames
    returned = _value(header.get("returned"), frames, 0)
    leaves = _tensors(header.get("returned"), "result", 0)
    names = _names(task, case)
    reports = header.get("arguments")
    if not isinstance(reports, list) or len(reports) != len(names):
        raise wire.WireError("the arguments that came back are not those that were sent")
    after = {name: _value(report, frames, 0) for name, report in zip(names, reports, strict=True)}
    by_name = dict(zip(names, reports, strict=True))
    before = dict(zip(names, [*case.args, *case.kwargs.values()], strict=True))
    mutated = {name: after[name] for name in task.mutates if isinstance(after.get(name), torch.Tensor)}
    observed = Observed(returned if task.returns else None, mutated)
    breaches = chain(
        _input_breaches(task, before, after, _storages(header, names, frames)),
        _launch_breaches(task, header, observed),
        _output_breaches(task, before, leaves) if task.returns else (),
        _mutation_breaches(task, before, after, by_name),
    )
    return Sighting(observed, next((breach for breach in breaches if breach.layer not in without), None))


def kept_values(task: Task, case: Case, answer: Answer) -> Observed:
    """The values that one timed call left. Raises wire.WireError as `sighting` does."""
    if "arguments" in answer.header:
        return sighting(task, case, answer).observed
    returned = _value(answer.header.get("returned"), answer.frames, 0)
    return Observed(returned if task.returns else None, {})


def same_values(one: Sighting, other: Sighting) -> bool:
    """Whether two calls left the same: structure, values, and every bit of every tensor."""
    ours, theirs = one.observed.leaves(), other.observed.leaves()
    return len(ours) == len(theirs) and all(
        a == b and _same_bits(x, y) if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) else (a, x) == (b, y)
        for (a, x), (b, y) in zip(ours, theirs, strict=True)
    )


def overwritten(first: Answer, second: Answer) -> Breach | None:
    """Whether the results of a call changed when the function was called again. Raises wire.WireError."""
    before = _tensors(first.header.get("returned"), "result", 0)
    after = _tensors(second.header.get("earlier"), "result", 0)
    for (name, then), (_, now) in zip(before, after, strict=False):
        given = then.get("shares") or now.get("shares")
        if not given and not _same_bits(_tensor(dict(then), first.frames), _tensor(dict(now), second.frames)):
            message = f"{name} of an earlier call changed when the function was called again: each call needs its own"
            return Breach(Reason.OVERWRITTEN, message, Layer.AGAIN)
    return None


def _launch_breaches(task: Task, header: Mapping[str, Any], observed: Observed) -> Iterator[Breach]:
    started = header.get("started")
    if isinstance(started, list) and started:
        message = f"a kernel file starts nothing besides its kernels; this one started {', '.join(map(str, started))}"
        yield Breach(Reason.SURVIVORS, message[:300], Layer.TASKS)
    named = _refused_ops(task, header)
    empty = all(not isinstance(v, torch.Tensor) or v.numel() == 0 for _, v in observed.leaves())
    if not header.get("launches") and not empty:
        also = f"; it computed with {named}" if named else ""
        yield Breach(Reason.NO_LAUNCH, f"no kernel of this file was launched in the call{also}", Layer.LAUNCHES)
    if breach := torch_breach(task, header):
        yield breach


def torch_breach(task: Task, header: Mapping[str, Any]) -> Breach | None:
    """What torch computed in the call though the task does not allow it."""
    named = _refused_ops(task, header)
    message = f"operations that must be done in Triton were done by torch: {named}"
    return Breach(Reason.TORCH_COMPUTE, message, Layer.TORCH) if named else None


def _refused_ops(task: Task, header: Mapping[str, Any]) -> str:
    counts = _counts(header.get("torch_ops"))
    refused = {name: n for name, n in counts.items() if name not in task.allow or n > ALLOWED_TIMES.get(name, n)}
    return ", ".join(f"torch {name} x{n}" for name, n in sorted(refused.items()))


def _input_breaches(
    task: Task, before: Mapping[str, Any], after: Mapping[str, Any], storages: Mapping[str, bytearray]
) -> Iterator[Breach]:
    for name, value in before.items():
        if name in task.mutates or name == task.writes_to:
            continue
        beside = name in storages and bytes(storages[name]) != bytes(wire.view_of(value))
        if beside or not _unchanged(value, after[name]):
            message = f"the call changed its input {name}, which must be left alone"
            yield Breach(Reason.INPUT_MUTATED, message, Layer.INPUTS)


def _output_breaches(
    task: Task, before: Mapping[str, Any], leaves: list[tuple[str, Mapping[str, Any]]]
) -> Iterator[Breach]:
    given = task.writes_to is not None and isinstance(before.get(task.writes_to), torch.Tensor)
    for name, report in leaves:
        shares = [str(other) for other in report.get("shares", [])]
        argument = {str(i): key for i, key in enumerate(before)}
        shared = [argument.get(other, other) for other in shares]
        if given and leaves and task.writes_to not in shared:
            message = f"with {task.writes_to}= given, it must be written and returned"
            yield Breach(Reason.STRUCTURE, message, Layer.FORM)
        foreign = [other for other in shared if other != task.writes_to and other not in task.mutates]
        if foreign and math.prod(report["shape"]):
            yield Breach(Reason.ALIASES_INPUT, f"{name} shares its memory with the input {foreign[0]}", Layer.ALIAS)
        if _overlaps(report["shape"], report["strides"]):
            yield Breach(Reason.STRUCTURE, f"{name} is an overlapping view: its elements share memory", Layer.ALIAS)
        if report.get("lazy"):
            yield Breach(
                Reason.STRUCTURE, f"{name} is a lazy view: conjugation or sign is still to be done", Layer.FORM
            )
        if report.get("host"):
            yield Breach(Reason.STRUCTURE, f"{name} is on the CPU, not on the GPU where the inputs are", Layer.FORM)
        if report.get("attributes"):
            message = f"{name} carries attributes of its own: {report['attributes']}"[:200]
            yield Breach(Reason.STRUCTURE, message, Layer.FORM)
        if math.prod(report["shape"]) and report.get("writer") != "kernel":
            if report.get("writer") is None:
                message = f"{name} was never written by a kernel"
                yield Breach(Reason.NOT_FROM_KERNEL, message, Layer.LAUNCHES, unwritten=True)
            else:
                message = f"{name} was last written by torch (a cast, copy or fill), not by a kernel of this file"
                yield Breach(Reason.NOT_FROM_KERNEL, message, Layer.LAUNCHES)


def _mutation_breaches(
    task: Task, before: Mapping[str, Any], after: Mapping[str, Any], reports: Mapping[str, Mapping[str, Any]]
) -> Iterator[Breach]:
    for name in task.mutates:
        value = before.get(name)
        if not isinstance(value, torch.Tensor) or not isinstance(after.get(name), torch.Tensor):
            continue
        if not _same_bits(value, after[name]) and reports[name].get("writer") != "kernel":
            message = f"{name} was changed by torch, not by a kernel of this file"
            yield Breach(Reason.NOT_FROM_KERNEL, message, Layer.LAUNCHES)


def _names(task: Task, case: Case) -> list[str]:
    """The parameter name of each argument in the order in which the worker reports them."""
    kinds = inspect.signature(task.reference).parameters
    named = [name for name, p in kinds.items() if p.kind is not inspect.Parameter.VAR_POSITIONAL]
    starred = len(named) < len(kinds)
    positional = [f"argument {i}" if starred or i >= len(named) else named[i] for i in range(len(case.args))]
    return [*positional, *case.kwargs]


def _value(report: Any, frames: list[bytearray], depth: int) -> Any:
    if not isinstance(report, dict) or depth > 16:
        raise wire.WireError("malformed value")
    if "tensor" in report:
        return _tensor(report, frames)
    if "plain" in report:
        return wire.unpack(report["plain"], frames)
    if "odd" in report:
        return Odd(str(report["odd"])[:100])
    for kind, make in (("list", list), ("tuple", tuple)):
        if isinstance(report.get(kind), list):
            return make(_value(item, frames, depth + 1) for item in report[kind])
    raise wire.WireError("malformed value")


def _tensor(report: dict[str, Any], frames: list[bytearray]) -> torch.Tensor:
    try:
        dtype, shape, frame = wire.DTYPES[report["dtype"]], report["shape"], frames[report["tensor"]]
        if len(shape) != len(report["strides"]) or any(type(n) is not int or n < 0 for n in shape):
            raise wire.WireError("malformed shape")
        if math.prod(shape) * dtype.itemsize != len(frame):
            raise wire.WireError("a tensor's bytes don't fit its shape")
        return torch.frombuffer(frame, dtype=dtype).reshape(shape) if frame else torch.empty(shape, dtype=dtype)
    except (KeyError, IndexError, TypeError) as error:
        raise wire.WireError("malformed tensor") from error


def _tensors(report: Any, name: str, depth: int) -> list[tuple[str, Mapping[str, Any]]]:
    if not isinstance(report, dict) or depth > 16:
        return []
    if "tensor" in report:
        return [(name, report)]
    items = report.get("list") or report.get("tuple") or []
    return [leaf for i, item in enumerate(items) for leaf in _tensors(item, f"{name}[{i}]", depth + 1)]


def _storages(header: Mapping[str, Any], names: list[str], frames: list[bytearray]) -> dict[str, bytearray]:
    """The whole storage of each argument that has more of it than elements, as the call left it."""
    listed = header.get("storages")
    if not isinstance(listed, list) or len(listed) != len(names):
        raise wire.WireError("the storages that came back are not those that were sent")
    if any(frame is not None and not (type(frame) is int and 0 <= frame < len(frames)) for frame in listed):
        raise wire.WireError("malformed storage")
    return {name: frames[frame] for name, frame in zip(names, listed, strict=True) if frame is not None}


def _unchanged(before: Any, after: Any) -> bool:
    """Whether an argument still is what it was: tensors bit for bit, through lists and tuples."""
    if isinstance(before, torch.Tensor):
        return isinstance(after, torch.Tensor) and _same_bits(before, after)
    if isinstance(before, (list, tuple)):
        same = isinstance(after, (list, tuple)) and len(before) == len(after)
        return same and all(map(_unchanged, before, after))
    return True


def _overlaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two elements of a view can share memory: a dimension steps by less than what lies inside it."""
    extent = 1
    for step, n in sorted((step, n) for n, step in zip(shape, strides, strict=True) if n > 1):
        if step < extent:
            return True
        extent += (n - 1) * step
    return False


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    plain = [t.contiguous().flatten() for t in (one, other)]
    return one.numel() == 0 or torch.equal(plain[0].view(torch.uint8), plain[1].view(torch.uint8))


def _counts(report: Any) -> dict[str, int]:
    if not isinstance(report, dict):
        return {}
    return {str(name)[:100]: n for name, n in report.items() if type(n) is int and n > 0}
