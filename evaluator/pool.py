"""The judge's side of the warm processes: starting them, one candidate at a time in each, and seeing that it ends."""

from __future__ import annotations

import json
import os
import queue
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import evaluator
from evaluator import wire
from evaluator.limits import Limits
from evaluator.targets import Target

ROOT = Path(evaluator.__file__).parent.parent
HIDDEN = (".git", "agents", "experiments", "prompts", "tasks", "tests")
HEADERS = "/usr/include"  # nothing is to be built of C or C++, but Triton's own launches on a GPU
START_S = 120.0
END_S = 10.0
ENVIRONMENT = (
    "PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CC", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
)  # fmt: skip
START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from evaluator.worker.warm import main; main()"


class WarmDied(Exception):
    """A warm process ended or stopped answering: the machine's failure, never a candidate's."""


@dataclass(frozen=True)
class Ending:
    """How a child ended: exit code (negative: the signal), the end of what it printed, how many processes it left."""

    exit_code: int
    log: str
    survivors: int = 0


class Child:
    """A forked candidate: a socket to talk to it and a way to end it."""

    def __init__(self, warm: WarmProcess, sock: socket.socket) -> None:
        self.warm = warm
        self.sock = sock
        self._ending: Ending | None = None
        self._started: bool | None = None

    def started(self) -> bool:
        """Waits until it is ready for a source; False when it ended before, which is no candidate's doing."""
        if self._started is None:
            try:
                said, _ = wire.receive(self.sock, deadline=time.monotonic() + START_S)
                self._started = said.get("event") == "started"
            except (wire.Ended, wire.DeadlinePassed, wire.WireError, OSError):
                self._started = False
        return self._started

    def ended(self) -> bool:
        """Whether it is known to have ended. Raises WarmDied."""
        if self._ending is None and (said := self.warm.hear("ended", time.monotonic())):
            self._end(said)
        return self._ending is not None

    def end(self) -> Ending:
        """Kills it and all that it started, waits until that is gone, and says what came of it. Raises WarmDied."""
        if self._ending is not None:
            return self._ending
        grace = time.monotonic() + 0.2
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)  # a child that already crashed keeps its own exit code
        return self._end(self.warm.hear("ended", grace) or self._killed())

    def kill(self) -> None:
        """The warm process does it: nobody else knows the child by its number."""
        if self._ending is None:
            with suppress(OSError):
                self.warm.control.sendall(b"kill")

    def _end(self, said: Mapping[str, Any]) -> Ending:
        self._ending = Ending(int(said["status"]), str(said["log"]), int(said["survivors"]))
        self.sock.close()
        return self._ending

    def _killed(self) -> dict[str, Any]:
        self.kill()
        said = self.warm.hear("ended", time.monotonic() + END_S)
        if said is None:
            raise self.warm.died("a killed worker was not reaped")
        return said


