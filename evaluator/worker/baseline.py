"""The clean sibling that candidates are timed against: our own code only, in its own process, on the same GPU.

It answers over one socket, message by message (`evaluator.wire`): `facts`, `peaks`, `prepare`, `ready`, `window`.
Three players share a prepared case: `eager`, the task's reference; `compiled`, the same under torch.compile; `oracle`,
the task's oracle. A failure of one of them is an answer; a GPU that no longer works ends the process.
"""

from __future__ import annotations

import gc
import importlib.util
import inspect
import json
import socket
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from evaluator import wire
from evaluator.worker.clock import Cuda, Device, Host
from evaluator.worker.core import on_core
from evaluator.worker.stopwatch import Stopwatch, Timed
from tasks import catalog
from tasks.errors import UserError
from tasks.task import Task

PREPARED_BYTES_MAX = 24 * 2**30
Call = Callable[[Any, Any], Any]
# what a reference, an oracle, a compiler or a GPU may raise: said, and the next case goes on
FAILURES: tuple[type[Exception], ...] = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, NameError, OSError,
    RuntimeError, SyntaxError, TypeError, UserError, ValueError,
)  # fmt: skip


def main() -> None:
    """`baseline FD {"device": "cuda", "core": 3}`: serves until the judge hangs up."""
    sock = socket.socket(fileno=int(sys.argv[1]))
    # the contract says float32: TF32 would make eager faster, and wrong
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    config = json.loads(sys.argv[2])
    with on_core(config["core"]):
        device: Device = Cuda() if config["device"] == "cuda" else Host()
        device.calibrate()
    gc.collect()
    gc.freeze()
    Baseline(sock, device, config["core"]).serve()


