"""One candidate in one forked child: load it, call it on what the judge sends, send back raw bytes."""

from __future__ import annotations

import os
import socket
import sys
import time
import types
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from triton.runtime.errors import PTXASError

from evaluator import wire
from evaluator.worker.accesses import again_report, line_reports
from evaluator.worker.audit import audit
from evaluator.worker.devices import devices
from evaluator.worker.errors import described
from evaluator.worker.gpu_launches import GpuLauncher
from evaluator.worker.guard import TorchRecord, watched
from evaluator.worker.launches import Launcher, Launches
from evaluator.worker.memory import poison
from evaluator.worker.resources import Resources
from evaluator.worker.streams import streams

NESTING_MAX = 8
# as they are before a candidate is loaded, which may put others in their place
DETACH, CONTIGUOUS, STORAGE = torch.Tensor.detach, torch.Tensor.contiguous, torch.Tensor.untyped_storage
RESOLVE_CONJ, RESOLVE_NEG = torch.Tensor.resolve_conj, torch.Tensor.resolve_neg


@dataclass(frozen=True)
class Kept:
    """A call whose tensors are kept for the next one."""

    args: Any
    kwargs: Any
    returned: Any


class Session:
    """The conversation with the judge about one candidate."""

    def __init__(self, sock: socket.socket, launcher: Launcher | GpuLauncher) -> None:
        self.sock = sock
        self.launcher = launcher
        self.entry: Any = None
        self.filename = ""
        self.kept: Kept | None = None
        self.threads: set[int] = set()
        self.grad = True
        self.at_import = TorchRecord()
        launcher.on_compile = lambda kernel: wire.send(sock, {"event": "compiling", "kernel": kernel})

    def serve(self) -> None:
        """Says that it has started, then answers the judge's questions until it hangs up."""
        sys.argv = [""]
        self.launcher.begin()
        audit.install()
        self.threads = _threads()
        answers = self.answers()
        wire.send(self.sock, {"event": "started"})
        while True:
            try:
                header, frames = wire.receive(self.sock)
            except wire.Ended:
                return
            answers[header["op"]](header, frames)

    def answers(self) -> dict[str, Callable[[dict[str, Any], list[bytearray]], None]]:
        """What each question is answered by."""
        return {"load": self.load, "call": self.call, "builds": self.builds}

    def load(self, header: dict[str, Any], frames: list[bytearray]) -> None:
        """Runs the candidate's module and finds its entry. `poison` fills unwritten memory; `interprets_only` compiles
        nothing."""
        poison.byte = header["poison"]
        self.launcher.interprets_only = header["interprets_only"]
        self.grad = header["grad"]
        path = Path.cwd() / "candidate.py"
        path.write_text(header["source"], encoding="utf-8")
        self.filename = self.launcher.filename = str(path)
        module = types.ModuleType("candidate")
        module.__file__ = str(path)
        sys.modules["candidate"] = module
        try:
            code = compile(header["source"], str(path), "exec", dont_inherit=True)
            with self.watched() as self.at_import, audit.watching():
                exec(code, module.__dict__)
        except BaseException as error:  # the border of the worker: SystemExit at import is an outcome too
            self._reply({"error": self.described(error)})
            return
        devices.loaded()
        found = [getattr(module, name) for name in header["entries"] if callable(getattr(module, name, None))]
        self.entry = found[0] if found else None
        defined = [name for name, value in vars(module).items() if isinstance(value, types.FunctionType)]
        self._reply({"entry": bool(found), "defined": defined[:20]})

    def call(self, header: dict[str, Any], frames: list[bytearray]) -> None:
        """One call on new tensors; what it returned, what became of its arguments, and what was seen meanwhile.

        With `keep` the tensors live on; with `again` the next call gets them with its own values, and tells what the
        kept call's results hold after it. `knock_out` names kernels that do nothing ([]: all of them, None: none).
        """
        args = self.here(wire.unpack(header["args"], frames))
        kwargs = self.here(wire.unpack(header["kwargs"], frames))
        kept, self.kept = self.kept, None
        if header["again"] and kept:
            args, kwargs = placed(kept.args, args), placed(kept.kwargs, kwargs)
        self.launcher.knocked_out = None if header["knock_out"] is None else set(header["knock_out"])
        named = {**dict(enumerate(args)), **kwargs}
        streams.reset()
        devices.begin_call()
        start = time.perf_counter()
        error: BaseException | None = None
        returned: Any = None
        with self.launcher.recording() as launches, self.watched(self.at_import) as record:
            self.launcher.on_written = record.launched
            try:
                with audit.watching(), torch.set_grad_enabled(self.grad):
                    returned = self.entry(*args, **kwargs)
                self.settle()
            except BaseException as raised:  # the border of the worker: any way out of a call is an outcome
                error = raised
        total_s = time.perf_counter() - start
        report = {
            **_launch_report(launches),
            "torch_ops": self._computed(record, launches),
            "compile_s": launches.compile_s,
            "run_s": max(0.0, total_s - launches.compile_s),
            "started": self._started(self.running()),
            "swallowed": [self.described(e) for e in launches.failures if e is not error][:1],
        }
        if error is not None:
            self._reply({**report, "error": self.described(error)})
            return
        values, out = self.left(returned, args, kwargs, record)
        report |= values
        if header["again"] and kept:
            report["earlier"] = self._packed(kept.returned, out, record, named, 0)
        if header["keep"]:
            self.kept = Kept(args, kwargs, returned)
        self._reply(report, out)

    def watched(self, at_import: TorchRecord | None = None) -> AbstractContextManager[TorchRecord]:
        """The candidate's torch operations; see `guard.watched`."""
        return watched(at_import)

    def here(self, value: Any) -> Any:
        """An argument where the candidate works on it."""
        return value

    def settle(self) -> None:
        """Waits for what a call has begun."""

    def on_host(self, value: torch.Tensor) -> bool:
        """Whether a tensor is on the CPU, or would be."""
        return devices.on_host(value)

    def running(self) -> int:
        """How many threads the candidate left running."""
        return len(_threads() - self.threads - self.launcher.own_threads)

    def described(self, error: BaseException) -> dict[str, Any]:
        """An exception in plain values."""
        return described(error, self.filename)

    def _computed(self, record: TorchRecord, launches: Launches) -> dict[str, int]:
        """Torch's own computations of a call, by name; what it computed at import counts where a kernel is given it."""
        given = len(launches.storages & record.torch_made)
        return {**record.computed, **({"(at import)": given} if given else {})}

    def left(
        self, returned: Any, args: Any, kwargs: Any, record: TorchRecord | None = None
    ) -> tuple[dict[str, Any], list[memoryview]]:
        """What a call left, as the judge reads it: results, arguments, and their storages."""
        record, named = record or TorchRecord(), {**dict(enumerate(args)), **kwargs}
        out: list[memoryview] = []
        values = {
            "returned": self._packed(returned, out, record, named, 0),
            "arguments": [self._packed(value, out, record, named, 0) for value in named.values()],
            "storages": [_storage(value, out) for value in named.values()],
        }
        return values, out

    def _started(self, running: int) -> list[str]:
        """What the candidate started besides its own work, since it was loaded, in words."""
        known = [f"{count} times {what}" for what, count in audit.started.items()]
        return known + ([f"{running} threads that still run"] if running else []) + streams.left()

    def builds(self, header: dict[str, Any], frames: list[bytearray]) -> None:
        """Every compiled specialisation with its resources, and what the other targets said."""
        rows = []
        failed: dict[str, Any] | None = None
        for build in self.launcher.builds.values():
            future = build.pop("assembled")
            try:
                taken = future.result() if future else Resources(None, None, 0.0)
            except PTXASError as error:
                failed = failed or self.described(error)
                continue
            compile_s = build["compile_s"] + taken.assemble_s
            rows.append({**build, **asdict(taken), "compile_s": compile_s})
        self._reply({"builds": rows, "targets": self.launcher.targets_seen, "failed": failed})

    def _packed(self, value: Any, out: list[memoryview], record: TorchRecord, named: dict[Any, Any], depth: int) -> Any:
        """A value as the judge reads it: tensors as contiguous bytes, anything odd by the name of its type."""
        if type(value) is torch.Tensor:
            return self._packed_tensor(value, out, record, named)
        if isinstance(value, (list, tuple)) and depth < NESTING_MAX:
            # the base's own iterator: a subclass could compute in its own
            plain = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
            items = [self._packed(item, out, record, named, depth + 1) for item in plain]
            return {"list" if isinstance(value, list) else "tuple": items}
        if value is None or type(value) in (bool, int, float, str):
            return {"plain": wire.pack(value, [])}
        return {"odd": type(value).__name__[:100]}

    def _packed_tensor(
        self, value: torch.Tensor, out: list[memoryview], record: TorchRecord, named: dict[Any, Any]
    ) -> dict[str, Any]:
        if value.layout is not torch.strided or value.is_meta:
            return {"odd": f"{value.layout} tensor"}
        pointer = STORAGE(value).data_ptr()
        shared = [
            str(key)
            for key, other in named.items()
            if pointer and any(STORAGE(part).data_ptr() == pointer for part in _tensors_in(other))
        ]
        plain = CONTIGUOUS(RESOLVE_NEG(RESOLVE_CONJ(DETACH(value))))
        start, size = (n * plain.element_size() for n in (plain.storage_offset(), plain.numel()))
        out.append(wire.view_of(plain)[start : start + size])
        return {
            "tensor": len(out) - 1,
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape),
            "strides": list(value.stride()),
            "shares": shared,
            "writer": record.writer(pointer),
            "attributes": sorted(map(str, value.__dict__))[:5],
            "lazy": value.is_conj() or value.is_neg(),
            "host": self.on_host(value),
        }

    def _reply(self, header: dict[str, Any], frames: list[memoryview] | None = None) -> None:
        wire.send(self.sock, {"event": "reply", **header}, frames or [])


