"""Who is timed, as the judge speaks to them: a candidate's worker, and the baseline's players in their own process."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import evaluator
from evaluator import wire
from evaluator.windows import Lost, TimedCase, Window, slots_for
from tasks.task import Task

ROOT = Path(evaluator.__file__).parent.parent
ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CC", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "HOME")
START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from evaluator.worker.baseline import main; main()"
ANSWER_S, START_S, COMPILE_S = 30.0, 120.0, 180.0
REPLY_BYTES_MAX = 2**30


@dataclass
class SocketPlayer:
    """A worker that answers `prepare`, `window` and `kept`; the judge's clock runs round each question."""

    sock: socket.socket
    answer_s: float = ANSWER_S
    compile_s: float = COMPILE_S
    said: Mapping[str, Any] = field(default_factory=dict)
    """More for the header of each question."""

    def prepare(self, timed: TimedCase) -> None:
        """Sends the case's values. Raises Lost."""
        frames: list[memoryview] = []
        self.ask("prepare", prepare_header(timed, frames), frames)

    def window(self, calls: int, batch: int, keep: int | None, seed: int, cover: int) -> Window:
        """Times so many calls. Raises Lost."""
        header = {"calls": calls, "batch": batch, "keep": keep, "seed": seed, "cover": cover}
        start = time.perf_counter()
        said, _ = self.ask("window", header)
        wall_s = time.perf_counter() - start
        ms, host_ms = said.get("ms"), said.get("host_ms")
        if not isinstance(ms, list) or len(ms) != calls or not all(map(_positive, [*ms, host_ms])):
            raise Lost("protocol", "the times that came back are not those of a window")
        assert isinstance(host_ms, (int, float))
        return Window(tuple(map(float, ms)), wall_s, float(host_ms))

    def kept(self) -> tuple[dict[str, Any], list[bytearray]]:
        """What the call left that `keep` named, as the answer to a call, with its `variant`. Raises Lost."""
        said, frames = self.ask("kept", {})
        if said.get("kept") is not True or type(said.get("variant")) is not int:
            raise Lost("protocol", "no call was kept")
        return said, frames

    def ask(
        self, op: str, header: Mapping[str, Any], frames: Sequence[memoryview] = (), most_s: float | None = None
    ) -> tuple[dict[str, Any], list[bytearray]]:
        """One question and its answer. Raises Lost: `kind` is deadline, died, protocol or error."""
        deadline = time.monotonic() + (most_s or self.answer_s)
        try:
            self.sock.settimeout(most_s or self.answer_s)
            wire.send(self.sock, {**self.said, **header, "op": op}, frames)
            said, body = wire.receive(self.sock, deadline=deadline, bytes_max=REPLY_BYTES_MAX)
            for _ in range(1000):
                if said.get("event") != "compiling":
                    break
                deadline = max(deadline, time.monotonic() + self.compile_s)
                said, body = wire.receive(self.sock, deadline=deadline, bytes_max=REPLY_BYTES_MAX)
        except (wire.DeadlinePassed, TimeoutError):
            raise Lost("deadline", f"no answer to {op} in time") from None
        except (wire.Ended, OSError) as error:
            raise Lost("died", f"it ended during {op}: {error}") from None
        except wire.WireError as error:
            raise Lost("protocol", str(error)) from None
        if "error" in said:
            raise Lost("error", _message(said["error"]), said["error"])
        return said, body


class BaselinePlayer:
    """One player of a baseline process. A case that is still on its device isn't sent again."""

    def __init__(self, process: BaselineProcess, name: str) -> None:
        self.process = process
        self.socket = replace(process.socket, said={"player": name})
        self.ready_s: float | None = None

    def prepare(self, timed: TimedCase) -> None:
        """Raises Lost, also where this player can't take the case."""
        self.process.prepare(timed)
        said, _ = self.socket.ask("ready", {}, most_s=COMPILE_S)
        self.ready_s = float(said["ready_s"])

    def window(self, calls: int, batch: int, keep: int | None, seed: int, cover: int) -> Window:
        return self.socket.window(calls, batch, keep, seed, cover)


