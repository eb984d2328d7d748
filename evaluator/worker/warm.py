"""The warm program: torch and Triton imported, the compiler warmed up, then one forked child per candidate.

Single-threaded, and never a fork of the judge. Its control socket carries one descriptor per candidate: the child's
end of a socket pair. It says which child it made and how each one ended; it takes no part in any verdict.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
CHILD_MEMORY_MAX = 16 * 2**30
CHILD_FILE_MAX = 256 * 2**20


def main() -> None:
    """`warm CONTROL_FD JSON`: serves until the judge closes the control socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    fences = fence([Path(folder) for folder in config["hide"]])
    launcher = warmed_up(config["targets"])
    gc.collect()
    gc.freeze()
    control.sendall(json.dumps({"ready": fences}).encode() + b"\n")
    serve(control, launcher, Path.cwd())


def serve(control: socket.socket, launcher: Any, home: Path) -> None:
    """Forks a child for every descriptor that arrives; reports `pid` and, when it ends, `status`."""
    children: dict[int, Path] = {}
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([control.fileno(), read_end], [], [])
        if read_end in ready:
            os.read(read_end, 4096)
            _reap(control, children)
        if control.fileno() in ready:
            message, descriptors, _, _ = socket.recv_fds(control, 16, 1)
            if not message:
                break
            folder = Path(tempfile.mkdtemp(prefix="candidate-", dir=home))
            pid = os.fork()
            if pid == 0:
                control.close()
                os.close(read_end)
                os.close(write_end)
                _child(socket.socket(fileno=descriptors[0]), launcher, folder)
            os.close(descriptors[0])
            children[pid] = folder
            control.sendall(json.dumps({"pid": pid}).encode() + b"\n")
    for pid in children:
        _kill(pid)
    shutil.rmtree(home, ignore_errors=True)  # the judge may have been killed, and can't


def _reap(control: socket.socket, children: dict[int, Path]) -> None:
    while children:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        folder = children.pop(pid, None)
        if folder is not None:
            _kill(pid)
            log = _tail(folder / "output.log")
            shutil.rmtree(folder, ignore_errors=True)
            said = {"ended": pid, "status": os.waitstatus_to_exitcode(status), "log": log}
            control.sendall(json.dumps(said).encode() + b"\n")


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _child(sock: socket.socket, launcher: Any, folder: Path) -> None:
    """Never returns."""
    from evaluator.worker.session import Session

    code = 70
    try:
        gc.disable()  # a child lives for seconds; collecting would only copy the pages that it shares
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.chdir(folder)
        os.environ.update(HOME=str(folder), TMPDIR=str(folder), TRITON_CACHE_DIR=str(folder / "triton"))
        tempfile.tempdir = None
        log = os.open("output.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        resource.setrlimit(resource.RLIMIT_AS, (CHILD_MEMORY_MAX, CHILD_MEMORY_MAX))
        resource.setrlimit(resource.RLIMIT_FSIZE, (CHILD_FILE_MAX, CHILD_FILE_MAX))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        Session(sock, launcher).serve()
        code = 0
    finally:
        os._exit(code)


def fence(hidden: list[Path]) -> list[str]:
    """Puts up what this machine permits: no network, and empty folders in place of `hidden`. Returns what stands."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWNS | CLONE_NEWNET | (CLONE_NEWUSER if uid else 0)
    if libc.unshare(flags) != 0:
        return []
    if uid:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    up = ["no network"]
    if libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0:
        covered = [libc.mount(b"tmpfs", os.fsencode(f), b"tmpfs", 0, b"size=4k,mode=555") for f in hidden if f.is_dir()]
        if not any(covered):
            up.append("tasks hidden")
    return up


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


def _tail(path: Path, size: int = 4000) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - size))
            return file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""


if __name__ == "__main__":
    main()