class Baseline:
    """Players of one task at a time, and the cases that were prepared for them, the latest kept as room allows.

    Windows run on one core. What a reference or a compiler starts at its first call may run anywhere.
    """

    def __init__(self, sock: socket.socket, device: Device, core: int | None) -> None:
        self.sock = sock
        self.device = device
        self.core = core
        self.task: Task | None = None
        self.players: dict[str, Call] = {}
        self.prepared: dict[str, tuple[Stopwatch, int]] = {}
        self.current: Stopwatch | None = None

    def serve(self) -> None:
        """Answers until the judge hangs up."""
        failures = (*FAILURES, *_triton_failures())
        answers = {
            "facts": self.facts, "peaks": self.peaks, "prepare": self.prepare, "ready": self.ready,
            "window": self.window,
        }  # fmt: skip
        while True:
            try:
                header, frames = wire.receive(self.sock)
            except wire.Ended:
                return
            try:
                with torch.no_grad():
                    said = answers[header["op"]](header, frames)
            except failures as error:
                said = {"error": f"{type(error).__name__}: {error}"[:2000]}
                self.device.settle()  # raises where the context is lost: the judge starts another process
            wire.send(self.sock, {"event": "reply", **said})

    def facts(self, header: dict[str, Any], frames: list[bytearray]) -> dict[str, Any]:
        """The device as torch knows it."""
        facts: dict[str, Any] = {"torch": torch.__version__, "l2_bytes": self.device.l2_bytes}
        facts |= {"flush_ms": self.device.flush_ms, "idle_ms": getattr(self.device, "idle_ms", 0.0)}
        if not isinstance(self.device, Cuda):
            return {**facts, "name": "host", "uuid": "host", "memory_bytes": 0}
        known = torch.cuda.get_device_properties(torch.cuda.current_device())
        uuid = str(known.uuid)
        return {
            **facts,
            "name": known.name,
            "uuid": uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}",
            "memory_bytes": known.total_memory,
            "processors": known.multi_processor_count,
            "capability": f"{known.major}.{known.minor}",
            "cuda": torch.version.cuda,
        }

    def peaks(self, header: dict[str, Any], frames: list[bytearray]) -> dict[str, Any]:
        """GB/s and TFLOP/s; takes seconds."""
        from evaluator.worker.peaks import measured_peaks

        self._forget(0)
        return measured_peaks(self.device)

    def prepare(self, header: dict[str, Any], frames: list[bytearray]) -> dict[str, Any]:
        """Makes the case with this `key` the current one. `known`: whether it could; without `variants` in the header
        only a case that is still here."""
        if self.task is None or self.task.id != header["task"]:
            self._start(catalog.load(header["path"]))
        key = header["key"]
        if key not in self.prepared:
            if "variants" not in header:
                return {"known": False}
            size = sum(map(len, frames)) * (header["slots"] / max(1, len(header["variants"])) + 1)
            self._forget(PREPARED_BYTES_MAX - int(size))
            stopwatch = Stopwatch(self.device)
            Timed(stopwatch, _nothing, _no_answer).handle(header, frames)
            self.prepared[key] = stopwatch, int(size)
        self.prepared[key] = self.prepared.pop(key)  # the latest is forgotten last
        self.current = self.prepared[key][0]
        return {"known": True}

    def ready(self, header: dict[str, Any], frames: list[bytearray]) -> dict[str, Any]:
        """Makes the first calls of a player on the current case, which may compile; seconds that they took."""
        start = time.perf_counter()
        name = header["player"]
        if name not in self.players:
            self.players[name] = self._player(name)
        self._timed(name).stopwatch.window(self.players[name], 1)
        return {"ready_s": time.perf_counter() - start}

    def window(self, header: dict[str, Any], frames: list[bytearray]) -> dict[str, Any]:
        """As `Timed` does it, with the function of one player."""
        with on_core(self.core):
            said, _ = self._timed(header["player"]).handle(header, frames)
        return said

    def _timed(self, name: str) -> Timed:
        if self.current is None:
            raise ValueError("no case is prepared")
        return Timed(self.current, self.players[name], _no_answer)

    def _start(self, task: Task) -> None:
        self.task, self.players = task, {}
        self._forget(0)
        if "torch._dynamo" in sys.modules:  # importing it takes a second
            torch._dynamo.reset()

    def _forget(self, room: int) -> None:
        """Gives back the cases that were used longest ago, until the rest takes `room` bytes at most."""
        while self.prepared and sum(size for _, size in self.prepared.values()) > room:
            oldest = next(iter(self.prepared))
            if self.prepared.pop(oldest)[0] is self.current:
                self.current = None

    def _player(self, name: str) -> Call:
        assert self.task is not None
        if name == "oracle":
            return _called(_oracle(self.task), {})
        placed = {"device": "cuda"} if isinstance(self.device, Cuda) and _takes_device(self.task) else {}
        function = self.task.reference
        return _called(torch.compile(function, dynamic=False) if name == "compiled" else function, placed)


def _called(function: Callable[..., Any], more: Mapping[str, Any]) -> Call:
    if more:
        return lambda args, kwargs: function(*args, **{**more, **kwargs})
    return lambda args, kwargs: function(*args, **kwargs)


def _takes_device(task: Task) -> bool:
    return "device" in inspect.signature(task.reference).parameters


def _oracle(task: Task) -> Callable[..., Any]:
    """The entry of the task's oracle. Raises ValueError for a task that has none."""
    path = catalog.oracle_path(task.id)
    spec = importlib.util.spec_from_file_location(f"oracle_{task.id.replace('/', '_')}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ValueError(f"task {task.id} has no oracle")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: list[Callable[..., Any]] = [getattr(module, name) for name in task.entries if hasattr(module, name)]
    if not found:
        raise ValueError(f"the oracle of {task.id} defines no {task.entry}")
    return found[0]


def _triton_failures() -> tuple[type[Exception], ...]:
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources, PTXASError

    found: tuple[type[Exception], ...] = (CompilationError, OutOfResources, PTXASError)
    return found


def _nothing(args: Any, kwargs: Any) -> None:
    return None


def _no_answer(returned: Any, args: Any, kwargs: Any) -> tuple[dict[str, Any], list[memoryview]]:
    return {}, []


if __name__ == "__main__":
    main()