class BaselineProcess:
    """The clean sibling (`evaluator.worker.baseline`): started at once, `facts` waits for it. One thread at a time.

    `device` is "cuda", or "host" to try it without a GPU; what is timed runs on `core` (None: any). After a Lost whose
    kind isn't "error" it is of no more use: close it and make another.
    """

    def __init__(self, device: str = "cuda", core: int | None = None) -> None:
        self.home = tempfile.mkdtemp(prefix="kernelmend-baseline-")
        ours, theirs = socket.socketpair()
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        environment |= {"TMPDIR": self.home, "TRITON_CACHE_DIR": f"{self.home}/triton"}
        environment |= {"TORCHINDUCTOR_CACHE_DIR": f"{self.home}/inductor"}
        config = json.dumps({"device": device, "core": core})
        command = [sys.executable, "-I", "-c", START, str(ROOT), str(theirs.fileno()), config]
        self.log = Path(self.home) / "baseline.log"
        with theirs, self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=self.home, env=environment, pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.socket = SocketPlayer(ours)
        self.current: TimedCase | None = None
        self._facts: dict[str, Any] | None = None

    def player(self, name: str) -> BaselinePlayer:
        """`eager`, `compiled` or `oracle`, of the task of the case that is prepared."""
        return BaselinePlayer(self, name)

    def facts(self) -> dict[str, Any]:
        """Name, UUID, sizes and versions of the device; `l2_bytes` and `flush_ms`. Raises Lost."""
        if self._facts is None:
            self._facts = _plain(self.socket.ask("facts", {}, most_s=START_S)[0])
        return self._facts

    def peaks(self) -> dict[str, Any]:
        """Measures them (`evaluator.gpu.peaks_of` keeps them). Raises Lost."""
        self.current = None
        return _plain(self.socket.ask("peaks", {}, most_s=START_S)[0])

    def prepare(self, timed: TimedCase) -> None:
        """Makes this the current case; its values are sent only where they are not there any more. Raises Lost."""
        if timed is self.current:
            return
        about = {"task": timed.task.id, "path": timed.path, "key": timed.key}
        said, _ = self.socket.ask("prepare", about)
        if not said["known"]:
            frames: list[memoryview] = []
            self.socket.ask("prepare", {**about, **prepare_header(timed, frames)}, frames)
        self.current = timed

    def last_words(self) -> str:
        """The end of what it printed."""
        with suppress(OSError):
            return self.log.read_text(errors="replace")[-2000:]
        return ""

    def close(self) -> None:
        """Ends it and the compiler's helpers."""
        self.socket.sock.close()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def timed_cases(task: Task, path: str, seeds: Sequence[int], l2_bytes: int) -> list[TimedCase]:
    """The timed cases of a task, each with the values of every seed; of the first alone where their forms differ. The
    largest comes first: what was kept of it is judged while the others are timed.

    `path`: what `tasks.catalog.load` knows the task by.
    """
    from tasks.draw import Draw

    found = []
    with ThreadPoolExecutor(len(seeds)) as drawers:  # drawing takes the longest
        drawn = list(drawers.map(lambda seed: list(task.timed(Draw(seed))), seeds))
    for index, variants in enumerate(zip(*drawn, strict=True)):
        sizes = [_storage_bytes((case.args, dict(case.kwargs))) for case in variants]
        same = list(variants) if len(set(map(tuple, sizes))) == 1 else list(variants[:1])
        slots = slots_for(sum(sizes[0]), l2_bytes)
        found.append((sum(sizes[0]), TimedCase(task, path, f"{index} of {task.id}, {list(seeds)}", same, slots)))
    return [timed for _, timed in sorted(found, key=lambda one: -one[0])]


def _storage_bytes(value: Any) -> list[int]:
    frames: list[memoryview] = []
    wire.pack(value, frames)
    return [len(frame) for frame in frames]


def prepare_header(timed: TimedCase, frames: list[memoryview]) -> dict[str, Any]:
    """What `prepare` says to a worker; the tensors' bytes are appended to `frames`."""
    variants = [
        {"args": wire.pack(case.args, frames), "kwargs": wire.pack(dict(case.kwargs), frames)}
        for case in timed.variants
    ]
    return {"variants": variants, "slots": timed.slots, "mutates": timed.mutates}


def _plain(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if name not in ("event", "frames")}


def _positive(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value >= 0


def _message(error: Any) -> str:
    return str(error.get("message", error) if isinstance(error, Mapping) else error)[:2000]
