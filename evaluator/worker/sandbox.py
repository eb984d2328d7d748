"""What stands between a candidate and this machine.

The warm program walls itself in, in two steps: `separate` before anything is imported, `confine` when all is. A child
then goes through `enter` before it sees a candidate. What this machine does not permit is a `reduced:` line, never
silence; what stands is a line too.
"""

from __future__ import annotations

import errno
import glob
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.limits import Limits
from evaluator.worker import kernel, landlock

BOX = "/box"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# what CUDA opens: the driver's devices and a description of the machine
GPU_DEVICES, GPU_SETTINGS = "/dev/nvidia*", ("/sys",)
# parts of /proc that are the machine's: they stay read-only where CUDA needs to write to the rest
MACHINE = ("acpi", "bus", "fs", "irq", "sys", "sysrq-trigger")
LAUNCHER_MEMORY_SCORE = 300


@dataclass
class Fences:
    """`up` names what stands, `down` what does not, with the reason."""

    up: list[str] = field(default_factory=list)
    down: list[str] = field(default_factory=list)

    def put_up(self, name: str, how: Callable[[], object]) -> bool:
        """Tries `how`; an OSError means that this machine does not permit it."""
        try:
            how()
        except OSError as error:
            self.down.append(f"reduced: no {name} ({error.strerror or error})")
            return False
        self.up.append(name)
        return True

    def stands(self, name: str) -> bool:
        return name in self.up

    def lines(self) -> list[str]:
        return [*self.up, *self.down]


def separate() -> Fences:
    """Moves this process into namespaces of its own; returns in a child that is process 1 there.

    The parent waits for it and leaves with it. Call it single-threaded.
    """
    fences = Fences()
    if not kernel.capabilities() >> 21 & 1:  # CAP_SYS_ADMIN: without it, only inside a user namespace
        fences.put_up("user namespace", _own_user)
    fences.put_up("mount namespace", _own_mounts)
    fences.put_up("network namespace", lambda: kernel.unshare(kernel.CLONE_NEWNET))
    fences.put_up("IPC namespace", lambda: kernel.unshare(kernel.CLONE_NEWIPC))
    fences.put_up("PID namespace", lambda: kernel.unshare(kernel.CLONE_NEWPID))
    pid = os.fork()
    if pid:
        os.closerange(3, 4096)
        _, status = os.waitpid(pid, 0)
        os._exit(max(0, os.waitstatus_to_exitcode(status)))
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(LAUNCHER_MEMORY_SCORE))
    # a candidate runs under the same user: it must not read this process, nor trace it
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    return fences


def _own_user() -> None:
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _own_mounts() -> None:
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)


def gpu_paths() -> tuple[list[str], list[str]]:
    """What a worker on a GPU needs besides: to read, and to read and write."""
    compiler = shutil.which(os.environ.get("CC") or "gcc")  # Triton builds the call of each kernel's launch with it
    tools = [str(Path(os.path.realpath(compiler)).parent.parent)] if compiler else []
    return [*GPU_SETTINGS, *tools], [*sorted(glob.glob(GPU_DEVICES)), "/proc/self"]


def confine(fences: Fences, home: Path, source: Path, hidden: Sequence[str], limits: Limits, gpu: bool) -> None:
    """Leaves only what a child needs in sight, all of it read-only, below `home`'s folder `root`.

    In sight are the system's programs and libraries, Python, and what Python has on its path apart from `source`, where
    our own packages are. `hidden` are folders that are covered wherever they still show.
    """
    _bound_processes(fences, limits)
    if fences.stands("mount namespace"):
        fences.put_up("read-only view", lambda: _view(home / "root", source, hidden, gpu))
    else:
        fences.down.append("reduced: no read-only view (it needs a mount namespace)")
    if fences.stands("read-only view"):
        fences.up.append("tasks hidden")


