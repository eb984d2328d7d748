"""`python -m evaluator doctor`: what this machine permits, and how an honest and two hostile kernels fare."""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.outcomes import Reason, Status

if TYPE_CHECKING:
    from evaluator.judge import Evaluator
    from evaluator.records import Evaluation

TASK = "Activation/gelu_bf16"
REDUCED = "reduced: "

# each is put before an honest kernel: where the fence does not hold, the kernel is judged as if nothing had been done
READER = """
with open({path!r}) as file:
    file.read()
"""
DAEMON = """
import os, subprocess, sys, time
left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", {mark!r}], start_new_session=True)
"""


def report(device: str, targets: Sequence[str], say: Callable[[str], None]) -> bool:
    """Says each line of the examination; true when every fence stands and every kernel met its due.

    Takes some ten seconds. Raises UserError for an unknown device or target, WarmDied when no worker can be started.
    """
    from evaluator.judge import Evaluator
    from evaluator.layers import Layer

    for line in _versions():
        say(line)
    with Evaluator(device, targets, workers=1, without=[Layer.STATIC]) as evaluator:
        described = evaluator.describe()
        say(f"device    {described['device']}, compiling for {', '.join(described['targets'])}")
        fences: list[str] = described["assurance"]
        for line in fences:
            say(f"fence     {line.removeprefix(REDUCED)}" if line.startswith(REDUCED) else f"fence     {line}: up")
        outcomes = list(_trials(evaluator))
    for name, right, what in outcomes:
        say(f"trial     {name}: {what}" + ("" if right else " <- THIS IS WRONG"))
    reduced = sum(line.startswith(REDUCED) for line in fences)
    tools = all(path is not None for path in _tools().values())
    well = not reduced and tools and all(right for _, right, _ in outcomes)
    say("all is well" if well else f"reduced assurance: {reduced} fences not permitted, see above")
    return well


def _versions() -> Iterator[str]:
    yield f"versions  Python {platform.python_version()}, torch {version('torch')}, triton {version('triton')}"
    yield f"kernel    {platform.system()} {platform.release()} {platform.machine()}, user {os.getuid()}"
    for name, path in _tools().items():
        yield f"tool      {name}: {path or 'not found'}"


def _tools() -> dict[str, Path | None]:
    """The programs that come with Triton: without them no cubin is made, or no registers are counted."""
    import triton

    folder = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
    return {name: path if os.access(path := folder / name, os.X_OK) else None for name in ("ptxas", "cuobjdump")}


def _trials(evaluator: Evaluator) -> Iterator[tuple[str, bool, str]]:
    """Name, whether it went as it should, and what was seen."""
    from tasks.catalog import load, oracle_path

    task, hidden = load(TASK), oracle_path(TASK)
    honest = hidden.read_text(encoding="utf-8")
    good = evaluator.evaluate(task, honest)
    yield "an honest kernel", good.correct, _verdict(good)
    reader = evaluator.evaluate(task, READER.format(path=str(hidden)) + honest)
    kept_out = (reader.status, reader.reason) == (Status.RUNTIME_ERROR, Reason.LOAD_ERROR)
    yield "a kernel that reads a hidden file", kept_out, _verdict(reader)
    mark = uuid.uuid4().hex
    left = evaluator.evaluate(task, DAEMON.format(mark=mark) + honest)
    alive = _alive(mark)
    yield "a kernel that leaves a daemon", not alive, f"{_verdict(left)}, the daemon is {'ALIVE' if alive else 'gone'}"


def _verdict(evaluation: Evaluation) -> str:
    return str(evaluation.status) + (f" ({evaluation.reason})" if evaluation.reason else "")


def _alive(mark: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes():
                return True
        except OSError:
            continue  # it has just ended
    return False