def _tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors_in(item)]
    return [value] if isinstance(value, torch.Tensor) else []


def _storage(value: Any, out: list[memoryview]) -> int | None:
    """The frame with all of an argument's storage, where it has more than the argument's elements; else None."""
    if not isinstance(value, torch.Tensor) or STORAGE(value).nbytes() == value.numel() * value.element_size():
        return None
    out.append(wire.view_of(value))
    return len(out) - 1


def placed(old: Any, new: Any) -> Any:
    """`new` in the place of `old`: tensors of the same form are the same objects with the new values."""
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
        forms = [(t.dtype, t.shape, t.stride(), t.storage_offset(), t.untyped_storage().nbytes()) for t in (old, new)]
        if forms[0] != forms[1]:
            return new
        wire.storage_bytes(old).copy_(wire.storage_bytes(new))
        return old
    if type(old) is type(new) and isinstance(new, (list, tuple)) and len(old) == len(new):
        return type(new)(placed(a, b) for a, b in zip(old, new, strict=True))
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: placed(old.get(key), value) for key, value in new.items()}
    return new


def _threads() -> set[int]:
    """Ids of this process's threads as the system has them: a thread of `_thread` is not in Python's own list."""
    return {int(name) for name in os.listdir("/proc/self/task")}


def _launch_report(launches: Launches) -> dict[str, Any]:
    return {
        "kernels": launches.kernels[:1000],
        "launches": len(launches.kernels),
        "bytes_moved": sum(m.loaded_bytes + m.stored_bytes for m in launches.memories),
        "reads": _reads(launches),
        "lines": line_reports((m.kernel, m.accesses) for m in launches.memories),
        "again": again_report((m.kernel, m.accesses) for m in launches.memories),
        "strays": [asdict(stray) for m in launches.memories for stray in m.strays.values()][:20],
    }


def _reads(launches: Launches) -> dict[str, list[int]]:
    """For each kernel argument: bytes loaded through it over all launches, and bytes of its buffer."""
    reads: dict[str, list[int]] = {}
    for memory in launches.memories:
        sizes = dict(zip(memory.names, (memory.ends - memory.starts).tolist(), strict=True))
        for name, count in memory.read_bytes.items():
            entry = reads.setdefault(f"{memory.kernel}.{name}", [0, int(sizes[name])])
            entry[0] += count
    return dict(list(reads.items())[:50])
