"""What a candidate finds when it looks round and reaches out: nothing of ours, nothing that lasts."""

from __future__ import annotations

import json
import os
import socket
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evaluator.pool
from evaluator.conversation import Transcript, converse
from evaluator.limits import Limits
from evaluator.pool import Pool
from evaluator.targets import targets_named

ROOT = Path(__file__).resolve().parent.parent
SMALL = replace(
    Limits(load_s=20), file_bytes_max=2**20, folder_bytes_max=4 * 2**20, memory_bytes_max=2**33, processes_max=400
)
SECRET = "a key that no candidate may see"
REFUSED = """
from evaluator.worker import kernel
def refuse(flags): raise PermissionError(1, "Operation not permitted")
kernel.unshare = refuse
from evaluator.worker.warm"""

# `tried(f)` gives what f returned, or the name of what it raised
HEAD = """
import json, os, subprocess, sys
def tried(f, *args):
    try:
        return f(*args)
    except (OSError, MemoryError, RuntimeError) as error:
        return type(error).__name__
def say(value):
    print(json.dumps(value), flush=True)
"""
DAEMON = """
marker = {marker!r}
left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", marker], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)", marker])
    os._exit(0)
import time
while not os.path.exists(f"/proc/{{left.pid}}/cmdline") or marker.encode() not in open(f"/proc/{{left.pid}}/cmdline", "rb").read():
    time.sleep(0.01)
say("left behind")
"""  # noqa: E501


def inside(pool: Pool, code: str) -> Transcript:
    """Runs `code` as a candidate's module."""
    with pool.children(most=1) as (child,):
        return converse(child, HEAD + code, ["none"], [], pool.limits)


def said(pool: Pool, code: str) -> Any:
    """The JSON value that `code` said."""
    transcript = inside(pool, code)
    assert transcript.load is not None, transcript
    assert "error" not in transcript.load.header, transcript.load.header
    return json.loads(transcript.ending.log)


def running(marker: str) -> list[str]:
    """Processes of this machine that have `marker` in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [str(path)] if marker.encode() in path.read_bytes() else []
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """One warm process with small limits, started where there is a key in the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_API_KEY", SECRET)
        one = Pool(1, targets_named(["sm90"]), SMALL)
        one.fences()
    yield one
    one.close()


@pytest.fixture(scope="module")
def refused() -> Iterator[Pool]:
    """As on a machine that permits no namespace at all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluator.pool, "START", evaluator.pool.START.replace("from evaluator.worker.warm", REFUSED))
        one = Pool(1, targets_named(["sm90"]), SMALL)
        one.fences()
    yield one
    one.close()


@pytest.fixture
def needs(pool: Pool) -> Callable[[str], None]:
    def check(fence: str) -> None:
        if fence not in pool.fences():
            pytest.skip(f"this machine does not permit it: {[f for f in pool.fences() if f.startswith('reduced')]}")

    return check


def test_nothing_of_ours_is_in_sight(pool: Pool, needs: Callable[[str], None], tmp_path: Path) -> None:
    needs("read-only view")
    hidden = tmp_path / "secret"
    hidden.write_text(SECRET)
    home = [path for path in Path.home().iterdir() if path not in Path(sys.base_prefix).parents]
    paths = [ROOT / "README.md", ROOT / "tasks/index.csv", ROOT / "tasks/oracles/Math/softmax.py", hidden, *home]
    assert all(os.path.lexists(path) for path in paths)
    assert not any(said(pool, f"say([os.path.exists(p) for p in {[str(p) for p in paths]!r}])"))
    for module in ("tasks.catalog", "tests.sources"):
        assert "ModuleNotFoundError" in str(inside(pool, f"import {module}").load)


def test_nothing_can_be_written_outside_the_own_folder(pool: Pool, needs: Callable[[str], None]) -> None:
    needs("read-only view")
    places = ["/", "/tmp", "/usr", "/dev", "/etc", "/proc/sys/kernel", os.path.dirname(os.__file__)]
    code = f"""
say([tried(lambda p: open(p + "/core_pattern", "a").write("x"), place) for place in {places!r}]
    + [tried(lambda: open("mine", "w").write("x")), os.environ["HOME"] == os.getcwd(), sorted(os.listdir("."))])
"""
    *outside, own, home, files = said(pool, code)
    assert all(what in ("OSError", "PermissionError") for what in outside), outside
    assert (own, home) == (1, True)
    assert files == ["candidate.py", "mine"]
    assert said(pool, 'say(os.path.exists("mine"))') is False


def test_a_daemon_is_gone_with_its_candidate(pool: Pool) -> None:
    marker = uuid.uuid4().hex
    transcript = inside(pool, DAEMON.format(marker=marker))
    assert json.loads(transcript.ending.log) == "left behind"
    assert transcript.ending.survivors >= 2
    assert not running(marker)
    assert inside(pool, "subprocess.run([sys.executable, '-c', ''])").ending.survivors == 0


def test_nobody_else_is_in_sight(pool: Pool, needs: Callable[[str], None]) -> None:
    needs("PID namespace")
    code = f"""
others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]
say([others, tried(open, f"/proc/{{os.getppid()}}/environ"), tried(open, "/proc/1/mem", "rb"),
     tried(os.kill, {os.getpid()}, 0), tried(os.kill, 1, 0)])
