"""The warm program: torch and Triton imported, the compiler warmed up, then one forked child per candidate.

Single-threaded, and never a fork of the judge. Its control socket carries one descriptor per candidate: the child's
end of a socket pair; `kill` ends the child before its time. It says when it has forked and how the child ended; it
takes no part in any verdict. One child at a time: whatever else runs when a child ends was left behind by it.
"""

from __future__ import annotations

import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from evaluator.limits import Limits
from evaluator.worker import kernel, sandbox
from evaluator.worker.core import on_core
from evaluator.worker.sandbox import Fences


def main() -> None:
    """`warm CONTROL_FD JSON`: serves until the judge closes the control socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    fences = sandbox.separate()
    Warm(control, config, fences).serve()


class Warm:
    """Everything is imported and walled in when this is made."""

    def __init__(self, control: socket.socket, config: dict[str, Any], fences: Fences) -> None:
        self.control = control
        self.limits = Limits(**config["limits"])
        self.source = Path(config["source"])
        self.fences = fences
        self.gpu = config["device"] == "cuda"
        self.core = config["core"]
        self.launcher = gpu_ready(config["targets"]) if self.gpu else warmed_up(config["targets"])
        self.primed = _primed(Path.cwd() / "primed") if self.gpu else {}
        self.home = Path.cwd()
        self.above = os.open(self.home.parent, os.O_RDONLY | os.O_DIRECTORY)  # out of sight from here on
        sandbox.confine(fences, self.home, self.source, config["hide"], self.limits, self.gpu)
        gc.collect()
        gc.freeze()

    def serve(self) -> None:
        """Forks a child for every descriptor that arrives; says `forked` and, when it has ended, `ended`."""
        self._say({"ready": [*self.fences.lines(), *self._tried()]})
        while True:
            message, descriptors, _, _ = socket.recv_fds(self.control, 16, 1)
            if not message:
                break
            if descriptors:  # else a `kill` that came too late
                self._one(descriptors[0])
        shutil.rmtree(
            self.home.name, ignore_errors=True, dir_fd=self.above
        )  # the judge may have been killed, and can't

    def _one(self, descriptor: int) -> None:
        folder = self._folder()
        log, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._child(socket.socket(fileno=descriptor), write_end, folder)
        os.close(descriptor)
        os.close(write_end)
        self._say({"forked": pid})
        said = self._until_end(pid, log)
        os.close(log)
        if folder != sandbox.BOX:
            shutil.rmtree(folder, ignore_errors=True)
        self._say(said)

    def _until_end(self, pid: int, log: int) -> dict[str, Any]:
        """Exit code (negative: the signal), the processes that outlived the child, and the end of what was printed."""
        end = os.pidfd_open(pid)
        waiting = [end, log, self.control.fileno()]
        tail = b""
        while True:
            ready, _, _ = select.select(waiting, [], [])
            if end in ready:
                break
            if log in ready:
                part = os.read(log, 2**16)
                tail = (tail + part)[-self.limits.log_bytes_max :]
                if not part:
                    waiting.remove(log)
            if self.control.fileno() in ready:
                os.kill(pid, signal.SIGKILL)
                if not self.control.recv(16):  # the judge is gone
                    waiting.remove(self.control.fileno())
        _, status = os.waitpid(pid, 0)
        os.close(end)
        survivors = sandbox.end_all(pid)
        while part := os.read(log, 2**16):
            tail = (tail + part)[-self.limits.log_bytes_max :]
        code = os.waitstatus_to_exitcode(status)
        return {"ended": pid, "status": code, "survivors": survivors, "log": tail.decode("utf-8", "replace")}

    def _child(self, sock: socket.socket, log: int, folder: str) -> None:
        """Never returns."""
        from evaluator.worker.session import Session

        if self.gpu:
            from evaluator.worker.gpu_session import GpuSession as Session
        code = 70
        try:
            gc.disable()  # a child lives for seconds; collecting would only copy the pages that it shares
            self._enter(log, folder, keep=sock.fileno())
            with on_core(self.core):
                Session(sock, self.launcher).serve()
            code = 0
        except BaseException:
            traceback.print_exc()  # the judge reads it in the log
            raise
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _enter(self, log: int, folder: str, keep: int) -> Fences:
        os.setsid()
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, keep)
        os.closerange(keep + 1, 2**16)
        tempfile.tempdir = None
        fences = sandbox.enter(self.fences, folder, self.source, self.limits, self.gpu)
        for name, content in self.primed.items():
            path = Path(os.environ["TRITON_CACHE_DIR"]) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return fences

    def _tried(self) -> list[str]:
        """What stands in a child, from one that only goes in and comes out."""
        folder = self._folder()
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                report = os.dup(2)
                os.dup2(write_end, 3)
                stands = self._enter(report, folder, keep=3)
                os.write(3, json.dumps(stands.lines()).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(write_end)
        with open(read_end, "rb") as report_file:
            said = report_file.read()
        os.waitpid(pid, 0)
        lines: list[str] = json.loads(said)
        return lines

    def _folder(self) -> str:
        return sandbox.BOX if self.fences.stands("read-only view") else tempfile.mkdtemp(dir=self.home)

    def _say(self, what: dict[str, Any]) -> None:
        self.control.sendall(json.dumps(what).encode() + b"\n")


def gpu_ready(targets: list[list[Any]]) -> Any:
    """A launcher for a GPU, with everything imported and CUDA not started."""
    import torch

    from evaluator.worker import gpu_session, launch_code  # noqa: F401  every child needs the first: imported before
    from evaluator.worker.gpu_launches import GpuLauncher
    from evaluator.worker.guard import watched
    from evaluator.worker.warmup import compile_without_gpu

    name, _, arch, *_ = targets[0]
    compile_without_gpu(arch)
    launch_code.install()
    launcher = GpuLauncher(name)
    launcher.install()
    with watched(redirects=False):  # the first use of torch's modes imports a good part of torch
        torch.empty(1).fill_(0.0)
    return launcher


def _primed(folder: Path) -> dict[str, bytes]:
    """What Triton builds at a first launch, the same for every candidate: made once, in a child of its own."""
    os.environ["TRITON_CACHE_DIR"] = str(folder)
    with suppress(OSError):  # CUDA looks itself up in /proc, which shows another namespace's processes so far
        kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            from evaluator.worker import launch_code, warmup

            launch_code.prepare(folder)
            warmup.run_on_gpu()
            code = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            sys.stderr.flush()
            os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise RuntimeError("a first kernel failed on this GPU")
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def warmed_up(targets: list[list[Any]]) -> Any:
    """A launcher whose compiler and interpreter have run once, so that children start with everything loaded."""
    import torch

    from evaluator.worker import session, warmup  # noqa: F401  every child needs it: imported before the fork
    from evaluator.worker.driver import AbsentDriver
    from evaluator.worker.launches import Launcher

    torch.set_num_threads(1)
    names = [name for name, *_ in targets]
    driver = AbsentDriver([(backend, arch, warp, shared) for _, backend, arch, warp, shared in targets])
    launcher = Launcher(driver, names)
    launcher.install()
    warmup.run(launcher)
    return launcher


if __name__ == "__main__":
    main()