def in_sight(source: Path) -> list[str]:
    """The folders that a child may read, without any that lies in another one."""
    found = [p for p in (*SYSTEM, *SETTINGS, sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path) if p]
    found += [part for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    paths = {os.path.abspath(path) for path in found if os.path.exists(path)} - {str(source), "/"}
    return sorted(p for p in paths if not any(p != other and p.startswith(other + "/") for other in paths))


def _view(root: Path, source: Path, hidden: Sequence[str], gpu: bool) -> None:
    root.mkdir(exist_ok=True)
    kernel.mount("root", str(root), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=16m,mode=755")
    settings, opened = gpu_paths() if gpu else ([], [])
    opened = [path for path in opened if path.startswith("/dev/")]
    # a folder before what lies in it: /bin may be a link into /usr
    for path in sorted((*in_sight(source), *DEVICES, *settings, *opened), key=os.path.realpath):
        _show(root, path)
    for folder in hidden:
        if os.path.isdir(f"{root}{folder}"):
            kernel.mount("none", f"{root}{folder}", "tmpfs", 0, "size=4k,mode=555")
    for folder in (BOX, "/tmp", "/proc"):
        Path(f"{root}{folder}").mkdir(exist_ok=True)
    kernel.mount("proc", f"{root}/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    for part in MACHINE if gpu else ():
        if os.path.exists(f"{root}/proc/{part}"):
            kernel.bind(f"{root}/proc/{part}", f"{root}/proc/{part}")
    kernel.read_only(str(root))
    if gpu:
        kernel.writable(f"{root}/proc")
    kernel.become_root(str(root))


def _show(root: Path, path: str) -> None:
    """Makes `path` appear under `root`: a bind of where it really is, and a link to there if it is one."""
    real = os.path.realpath(path)
    at = Path(f"{root}{real}")
    if not at.exists():
        at.parent.mkdir(parents=True, exist_ok=True)
        if os.path.isdir(real):
            at.mkdir()
        else:
            at.touch()
        kernel.bind(real, str(at))
    if real != path and not os.path.lexists(f"{root}{path}"):
        Path(f"{root}{path}").parent.mkdir(parents=True, exist_ok=True)
        os.symlink(real, f"{root}{path}")


def _bound_processes(fences: Fences, limits: Limits) -> None:
    """The process limit of a user does not bind root; that of a PID namespace does, where namespaces have their own."""
    if fences.stands("user namespace") and kernel.version() >= (5, 14):
        fences.up.append("process limit")  # RLIMIT_NPROC, set in the child, counts in the user namespace
    elif fences.stands("PID namespace") and kernel.version() >= (6, 14):
        limit = max(limits.processes_max, 400)
        fences.put_up("process limit", lambda: Path("/proc/sys/kernel/pid_max").write_text(str(limit)))
    else:
        fences.down.append("reduced: no process limit (it needs a user namespace, or a PID namespace of Linux 6.14)")


def enter(fences: Fences, folder: str, source: Path, limits: Limits, gpu: bool) -> Fences:
    """A child's own step, before any candidate: a private folder, no privileges, limits. Returns what more stands."""
    own = Fences()
    if fences.stands("read-only view"):
        own.put_up("private folder of limited size", lambda: _private(limits, gpu))
        folder = BOX
    os.chdir(folder)
    # parts of torch ask for the user's name, and there is no list of users in sight
    os.environ.update(HOME=folder, TMPDIR=folder, TRITON_CACHE_DIR=f"{folder}/triton", LOGNAME="kernelmend")
    own.put_up("resource limits", lambda: _limit(fences, limits, gpu))
    own.put_up("no privileges", kernel.drop_capabilities)
    if landlock.version():
        _give_up_files(fences, own, folder, source, gpu)
    if not own.stands("private folder of limited size"):
        own.down.append("reduced: no private folder of limited size (it needs the read-only view)")
    return own


def _give_up_files(fences: Fences, own: Fences, folder: str, source: Path, gpu: bool) -> None:
    """Landlock beside the view, or in its place where it is not permitted."""
    viewed = fences.stands("read-only view")
    shown = ["/"] if viewed else [*in_sight(source), "/proc", "/sys/devices/system/cpu"]
    settings, opened = gpu_paths() if gpu else ([], [])
    if (
        own.put_up("Landlock", lambda: landlock.restrict([*shown, *settings], [folder, *DEVICES, *opened]))
        and not viewed
    ):
        ours = str(source)
        if not any(ours == path or ours.startswith(path + "/") for path in in_sight(source)):
            own.up.append("tasks hidden")


def _private(limits: Limits, gpu: bool) -> None:
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
    size = f"size={limits.folder_bytes_max},nr_inodes=16384,mode=700"
    kernel.mount("box", BOX, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, size)
    if not gpu:
        kernel.read_only("/proc")


def _limit(fences: Fences, limits: Limits, gpu: bool) -> None:
    for what, most in (
        # CUDA reserves addresses for all memory that there could be
        (resource.RLIMIT_AS, resource.RLIM_INFINITY if gpu else limits.memory_bytes_max),
        (resource.RLIMIT_FSIZE, limits.file_bytes_max),
        (resource.RLIMIT_CPU, limits.processor_s),
        (resource.RLIMIT_NOFILE, limits.files_max),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    if fences.stands("user namespace"):
        resource.setrlimit(resource.RLIMIT_NPROC, (limits.processes_max, limits.processes_max))


def end_all(child: int) -> int:
    """Kills what a dead child left behind, waits until all of it is gone, and says how many processes still ran."""
    killed = 0
    while True:
        if os.getpid() == 1:
            _kill(os.kill, -1)  # everything in this namespace but us, at once
        else:
            _kill(os.killpg, child)
            for pid in _children():
                _kill(os.kill, pid)
        try:
            _, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return killed
        killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _kill(how: Callable[[int, int], None], pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        how(pid, signal.SIGKILL)


def _children() -> list[int]:
    """Orphans too: this process adopts them."""
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        return []