"""
    others, environment, memory, judge, warm = said(pool, code)
    assert others == ["1"]
    assert (environment, memory) == ("PermissionError", "PermissionError")
    assert judge == "ProcessLookupError"
    assert warm in ("PermissionError", None)


def test_no_network(pool: Pool, needs: Callable[[str], None]) -> None:
    needs("network namespace")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        socket.create_connection(address).close()
        code = f"import socket\nsay(tried(socket.create_connection, {address!r}, 2))"
        assert said(pool, code) in ("OSError", "PermissionError", "ConnectionRefusedError")


def test_environment_and_descriptors_are_allow_lists(pool: Pool) -> None:
    names, text, descriptors = said(
        pool, 'say([sorted(os.environ), str(dict(os.environ)), sorted(int(fd) for fd in os.listdir("/proc/self/fd"))])'
    )
    own = {"HOME", "LOGNAME", "TMPDIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"}
    own |= {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"}
    assert set(names) <= {*evaluator.pool.ENVIRONMENT, *own, "LC_CTYPE"}, names
    assert SECRET not in text
    assert len(descriptors) == 5, "standard streams, the socket, and the listing's own"


def test_privileges_are_gone(pool: Pool, needs: Callable[[str], None]) -> None:
    needs("read-only view")
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
say([libc.mount(b"none", b"/tmp", b"tmpfs", 0, None), libc.umount2(b"/box", 2), libc.sethostname(b"x", 1),
     *(int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")), int(status["NoNewPrivs"])])
"""
    assert said(pool, code) == [-1, -1, -1, 0, 0, 0, 1]


def test_files_and_folder_are_limited(pool: Pool, needs: Callable[[str], None]) -> None:
    needs("private folder of limited size")
    code = """
def fill(name):
    with open(name, "wb", buffering=0) as file:
        return sum(file.write(bytes(2**16)) for _ in range(2**6))
say([tried(fill, "one"), os.path.getsize("one"), [tried(fill, str(i)) for i in range(8)],
     sum(os.path.getsize(name) for name in os.listdir("."))])
"""
    big, size, _, together = said(pool, code)
    assert (big, size) == ("OSError", SMALL.file_bytes_max)
    assert together <= SMALL.folder_bytes_max


def test_memory_is_limited(pool: Pool) -> None:
    assert said(pool, "say(tried(bytearray, 2**34))") == "MemoryError"


def test_processes_are_limited(pool: Pool, needs: Callable[[str], None]) -> None:
    needs("process limit")
    code = """
import time
made = 0
for _ in range(600):
    pid = tried(os.fork)
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    if pid == "BlockingIOError":
        break
    made += 1
say(made)
"""
    assert 50 < said(pool, code) <= SMALL.processes_max


def test_the_log_is_capped(pool: Pool) -> None:
    transcript = inside(pool, 'print("x" * 10**7)\nprint("the end", flush=True)')
    assert transcript.load is not None
    assert len(transcript.ending.log) <= SMALL.log_bytes_max
    assert transcript.ending.log.endswith("the end\n")


@pytest.mark.parametrize(
    ("way", "code"), [("os._exit(3)", 3), ("os._exit(0)", 0), ("os.kill(os.getpid(), 11)", -11), ("os.abort()", -6)]
)
def test_an_exit_code_is_the_candidates_own(pool: Pool, way: str, code: int) -> None:
    transcript = inside(pool, f'print("last words", flush=True)\n{way}')
    assert transcript.loss is not None
    assert transcript.loss.kind == "died"
    assert (transcript.ending.exit_code, transcript.ending.log) == (code, "last words\n")


def test_a_candidate_can_start_threads_and_programs(pool: Pool) -> None:
    code = """
import threading
threads = [threading.Thread(target=sys.getsizeof, args=(1,)) for _ in range(20)]
[t.start() for t in threads]; [t.join() for t in threads]
say(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout)
"""
    assert said(pool, code) == "42\n"


def test_fifty_candidates_leave_nothing_open(pool: Pool) -> None:
    inside(pool, "")
    warm = pool._all[0].process.pid
    (main,) = Path(f"/proc/{warm}/task/{warm}/children").read_text().split()
    folders = [folder for pid in ("self", main) if os.access(folder := f"/proc/{pid}/fd", os.R_OK)]
    before = [len(os.listdir(folder)) for folder in folders]
    for _ in range(50):
        inside(pool, "os._exit(0)")
    assert [len(os.listdir(folder)) for folder in folders] == before


def test_what_is_refused_is_said_and_what_is_left_still_holds(refused: Pool) -> None:
    lines = refused.fences()
    for name in ("mount", "network", "IPC", "PID"):
        assert f"reduced: no {name} namespace (Operation not permitted)" in lines
    assert "read-only view" not in lines
    marker = uuid.uuid4().hex
    transcript = inside(refused, DAEMON.format(marker=marker))
    assert json.loads(transcript.ending.log) == "left behind"
    assert transcript.ending.survivors >= 2
    assert not running(marker)
    assert inside(refused, "subprocess.run([sys.executable, '-c', ''])").ending.survivors == 0


def test_landlock_stands_in_where_namespaces_are_refused(refused: Pool, tmp_path: Path) -> None:
    if "Landlock" not in refused.fences():
        pytest.skip("this machine has no Landlock either")
    hidden = tmp_path / "secret"
    hidden.write_text(SECRET)
    code = f"""
import socket
say([tried(open, {str(ROOT / "tasks/index.csv")!r}), tried(open, {str(hidden)!r}), tried(os.listdir, {str(Path.home())!r}),
     tried(open, {str(tmp_path / "written")!r}, "w"), tried(open, "/proc/{os.getpid()}/environ"),
     tried(lambda: open("mine", "w").write("x"))])
"""  # noqa: E501
    assert said(refused, code) == [*["PermissionError"] * 5, 1]