class WarmProcess:
    """One warm program, with one child at a time. Not thread-safe: the pool hands it to one thread at a time.

    `core`: the one that its children run on (None: any).
    """

    def __init__(self, targets: Sequence[Target], limits: Limits, device: str = "cpu", core: int | None = None) -> None:
        self.home = tempfile.mkdtemp(prefix="kernelmend-")
        self._heard = b""
        ours, theirs = socket.socketpair()
        config = {
            "targets": [[t.name, t.backend, t.arch, t.warp_size, t.shared_bytes_max] for t in targets],
            "limits": asdict(limits),
            "device": device,
            "core": core,
            "source": str(ROOT),
            "hide": [*(str(ROOT / name) for name in HIDDEN), *([HEADERS] if device == "cpu" else [])],
        }
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        environment |= {"HOME": self.home, "TMPDIR": self.home, "TRITON_CACHE_DIR": f"{self.home}/triton"}
        if device == "cpu":  # where torch asks for a GPU's seed or state, a GPU that is fenced off would be an error
            environment["CUDA_VISIBLE_DEVICES"] = ""
        # the interpreter's own products may not start threads in a candidate's place
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        command = [sys.executable, "-I", "-c", START, str(ROOT), str(theirs.fileno()), json.dumps(config)]
        self.errors = Path(self.home) / "warm.log"
        with theirs, self.errors.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=self.home, env=environment, pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.control = ours
        self.broken = False
        self._next: Child | None = None
        self.fences: tuple[str, ...] | None = None

    def ready(self) -> tuple[str, ...]:
        """Waits until it is warm; returns its fences, and as `reduced: ...` what it lacks. Raises WarmDied."""
        if self.fences is None:
            said = self.hear("ready", time.monotonic() + START_S)
            if said is None:
                raise self.died("it did not start")
            self.fences = ("own process", "environment allow-list", *said["ready"])
        return self.fences

    def fork(self) -> Child:
        """A new child, ready for a source; the one before it must have been ended. Raises WarmDied.

        One that was forked ahead may not have got its share of the device beside a candidate: then another is made.
        """
        if self._next is not None:
            child, self._next = self._next, None
            if child.started() and not child.ended():
                return child
            child.end()
        child = self._forked()
        if not child.started():
            raise self.died(f"a worker did not start: {child.end().log[-2000:]}")
        return child

    def _forked(self) -> Child:
        self.ready()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self.control, [b"fork"], [theirs.fileno()])
            said = self.hear("forked", time.monotonic() + END_S)
        except OSError as error:
            raise self.died(str(error)) from error
        if said is None:
            raise self.died("it did not fork")
        return Child(self, ours)

    def ahead(self) -> None:
        """Forks the next child already, and doesn't wait until it has started. Raises WarmDied."""
        if self._next is None:
            self._next = self._forked()

    def settle(self) -> None:
        """Waits for what was forked ahead, if anything was, to have started."""
        if self._next is not None:
            self._next.started()

    def discard(self) -> None:
        """Ends what was forked ahead. Raises WarmDied."""
        if self._next is not None:
            child, self._next = self._next, None
            child.kill()
            child.end()

    def hear(self, key: str, deadline: float) -> dict[str, Any] | None:
        """The next control message, which must carry `key`; None when `deadline` passes. Raises WarmDied."""
        while b"\n" not in self._heard:
            ready, _, _ = select.select([self.control], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            part = self.control.recv(2**20)
            if not part:
                raise self.died("it ended")
            self._heard += part
        line, _, self._heard = self._heard.partition(b"\n")
        said: dict[str, Any] = json.loads(line)
        if key not in said:
            raise self.died(f"expected {key}, heard {sorted(said)}")
        return said

    def died(self, how: str) -> WarmDied:
        self.broken = True
        return WarmDied(f"the warm process failed: {how}\n{self.errors.read_text(errors='replace')[-2000:]}".strip())

    def close(self) -> None:
        self.control.close()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


class Pool:
    """As many warm processes as candidates may run at once."""

    def __init__(
        self,
        size: int,
        targets: Sequence[Target],
        limits: Limits | None = None,
        device: str = "cpu",
        core: int | None = None,
    ) -> None:
        self.targets = tuple(targets)
        self.limits = limits or Limits()
        self.device, self.core = device, core
        self._idle: queue.Queue[WarmProcess] = queue.Queue()
        self._all = [WarmProcess(self.targets, self.limits, device, core) for _ in range(size)]
        for warm in self._all:
            self._idle.put(warm)
        self._closed = False

    def fences(self) -> tuple[str, ...]:
        """What stands between a candidate and this machine. Raises WarmDied."""
        warm = self._idle.get()
        try:
            return warm.ready()
        finally:
            self._idle.put(warm)

    @contextmanager
    def children(self, most: int) -> Iterator[list[Child]]:
        """A child of each idle warm process, `most` at most, one at the least; ended on the way out.

        Raises WarmDied when a warm process failed; it is replaced.
        """
        children: list[Child] = []
        with self.processes(most) as taken:
            try:
                with ThreadPoolExecutor(len(taken)) as each:
                    forks = [each.submit(warm.fork) for warm in taken]
                children += [fork.result() for fork in forks if not fork.exception()]
                for fork in forks:
                    fork.result()
                yield children
            finally:
                for child in children:
                    with suppress(WarmDied):
                        child.end()

    @contextmanager
    def processes(self, most: int) -> Iterator[list[WarmProcess]]:
        """Idle warm processes, `most` at most, one at the least. One that failed meanwhile is replaced."""
        taken = [self._idle.get()]
        with suppress(queue.Empty):
            while len(taken) < most:
                taken.append(self._idle.get_nowait())
        try:
            yield taken
        finally:
            for warm in taken:
                self._idle.put(self._replaced(warm) if warm.broken else warm)

    def ahead(self) -> None:
        """Has the next child of every idle warm process forked. Raises WarmDied when one failed; it is replaced."""
        with self.processes(len(self._all)) as taken:
            for warm in taken:
                warm.ahead()

    def settle(self) -> None:
        """Waits until all that was forked ahead has started."""
        with self.processes(len(self._all)) as taken:
            for warm in taken:
                warm.settle()

    def discard(self) -> None:
        """Ends what was forked ahead. Raises WarmDied when a warm process failed; it is replaced."""
        with self.processes(len(self._all)) as taken:
            for warm in taken:
                warm.discard()

    def _replaced(self, warm: WarmProcess) -> WarmProcess:
        warm.close()
        fresh = WarmProcess(self.targets, self.limits, self.device, self.core)
        self._all[self._all.index(warm)] = fresh
        return fresh

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            for warm in self._all:
                warm.close()
